import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JourneyWorld } from "./journey-world.ts";
import { type RelayProcess, startRelayProcess, waitUntil } from "./relay-process.ts";

const program = fileURLToPath(new URL("./relay-at-test-clock.ts", import.meta.url));
const loader = import.meta.resolve("tsx");

/** A relay in a process of its own, whose clock moves when the test says so. */
export interface ClockedRelay extends RelayProcess {
  /** Epoch milliseconds, by its clock. */
  now(): Promise<number>;
  advance(ms: number): Promise<void>;
  /** The clock is set forward or back, and who waits waits on. */
  set(ms: number): Promise<void>;
  /** Moves its clock second by second until the answer is as wished. */
  until<T>(ask: () => Promise<T> | T, wished: (value: T) => boolean, what: string): Promise<T>;
}

export async function startClockedRelay(
  world: JourneyWorld,
  env: Record<string, string>,
  at: number,
): Promise<ClockedRelay> {
  const command = ["--import", loader, program];
  const relay = await startRelayProcess(world.dataDir, { ...world.env, ...env, CLOCK_AT: String(at) }, command);
  const clockUrl = readFileSync(join(world.dataDir, "clock"), "utf8");
  const move = async (query: string) => Number(await (await fetch(`${clockUrl}?${query}`, { method: "POST" })).text());
  return {
    ...relay,
    now: () => move(""),
    advance: async (ms) => void (await move(`advance=${ms}`)),
    set: async (ms) => void (await move(`set=${ms}`)),
    until: (ask, wished, what) =>
      waitUntil(
        async () => {
          await move("advance=1000");
          return ask();
        },
        wished,
        { what },
      ),
  };
}
