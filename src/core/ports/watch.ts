import type { LaneFence } from "./lanes.ts";

/** The last state of one watch, with what its notices have said. */
export interface WatchState {
  /** Unique: `account`, `silence:hook`. */
  name: string;
  /** What the watch needs after a restart, so that no notice is repeated. JSON. */
  state: unknown;
}

/** The times that restored backups lack: `{ times: { fromAt, toAt }[] }`, epoch milliseconds, oldest first. */
export const restoresStateName = "restores";

export interface WatchStore {
  /** Undefined: nothing is saved under this name. */
  loadWatchState(name: string): Promise<unknown>;
  /** A notice saves the state in its own step, see `NoticeRecord`. */
  saveWatchState(watch: WatchState): Promise<void>;
}

/** States that several relays change. */
export interface CommonStates extends Pick<WatchStore, "loadWatchState"> {
  /** Replaces `from`, as `loadWatchState` returned it, by the new state. When several relays do so at once, one gets true. */
  changeWatchState(watch: WatchState, from: unknown): Promise<boolean>;
}

/** A try fails when another relay has saved its change first. */
const mostTries = 10;

/**
 * Changes a state that several relays change. Starts again from the new state where another relay was faster.
 * @param change makes the new state from the saved one. Without a `state` nothing is saved
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

/** States that only the relay with the duties saves. */
export interface DutyStates {
  /** `lost`: another relay has the duties, and nothing was saved. */
  saveWatchStateFor(lane: LaneFence, watch: WatchState): Promise<"done" | "lost">;
}

/** `unknown`: cannot be judged, which is no alarm. `idle`: nothing to watch, or to compare with. */
export const watchVerdicts = ["well", "trouble", "unknown", "idle"] as const;
export type WatchVerdict = (typeof watchVerdicts)[number];
