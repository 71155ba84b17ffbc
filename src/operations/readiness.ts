import type { Readiness, SpoolView } from "../contract/operations.ts";
import { type Clock, within } from "../core/clock.ts";
import type { ConfigurationState } from "../core/judge-configuration.ts";
import type { Administration, StoreHealth } from "../core/ports/administration.ts";

export interface ReadinessDeps {
  store: Pick<Administration, "health">;
  /** What the latest look at the store found, as long as it counts. Default: nothing. */
  lastHealth?(): StoreHealth | undefined;
  engine: {
    lastTurnAt(): number;
    laneTurns(): { destination: string; at: number }[];
    /** Default: there is no other. */
    configuration?(): ConfigurationState;
  };
  reader: { problem(): string | undefined };
  /** Absent: there is none. */
  spool?(): SpoolView;
  clock: Clock;
  stopping: AbortSignal;
  /** It has been told to stop, and continues for a while. Default: `stopping`. */
  draining?: AbortSignal;
}

/** The engine goes round every second; this long without a turn means that it hangs. */
export const longestTurnMs = 30_000;
/** A commit takes milliseconds, and a caller waits no longer than a second. */
export const longestLookMs = 800;

/**
 * Ready: the store commits, the dispatcher turns and so does every lane. A full disk is not ready, since alerts are refused
 * meanwhile. `alerts`: the hook answers 202, be it into the spool, which is asked first.
 */
export async function readinessOf(deps: ReadinessDeps, of: "relay" | "alerts" = "relay"): Promise<Readiness> {
  const { engine, reader, clock, draining = deps.stopping } = deps;
  const spool = deps.spool?.();
  const spools = spool !== undefined && spool.problem === undefined;
  const reasons: string[] = [];
  if (of === "relay" || !spools || draining.aborted) reasons.push(...(await findStoreReasons(deps, draining, spools)));
  const spooled = spool?.alerts ?? 0;
  if (reasons.length > 0 && spooled > 0) reasons.push(`${spooled} alerts wait in the spool`);
  if (of === "relay") {
    const problem = reader.problem();
    if (problem !== undefined) reasons.push(`alerts cannot be read: ${problem}`);
    const idleMs = clock.now() - engine.lastTurnAt();
    if (idleMs > longestTurnMs) reasons.push(`the dispatcher has not turned for ${Math.round(idleMs / 1000)} s`);
    const hung = engine.laneTurns().filter(({ at }) => clock.now() - at > longestTurnMs);
    if (hung.length > 0) reasons.push(describeHung(hung, clock.now()));
  }
  const configuration = engine.configuration?.() ?? "newest";
  return {
    ready: reasons.length === 0,
    reasons,
    ...(spooled > 0 && { spooled }),
    ...(configuration !== "newest" && { configuration }),
  };
}

async function findStoreReasons(
  { store, lastHealth, clock }: ReadinessDeps,
  draining: AbortSignal,
  spools: boolean,
): Promise<string[]> {
  // A relay that stops says no at once, also to who asked just before: a balancer must not learn late, or a yes that is old.
  const asked = draining.aborted ? undefined : within(store.health(), longestLookMs, clock, draining);
  const health = await asked?.catch(() => undefined).then((found) => found ?? lastHealth?.());
  if (draining.aborted) return ["it is being stopped"];
  if (health === undefined) return ["the store does not answer"];
  if (health.full) return [`the disk is full: new alerts ${spools ? "wait in the spool" : "are answered 503"}`];
  return health.writable ? [] : ["the store does not commit"];
}

function describeHung(hung: { destination: string; at: number }[], now: number): string {
  const [first, ...others] = hung.sort((a, b) => a.at - b.at);
  const more = others.length === 0 ? "" : ` and of ${others.length} more`;
  return `the lane of ${first?.destination}${more} has not turned for ${Math.round((now - (first?.at ?? now)) / 1000)} s`;
}

/** A look that has waited this long finds that the store does not answer. */
const longestCommitMs = 10_000;

/**
 * One look at the store at a time: one that does not answer is not asked again each time that somebody looks.
 *
 * @param first what a look has found just now. Default: nothing is known
 */
export function createStoreLooks(
  store: Pick<Administration, "health">,
  clock: Pick<Clock, "now">,
  first?: StoreHealth,
) {
  let look: { at: number; found: Promise<StoreHealth> } | undefined;
  let last = first && { at: clock.now(), found: first };
  const settle = (found?: StoreHealth) => {
    last = found && { at: clock.now(), found };
    look = undefined;
  };
  return {
    health(): Promise<StoreHealth> {
      if (look !== undefined) return look.found;
      const found = store.health();
      look = { at: clock.now(), found };
      found.then(settle, () => settle());
      return found;
    },
    /**
     * What the last look found, while that is recent: a busy store answers slowly. After a clock was set back nothing counts as
     * recent.
     */
    lastHealth: () =>
      last !== undefined && Math.abs(clock.now() - last.at) < longestCommitMs ? last.found : undefined,
  };
}
