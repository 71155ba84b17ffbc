import type { z } from "zod";
import type { WatchView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import type { Mute } from "../core/rules.ts";
import { errorText } from "../ground/text/error-text.ts";
import { compileMatchers } from "../matching/judge.ts";

/** A duty that looks at something around the relay, or does something again and again. */
export type Duty = Pick<Poll, "run">;

/** A duty that page, API, metrics and `tocsin status` show, most of them in one line. */
export interface ShownDuty<View = WatchView> extends Duty {
  view(): View;
}

/**
 * What one watch looks at, remembers and says. Everything else is the same for all of them, and is done by `Watch`.
 * @typeParam Memory what it has to know after a restart, so that no notice is repeated. JSON
 * @typeParam View what page and API show of it
 */
export interface WatchRules<Memory, View = WatchView> {
  /** What its memory is saved as. Unique. */
  name: string;
  /** What an earlier run, or an earlier version, has saved. */
  memory: z.ZodType<Memory>;
  /** Where nothing was saved, or nothing that can be read. */
  empty: Memory;
  /** From one look to the next. Asked anew after each look where it is a function. Milliseconds. */
  everyMs: number | (() => number);
  /** The time from the start to the first look. Default: none. Milliseconds. */
  firstAfterMs?: number;
  /** One look: what is found is kept and told by `watch`. Rejects as the store does, and is made again then. */
  look(watch: Watch<Memory, View>, stop: AbortSignal): Promise<void>;
  view(memory: Memory): View;
}

export interface WatchDeps {
  store: WatchStore;
  /** Sends a notice of the relay itself, and saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** The mutes that hold now. Default: none. */
  activeMutes?(): Mute[];
  /** How people reach the page. */
  publicUrl: string;
  clock: Pick<Clock, "now" | "sleep">;
  log: Log;
}

/**
 * Loads, looks again and again, and tells people. A notice and the memory of it are written in one step, and only then is it
 * remembered here as well: after a failure or a kill both are there, or neither, and the next look tells it.
 */
export class Watch<Memory, View = WatchView> {
  readonly rules: WatchRules<Memory, View>;
  readonly #deps: WatchDeps;
  readonly #poll: Poll;
  #memory: Memory;
  #isLoaded = false;
  #stop = new AbortController().signal;

  /** Resolves when the memory is loaded. Rejects as the store does. */
  static async open<Memory, View = WatchView>(
    rules: WatchRules<Memory, View>,
    deps: WatchDeps,
  ): Promise<Watch<Memory, View>> {
    const watch = new Watch(rules, deps);
    await watch.#load();
    return watch;
  }

  /** Loads the memory with its first look. */
  constructor(rules: WatchRules<Memory, View>, deps: WatchDeps) {
    this.rules = rules;
    this.#deps = deps;
    this.#memory = rules.empty;
    this.#poll = createPoll({
      look: async () => {
        await this.#load();
        await rules.look(this, this.#stop);
      },
      everyMs: rules.everyMs,
      clock: deps.clock,
      onFailed: (error) => {
        if (!this.#stop.aborted) deps.log.error("watch.failed", { watch: rules.name, error: errorText(error) });
      },
    });
  }

  get memory(): Memory {
    return this.#memory;
  }

  view(): View {
    return this.rules.view(this.#memory);
  }

  /** Looks at once. */
  readonly wake = (): void => this.#poll.wake();

  readonly run = async (stop: AbortSignal): Promise<void> => {
    this.#stop = stop;
    await this.#deps.clock.sleep(this.rules.firstAfterMs ?? 0, stop);
    if (!stop.aborted) await this.#poll.run(stop);
  };

  /** Rejects as the store does; the memory is as before then. */
  async keep(memory: Memory): Promise<void> {
    await this.#deps.store.saveWatchState({ name: this.rules.name, state: memory });
    this.#memory = memory;
  }

  /**
   * Sends a notice, and keeps what is to be remembered of it. Rejects as `keep` does.
   * @param facts undefined: there is nothing to say, and the memory alone is kept
   * @param muted kept instead where a mute holds for the notice, which is not sent then. Absent: no mute holds for it
   */
  async tell(facts: AlertFacts | undefined, memory: Memory, muted?: Memory): Promise<void> {
    if (facts === undefined) return this.keep(memory);
    if (muted !== undefined && findMuteOf(facts, this.#deps.activeMutes?.() ?? [])) return this.keep(muted);
    await this.#deps.notify(facts, { name: this.rules.name, state: memory });
    this.#memory = memory;
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return;
    const saved = await this.#deps.store.loadWatchState(this.rules.name);
    this.#memory = this.rules.memory.safeParse(saved).data ?? this.rules.empty;
    this.#isLoaded = true;
  }
}

/** The first of these mutes that matches a notice. One that cannot be read mutes nothing, as for alerts. */
export function findMuteOf(facts: AlertFacts, mutes: Mute[]): Mute | undefined {
  return mutes.find(({ matchers, isDisabled }) => {
    if (isDisabled) return false;
    try {
      return compileMatchers(matchers).holds({ facts, origin: "notice" });
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  });
}
