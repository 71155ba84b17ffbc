import type { LaneFence } from "./lanes.ts";

/** The last that one watch knew, and what it has told of it. */
export interface WatchState {
  /** Which watch: `account`, `silence:hook`. Unique. */
  name: string;
  /** Whatever it needs to go on after a restart without telling anybody twice. JSON. */
  state: unknown;
}

/**
 * The state in which a restored backup says what is not in it: `{ times: { fromAt, toAt }[] }`, from its last alert to
 * when it was put in place of the database, in epoch milliseconds, the oldest first.
 */
export const restoresStateName = "restores";

/** What the watches of the relay over its surroundings remember. */
export interface WatchStore {
  /** Undefined: nothing was ever saved under this name. */
  loadWatchState(name: string): Promise<unknown>;
  /** In place of what was saved before. A notice takes it along in its own step, see `NoticeRecord`. */
  saveWatchState(watch: WatchState): Promise<void>;
}

/** What several relays add to. */
export interface CommonStates extends Pick<WatchStore, "loadWatchState"> {
  /**
   * Saves it in place of `from`: of several who do so at once, one is told true.
   * @param from as `loadWatchState` gave it
   */
  changeWatchState(watch: WatchState, from: unknown): Promise<boolean>;
}

/** What the one relay saves that has the duties. */
export interface DutyStates {
  /** `lost`: another relay has them, and nothing was saved. A notice takes it along likewise, see `NoticeRecord`. */
  saveWatchStateFor(lane: LaneFence, watch: WatchState): Promise<"done" | "lost">;
}

/** `unknown`: it cannot tell, which is no alarm. `idle`: there is nothing to watch, or to compare with. */
export const watchVerdicts = ["well", "trouble", "unknown", "idle"] as const;
export type WatchVerdict = (typeof watchVerdicts)[number];

/** What one watch knows now, as page, API, metrics and `tocsin status` show it. Holds no secret. */
export interface WatchView {
  /** As in `WatchState`. It is a label of the metrics, so no text of a sender and no chat id. */
  name: string;
  verdict: WatchVerdict;
  /** What is true, in one line for people. */
  summary: string;
  /** What is wrong and what to do about it, a line each; empty unless the verdict is `trouble`. */
  troubles: string[];
  /** Since when it is in trouble; absent: nobody can say. Epoch milliseconds. */
  since?: number;
  /** What the other side answered last, in its own words. */
  reason?: string;
  /** Not certain yet, or nothing is lost by it yet. Default: it is bad. */
  level?: "warn";
  /** What comes of it or is done about it, in a few words. */
  note?: string;
  /** When it last looked, whatever came of it; absent: not yet. Epoch milliseconds. */
  lookedAt?: number;
}

/** A duty of the relay that looks at something around it, and tells of what it finds. */
export interface Watch {
  view(): WatchView;
  /** Until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}
