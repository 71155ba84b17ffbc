import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Duties } from "./driver.ts";
import { end, type Place, start } from "./processes.ts";

/** Loads and stand-ins, in a separate process. The first call starts it. After its end the next call starts another. */
export interface Driver {
  call<Name extends keyof Duties>(
    name: Name,
    ...input: Parameters<Duties[Name]>
  ): Promise<Awaited<ReturnType<Duties[Name]>>>;
  end(): Promise<void>;
}

export function startDriver(place: Place = "beside"): Driver {
  const path = fileURLToPath(new URL("driver.ts", import.meta.url));
  const waiting = new Map<number, (answer: { value?: unknown; error?: string }) => void>();
  let calls = 0;
  let current: ChildProcess | undefined;

  function launch(): ChildProcess {
    const child = start([process.execPath, "--import", "tsx", path], { place, channel: "ipc" });
    child.on("message", ({ id, ...answer }: { id: number; value?: unknown; error?: string }) => {
      waiting.get(id)?.(answer);
      waiting.delete(id);
    });
    child.once("exit", () => {
      if (current === child) current = undefined;
      for (const settle of waiting.values()) settle({ error: "the load's process ended" });
      waiting.clear();
    });
    // The exit handler settles a call to an ended child.
    child.on("error", () => {});
    return child;
  }

  return {
    call: (name, ...input) =>
      new Promise((resolve, reject) => {
        calls += 1;
        waiting.set(calls, ({ value, error }) => {
          if (error === undefined) resolve(value as never);
          else reject(new Error(error));
        });
        current ??= launch();
        current.send({ id: calls, name, input }, () => {});
      }),
    async end() {
      if (current !== undefined) await end(current);
    },
  };
}
