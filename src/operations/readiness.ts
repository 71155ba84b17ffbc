import type { Readiness, SpoolView } from "../contract/operations.ts";
import { type Clock, within } from "../core/clock.ts";
import type { ConfigurationState } from "../core/judge-configuration.ts";
import type { Administration, StoreHealth } from "../core/ports/administration.ts";

export interface ReadinessDeps {
  store: Pick<Administration, "health">;
  /** The result of the latest look at the store, while it counts. Default: none. */
  lastHealth?(): StoreHealth | undefined;
  engine: {
    lastTurnAt(): number;
    laneTurns(): { destination: string; at: number }[];
    /** Default: this configuration is the only one. */
    configuration?(): ConfigurationState;
  };
  reader: { problem(): string | undefined };
  spool?(): SpoolView;
  clock: Clock;
  stopping: AbortSignal;
  /** Aborted when the relay must stop, and still runs for a while. Default: `stopping`. */
  draining?: AbortSignal;
}

/** The engine turns every second. Without a turn for this long it hangs. */
export const longestTurnMs = 30_000;
/** A commit takes milliseconds, and a caller waits at most a second. */
export const longestLookMs = 800;

/** Ready: the store commits and has room, dispatcher and lanes turn. `alerts`: whether the hook answers 202. */
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

async function findStoreReasons(deps: ReadinessDeps, draining: AbortSignal, spools: boolean): Promise<string[]> {
  const { store, lastHealth, clock } = deps;
  // A stopping relay answers no at once, also to a question under way: a balancer must not get an old yes.
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

/** A look that has waited this long shows that the store does not answer. */
const longestCommitMs = 10_000;

/** One look at a time: readers do not ask a silent store again. @param first a recent look. Default: none */
export function createStoreLooks(store: ReadinessDeps["store"], clock: Pick<Clock, "now">, first?: StoreHealth) {
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
    /** While it is recent: a busy store answers slowly. After a clock was set back none is recent. */
    lastHealth: () =>
      last !== undefined && Math.abs(clock.now() - last.at) < longestCommitMs ? last.found : undefined,
  };
}
