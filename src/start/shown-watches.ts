import type { AccountView, CanaryView, GapReport, ShapesView, SilenceView, WatchView } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import { type Log, logFailure } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { LaneFence } from "../core/ports/lanes.ts";
import type { DutyStates, WatchStore } from "../core/ports/watch.ts";

export type KnownAccount = Pick<AccountView, "answer" | "canPutBack">;

/** The views that the owner saves for the others. They are small, since each relay reads them every two seconds. */
export interface Shown {
  at: number;
  watches: WatchView[];
  silence: SilenceView[];
  canary?: CanaryView;
  /** Shapes that are to be described again, as the owner does not know them. Absent from former versions. */
  askFor?: string[];
  accounts: { source?: string; known: KnownAccount }[];
}

/** Larger, and read only when somebody looks. */
interface ShownGaps {
  reports: { source?: string; report: GapReport }[];
}

/** Data that another version has saved in another format is not read. */
const format = 2;
const names = { views: "shown", gaps: "shown:gaps", shapes: "shown:shapes" };
export const showEveryMs = 2_000;
/** Values such as the length of a silence change all the time, and are saved this seldom. */
const leastOftenMs = 15_000;
const shapesEveryMs = 5_000;
/** Values that grow by themselves. Their change alone is no reason to save. */
const growing: ReadonlySet<string> = new Set(["quietMs", "tellsAt"]);

type Store = Pick<WatchStore, "loadWatchState"> & DutyStates;

export class ShownWatches {
  constructor(private readonly deps: { store: Store; clock: Clock; log: Log }) {}

  /** Undefined: none are saved, or another version has saved them. */
  readonly readViews = () => this.#read<Shown>(names.views);

  async readShapes(): Promise<ShapesView> {
    return (await this.#read<ShapesView>(names.shapes)) ?? { kinds: [], unfollowed: { unknown: 0, without: 0 } };
  }

  /** Undefined for an old report. @param here the result of this relay. The newer of both counts */
  async readGaps(source: string | undefined, oldestMs: number, here?: GapReport): Promise<GapReport | undefined> {
    const saved = await this.#read<ShownGaps>(names.gaps);
    const shown = saved?.reports.find((one) => one.source === source)?.report;
    const last = (shown?.checkedAt ?? 0) > (here?.checkedAt ?? 0) ? shown : here;
    return last && this.deps.clock.now() - last.checkedAt < oldestMs ? last : undefined;
  }

  /** Saves changed views under the fence of the lane, while other relays run. */
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

export interface Showing {
  views(): Omit<Shown, "at">;
  /** Undefined: this relay has no result yet, and the former owner's stays. */
  gaps(): ShownGaps | undefined;
  shapes(): ShapesView;
  hasOthers(): boolean;
}
