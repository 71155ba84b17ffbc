import type { Clock } from "../core/clock.ts";
import type { Readiness } from "../core/operations.ts";
import type { Administration } from "../core/ports/administration.ts";

export interface ReadinessDeps {
  store: Pick<Administration, "health">;
  engine: { lastTurnAt(): number };
  reader: { problem(): string | undefined };
  clock: Clock;
  stopping: AbortSignal;
}

/** The engine goes round every second; this long without a turn means that it hangs. */
const longestTurnMs = 30_000;

/** Ready: the store commits and the dispatcher turns. A full disk is not ready, since alerts are refused meanwhile. */
export async function readinessOf({
  store,
  engine,
  reader,
  clock,
  stopping,
}: ReadinessDeps): Promise<Readiness> {
  const reasons: string[] = [];
  if (stopping.aborted) reasons.push("it is being stopped");
  try {
    const health = await store.health();
    if (health.full) reasons.push("the disk is full: new alerts are answered 503");
    else if (!health.writable) reasons.push("the store does not commit");
  } catch {
    reasons.push("the store does not answer");
  }
  const problem = reader.problem();
  if (problem !== undefined) reasons.push(`alerts cannot be read: ${problem}`);
  const idleMs = clock.now() - engine.lastTurnAt();
  if (idleMs > longestTurnMs)
    reasons.push(`the dispatcher has not turned for ${Math.round(idleMs / 1000)} s`);
  return { ready: reasons.length === 0, reasons };
}
