import { createQueue, isTicked, type Queue } from "../stand-in.ts";

export type AppName = "slack" | "discord" | "ntfy";
export const appNames: readonly AppName[] = ["slack", "discord", "ntfy"];

/** What goes wrong with the next request that posts a message. */
const faultKinds = ["hang", "reset", "error_500", "bad_gateway", "slow", "flood", "gone"] as const;

export interface AppFault {
  kind: (typeof faultKinds)[number];
  /** Default: whichever comes first. */
  app?: AppName;
  /** For `hang`, `reset`, `error_500`, `bad_gateway`: the message is shown all the same. Default false. */
  delivered?: boolean;
}

export type AppFaults = Queue<AppFault>;

export const faultWording: Readonly<Record<AppFault["kind"], string>> = {
  hang: "never answers",
  reset: "drops the connection after reading",
  error_500: "answers 500",
  bad_gateway: "answers a 502 page",
  slow: "answers after two seconds",
  flood: "asks to wait 5 seconds (429)",
  gone: "says that the webhook or topic is gone",
};

export function createAppFaultQueue(onChange: () => void): AppFaults & { take(app: AppName): AppFault | undefined } {
  const { takeFirst, ...queue } = createQueue<AppFault>(onChange);
  return { ...queue, take: (app) => takeFirst((fault) => fault.app === undefined || fault.app === app) };
}

/** A fault from a form or from JSON, or what is wrong with it. */
export function readAppFault(given: unknown): (AppFault & { times?: number }) | string {
  if (typeof given !== "object" || given === null) return "a fault is an object with a kind";
  const { kind, app, delivered, times } = given as Record<string, unknown>;
  const known = faultKinds.find((candidate) => candidate === kind);
  if (known === undefined) return `kind must be one of ${faultKinds.join(", ")}`;
  const named = appNames.find((candidate) => candidate === app);
  if (app !== undefined && named === undefined) return `app must be one of ${appNames.join(", ")}`;
  const count = Number(times ?? 1);
  if (!Number.isInteger(count) || count < 1 || count > 1_000) return "times must be a number from 1 to 1000";
  return {
    kind: known,
    times: count,
    ...(named === undefined ? {} : { app: named }),
    ...(isTicked(delivered) ? { delivered: true } : {}),
  };
}
