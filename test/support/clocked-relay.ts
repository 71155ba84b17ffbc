import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import type { JourneyWorld } from "./journey-world.ts";
import { startRelayProcess, waitUntil } from "./relay-process.ts";
import { makeTempFolder } from "./temp-folder.ts";

const program = fileURLToPath(new URL("./relay-at-test-clock.mjs", import.meta.url));
const clock = fileURLToPath(new URL("./test-clock.ts", import.meta.url));

/**
 * For the stand-in of the chat, which counts messages a minute: minutes pass by the relay's clock while seconds do by its
 * own.
 */
export function minutesPass(): () => number {
  let at = Date.now();
  return () => {
    at += 60_000;
    return at;
  };
}

/** A relay in a process of its own, whose clock moves when the test says so. */
export async function startClockedRelay(world: JourneyWorld, env: Record<string, string>, at: number) {
  // All else that the program loads is compiled: a compiler at its start would take longer than the start.
  const CLOCK_MODULE = join(makeTempFolder(), "test-clock.mjs");
  await build({ input: clock, output: { file: CLOCK_MODULE } });
  const given = { ...world.env, ...env, CLOCK_AT: String(at), CLOCK_MODULE };
  const relay = await startRelayProcess(world.dataDir, given, [program]);
  const clockUrl = readFileSync(join(world.dataDir, "clock"), "utf8");
  const move = async (query: string) => Number(await (await fetch(`${clockUrl}?${query}`, { method: "POST" })).text());
  return {
    ...relay,
    /** Epoch milliseconds, by its clock. */
    now: () => move(""),
    advance: async (ms: number) => void (await move(`advance=${ms}`)),
    /** The clock is set forward or back by `ms`, and who waits waits on for as long as before. */
    set: async (ms: number) => void (await move(`set=${ms}`)),
    /**
     * Moves its clock on by little until the answer is as wished, so that what waits for a poll gets its turn. What is minutes
     * away by the clock is for `advance`: how often this asks depends on the machine.
     */
    until: <T>(ask: () => Promise<T> | T, wished: (value: T) => boolean, what: string) =>
      waitUntil(
        async () => {
          await move("advance=250");
          return ask();
        },
        wished,
        what,
      ),
  };
}

export type ClockedRelay = Awaited<ReturnType<typeof startClockedRelay>>;
