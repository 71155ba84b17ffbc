import type { AccountView, CanaryView, GapReport, ShapesView, SilenceView, WatchView } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import { type Log, logFailure } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { LaneFence } from "../core/ports/lanes.ts";
import type { DutyStates, WatchStore } from "../core/ports/watch.ts";

export type KnownAccount = Pick<AccountView, "answer" | "canPutBack">;

/** What the owner saves for the others: small, since each of them reads it every two seconds. */
export interface Shown {
  at: number;
  watches: WatchView[];
  silence: SilenceView[];
  canary?: CanaryView;
  /** Shapes that the owner does not know: they are to be described again. Absent from a former version. */
  askFor?: string[];
  accounts: { source?: string; known: KnownAccount }[];
}

/** Larger, and read when somebody looks. */
interface ShownGaps {
  reports: { source?: string; report: GapReport }[];
}

/** What another version has saved in another way is not read. */
const format = 2;
const names = { views: "shown", gaps: "shown:gaps", shapes: "shown:shapes" };
export const showEveryMs = 2_000;
/** How long silence has lasted changes all the time, and is saved as seldom. */
const leastOftenMs = 15_000;
const shapesEveryMs = 5_000;
/** What grows by itself, and is not saved for its own sake. */
const growing: ReadonlySet<string> = new Set(["quietMs", "tellsAt"]);

type Store = Pick<WatchStore, "loadWatchState"> & DutyStates;

/** What the relay that watches has saved for the others to show. */
export class ShownWatches {
  constructor(private readonly deps: { store: Store; clock: Clock; log: Log }) {}

  /** Undefined: none, or by another version. */
  readonly readViews = () => this.#read<Shown>(names.views);

  async readShapes(): Promise<ShapesView> {
    return (await this.#read<ShapesView>(names.shapes)) ?? { kinds: [], unfollowed: { unknown: 0, without: 0 } };
  }

  /**
   * Undefined for an older report: nobody knows whether these relays found it.
   * @param here what this relay has found; the newer of both counts
   */
  async readGaps(source: string | undefined, oldestMs: number, here?: GapReport): Promise<GapReport | undefined> {
    const saved = await this.#read<ShownGaps>(names.gaps);
    const shown = saved?.reports.find((one) => one.source === source)?.report;
    const last = (shown?.checkedAt ?? 0) > (here?.checkedAt ?? 0) ? shown : here;
    return last && this.deps.clock.now() - last.checkedAt < oldestMs ? last : undefined;
  }

  /** Saves what is new under the fence of the lane, while other relays run. */
  saving(lane: LaneFence, { views, gaps, shapes, hasOthers }: Showing): Poll {
    const parts: { name: string; show(): object | undefined; leastMs: number; mostMs: number }[] = [
      { name: names.views, show: views, leastMs: 0, mostMs: leastOftenMs },
      { name: names.gaps, show: gaps, leastMs: 0, mostMs: Number.POSITIVE_INFINITY },
      { name: names.shapes, show: shapes, leastMs: shapesEveryMs, mostMs: Number.POSITIVE_INFINITY },
    ];
    const last = new Map<string, { at: number; text: string }>();
    const { store, clock, log } = this.deps;
    return createPoll({
      look: async () => {
        if (!hasOthers()) return;
        const now = clock.now();
        for (const { name, show, leastMs, mostMs } of parts) {
          const saved = last.get(name);
          const passedMs = saved === undefined ? Number.POSITIVE_INFINITY : Math.abs(now - saved.at);
          if (passedMs < leastMs) continue;
          const state = show();
          if (state === undefined) continue;
          const text = JSON.stringify(state, (key, value) => (growing.has(key) ? undefined : value));
          if (saved?.text === text && passedMs < mostMs) continue;
          await store.saveWatchStateFor(lane, { name, state: { format, ...state, at: now } });
          last.set(name, { at: now, text });
        }
      },
      everyMs: showEveryMs,
      clock,
      onFailed: logFailure(log, "watches.not_shown"),
    });
  }

  async #read<T>(name: string): Promise<T | undefined> {
    const saved = (await this.deps.store.loadWatchState(name)) as (T & { format: number }) | undefined;
    return saved?.format === format ? saved : undefined;
  }
}

/** What is shown as it is now. */
export interface Showing {
  views(): Omit<Shown, "at">;
  /** Undefined: this relay has found none yet, and what the former owner has saved stays. */
  gaps(): ShownGaps | undefined;
  shapes(): ShapesView;
  hasOthers(): boolean;
}
