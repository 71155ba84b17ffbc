import type { z } from "zod";
import type { WatchView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Poll } from "../core/poll.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import type { Mute } from "../core/rules.ts";
import { openConfigurationWatch } from "./configuration.ts";
import { openDiskWatch } from "./disk.ts";
import { openHeartbeatWatch } from "./heartbeat.ts";
import type { Watch } from "./runner.ts";

/** A duty that looks at something around the relay, or does something again and again. */
export type Duty = Pick<Poll, "run">;

/** A duty that page, API, metrics and `tocsin status` show, mostly in one line. */
export interface ShownDuty<View = WatchView> extends Duty {
  view(): View;
}

/**
 * What one watch looks at, remembers and reports. `Watch` does the rest for all of them.
 * @typeParam Memory the data after a restart, so no notice is repeated. JSON
 * @typeParam View the data for page and API
 */
export interface WatchRules<Memory, View = WatchView> {
  /** The name under which its memory is saved. Unique. */
  name: string;
  /** The form of a saved memory, also of an earlier version. */
  memory: z.ZodType<Memory>;
  /** The memory where none was saved, or none that can be read. */
  empty: Memory;
  /** The time between two looks, milliseconds. A function is asked after each look. */
  everyMs: number | (() => number);
  /** The time from the start to the first look, milliseconds. Default: none. */
  firstAfterMs?: number;
  /** One look. Keeps and reports its findings by `watch`. Rejects as the store does, and is then repeated. */
  look(watch: Watch<Memory, View>, stop: AbortSignal): Promise<void>;
  view(memory: Memory): View;
}

export interface WatchDeps {
  store: WatchStore;
  /** Sends a notice of the relay itself, and saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  activeMutes?(): Mute[];
  publicUrl: string;
  clock: Pick<Clock, "now" | "sleep">;
  log: Log;
}

/**
 * The watches in the order in which people see them, after those of senders. Each gets the configuration, and what the relay gives
 * to all (`WatchesDeps` in `start/open-watches.ts`). It gives undefined where the configuration does not ask for it.
 */
export const watches = [openDiskWatch, openConfigurationWatch, openHeartbeatWatch] as const;
