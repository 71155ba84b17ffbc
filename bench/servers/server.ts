import type { ChildProcess } from "node:child_process";
import { end } from "../harness/processes.ts";
import type { Dialect, Target } from "../harness/requests.ts";

export interface BenchedServer {
  target: Target;
  process: ChildProcess;
  /** As for a browser, without a slash at the end. */
  origin: string;
  stop(): Promise<void>;
}

/** @param hook where below its origin it takes alerts */
export function serverOf(
  child: ChildProcess,
  origin: string,
  hook: string,
  dialect: Dialect = "tocsin",
): BenchedServer {
  return {
    origin,
    target: { url: origin + hook, dialect, pid: child.pid ?? 0 },
    process: child,
    stop: () => end(child),
  };
}
