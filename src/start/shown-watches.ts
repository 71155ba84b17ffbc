import type { AccountView, CanaryView, GapReport, ShapesView, SilenceView, WatchView } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { LaneFence } from "../core/ports/lanes.ts";
import type { DutyStates, WatchStore } from "../core/ports/watch.ts";
import type { Watches } from "./open-watches.ts";

export type KnownAccount = Pick<AccountView, "answer" | "canPutBack">;

/** What the owner saves for the others: small, since each of them reads it every two seconds. */
export interface Shown {
  at: number;
  watches: WatchView[];
  silence: SilenceView[];
  canary?: CanaryView;
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
/** What grows by itself, and is no news. */
const growing: ReadonlySet<string> = new Set(["quietMs", "tellsAt"]);

type Store = Pick<WatchStore, "loadWatchState"> & DutyStates;

/** What the relay that watches has saved for the others to show. */
export class ShownWatches {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Undefined: none, or by another version. */
  readonly readViews = () => this.#read<Shown>(names.views);

  async readShapes(): Promise<ShapesView> {
    return (await this.#read<ShapesView>(names.shapes)) ?? { kinds: [], unfollowed: { unknown: 0, without: 0 } };
  }

  /** Of what is older nobody knows whether these relays found it. */
  async readGaps(source: string | undefined, oldestMs: number): Promise<GapReport | undefined> {
    const saved = await this.#read<ShownGaps>(names.gaps);
    const last = saved?.reports.find((one) => one.source === source)?.report;
    return last && this.#clock.now() - last.checkedAt < oldestMs ? last : undefined;
  }

  /** Saves what is new under the fence of the lane, while other relays run. */
  saving(watches: Watches, lane: LaneFence, { viewsOf, hasOthers, takeNewShapes }: SavingOptions): Poll {
    let last: { at: number; text: string } | undefined;
    let shapesAt = Number.NEGATIVE_INFINITY;
    let gapsText: string | undefined;
    const save = (name: string, state: object) =>
      this.#store.saveWatchStateFor(lane, { name, state: { format, ...state } });
    return createPoll({
      look: async () => {
        if (!hasOthers()) return;
        const now = this.#clock.now();
        const state = viewsOf();
        const text = JSON.stringify({ ...state, at: 0 }, (key, value) => (growing.has(key) ? undefined : value));
        if (last?.text !== text || Math.abs(now - last.at) >= leastOftenMs) {
          await save(names.views, state);
          last = { at: now, text };
        }
        const gaps: ShownGaps = {
          reports: [...watches.gaps].flatMap(([source, one]) => {
            const report = one.report();
            return report === undefined ? [] : { source, report };
          }),
        };
        if (gaps.reports.length > 0 && JSON.stringify(gaps) !== gapsText) {
          await save(names.gaps, gaps);
          gapsText = JSON.stringify(gaps);
        }
        const isFirst = !Number.isFinite(shapesAt);
        if (Math.abs(now - shapesAt) < shapesEveryMs || !(takeNewShapes() || isFirst)) return;
        shapesAt = now;
        await save(names.shapes, watches.shapes.view());
      },
      everyMs: showEveryMs,
      clock: this.#clock,
      onFailed: (error) => this.#log.error("watches.not_shown", { error: String(error).slice(0, 300) }),
    });
  }

  async #read<T>(name: string): Promise<T | undefined> {
    const saved = (await this.#store.loadWatchState(name)) as (T & { format: number }) | undefined;
    return saved?.format === format ? saved : undefined;
  }
}

export interface SavingOptions {
  viewsOf(): Shown;
  hasOthers(): boolean;
  /** Whether shapes were noted since it was last asked. */
  takeNewShapes(): boolean;
}
