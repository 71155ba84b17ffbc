import { z } from "zod";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { keepFormerMutes, releasableMs } from "../core/former-mutes.ts";
import { type Log, logFailure } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { MuteStore, SilencedKeys } from "../core/ports/shared.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import { isActive, keptNameOf, type Mute } from "../core/rules.ts";

export interface MuteReceiptsDeps {
  store: WatchStore & Pick<MuteStore, "listMutes" | "listSilenced">;
  configured: readonly Mute[];
  destinations: ReadonlySet<string>;
  write(mute: Mute, silenced: SilencedKeys): AlertFacts;
  mostKeys: number;
  /** Sends a notice to one destination, and saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState, to: string): Promise<void>;
  clock: Clock;
  log: Log;
}

const stateName = "mutes:receipts";
const lookEveryMs = 2_000;
/** Another relay may apply a mute for some seconds after its end. */
const settleMs = 5_000;

/** The destinations that have the receipt, or `true` for all, by the mute's saved name. */
const stateSchema = z.record(z.string(), z.union([z.array(z.string()), z.literal(true)]));
type State = z.infer<typeof stateSchema>;

/** Tells each destination at the end of a mute what was held back from it: once, also after a kill. */
export async function openMuteReceipts(deps: MuteReceiptsDeps): Promise<Pick<Poll, "run">> {
  const { store, configured, clock, log } = deps;
  let state: State = stateSchema.safeParse(await store.loadWatchState(stateName)).data ?? {};

  async function tell(mute: Mute, told: readonly string[]): Promise<void> {
    const name = keptNameOf(mute);
    let known = [...told];
    for (const [destination, its] of await store.listSilenced(name, deps.mostKeys)) {
      if (known.includes(destination)) continue;
      if (!deps.destinations.has(destination)) {
        log.info("mute.no_receipt", { mute: mute.id, destination, why: "it is no longer configured" });
        continue;
      }
      known = [...known, destination];
      const next: State = { ...state, [name]: known };
      await deps.notify(deps.write(mute, its), { name: stateName, state: next }, destination);
      state = next;
      log.info("mute.receipt", { mute: mute.id, destination, alerts: its.alerts });
    }
    const next: State = { ...state, [name]: true };
    await store.saveWatchState({ name: stateName, state: next });
    state = next;
  }

  async function look(): Promise<void> {
    const since = clock.now() - releasableMs;
    const former = await keepFormerMutes(store, configured, clock.now());
    const mutes = [...configured, ...former, ...(await store.listMutes(since, false))];
    const ended = mutes.filter(({ endsAt }) => endsAt > since && endsAt + settleMs <= clock.now());
    const names = new Set(ended.map(keptNameOf));
    state = Object.fromEntries(Object.entries(state).filter(([name]) => names.has(name)));
    const active = mutes.filter((mute) => isActive(mute, clock.now()));
    for (const mute of ended) {
      if (active.some((other) => holdsSameOf(mute, other))) continue;
      const told = state[keptNameOf(mute)] ?? [];
      if (told !== true) await tell(mute, told);
    }
  }

  return createPoll({ look, everyMs: lookEveryMs, clock, onFailed: logFailure(log, "mutes.not_told") });
}

/** Alerts that another mute still holds back ring nobody, so the receipt waits for that mute's end. */
const holdsSameOf = ({ matchers }: Mute, other: Mute): boolean =>
  other.matchers.length === 0 || JSON.stringify(other.matchers) === JSON.stringify(matchers);
