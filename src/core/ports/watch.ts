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
   * Saves it in place of `from`. Where several relays do so at once, one gets true.
   * @param from as `loadWatchState` gave it
   */
  changeWatchState(watch: WatchState, from: unknown): Promise<boolean>;
}

/** A try fails where another relay saves its own change first. */
const mostTries = 10;

/**
 * Changes a state that several relays add to. Where another relay was faster, it starts again from the new state.
 * @param change what is made of the state that is saved; without a `state` nothing is
 * @throws as the store does
 */
export async function changeTogether<T>(
  store: CommonStates,
  name: string,
  change: (from: unknown) => { given: T; state: unknown },
): Promise<T> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const from = await store.loadWatchState(name);
    const { given, state } = change(from);
    if (state === undefined || (await store.changeWatchState({ name, state }, from))) return given;
  }
  throw new Error("others changed it each time");
}

/** What the one relay saves that has the duties. */
export interface DutyStates {
  /** `lost`: another relay has them, and nothing was saved. A notice takes it along likewise, see `NoticeRecord`. */
  saveWatchStateFor(lane: LaneFence, watch: WatchState): Promise<"done" | "lost">;
}

/** `unknown`: it cannot tell, which is no alarm. `idle`: there is nothing to watch, or to compare with. */
export const watchVerdicts = ["well", "trouble", "unknown", "idle"] as const;
export type WatchVerdict = (typeof watchVerdicts)[number];
