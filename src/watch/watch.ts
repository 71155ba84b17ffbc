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

/** A duty that page, API, metrics and `tocsin status` show, mostly in one line. */
export interface ShownDuty<View = WatchView> extends Duty {
  view(): View;
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
 * Looks again and again, and sends notices. A notice and its memory are written in one step. After a failure or a kill
 * both are there, or the next look repeats the notice. Each watch says what it looks at, remembers and reports.
 * @typeParam Memory the data after a restart, so no notice is repeated. JSON
 * @typeParam View the data for page and API
 */
export abstract class Watch<Memory, View = WatchView> implements ShownDuty<View> {
  /** The name under which its memory is saved. Unique. */
  abstract readonly name: string;
  /** The form of a saved memory, also of an earlier version. */
  protected abstract readonly schema: z.ZodType<Memory>;
  /** The saved memory. At first: the one where none was saved, or none that can be read. Changed by `keep` and `tell`. */
  abstract memory: Memory;
  /** The time between two looks, milliseconds. Asked after each look. */
  protected abstract readonly everyMs: () => number;
  /** The time from the start to the first look, milliseconds. */
  protected readonly firstAfterMs: number = 0;
  readonly #deps: WatchDeps;
  readonly #poll: Poll;
  #isLoaded = false;
  #stop = new AbortController().signal;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
    this.#poll = createPoll({
      look: async () => {
        await this.#load();
        await this.look(this.#stop);
      },
      everyMs: () => this.everyMs(),
      clock: deps.clock,
      onFailed: (error) => {
        if (!this.#stop.aborted) deps.log.error("watch.failed", { watch: this.name, error: errorText(error) });
      },
    });
  }

  /** One look. Keeps and reports its findings. Rejects as the store does, and is then repeated. */
  protected abstract look(stop: AbortSignal): Promise<void>;

  abstract view(): View;

  /** Resolves when the memory is loaded. Rejects as the store does. */
  async open(): Promise<this> {
    await this.#load();
    return this;
  }

  readonly wake = (): void => this.#poll.wake();

  async run(stop: AbortSignal): Promise<void> {
    this.#stop = stop;
    await this.#deps.clock.sleep(this.firstAfterMs, stop);
    if (!stop.aborted) await this.#poll.run(stop);
  }

  /** Rejects as the store does, and the memory is then unchanged. */
  async keep(memory: Memory): Promise<void> {
    await this.#deps.store.saveWatchState({ name: this.name, state: memory });
    this.memory = memory;
  }

  /**
   * Sends a notice, and saves the memory after it. Rejects as `keep` does.
   * @param facts undefined: only the memory is saved
   * @param muted the memory to save where a mute matches the notice, which is then not sent. Absent: no mute applies
   */
  async tell(facts: AlertFacts | undefined, memory: Memory, muted?: Memory): Promise<void> {
    if (facts === undefined) return this.keep(memory);
    if (muted !== undefined && findMuteOf(facts, this.#deps.activeMutes?.() ?? [])) return this.keep(muted);
    await this.#deps.notify(facts, { name: this.name, state: memory });
    this.memory = memory;
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return;
    this.memory = this.schema.safeParse(await this.#deps.store.loadWatchState(this.name)).data ?? this.memory;
    this.#isLoaded = true;
  }
}

/** The first mute that matches the notice. A mute that cannot be read mutes nothing, as for alerts. */
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
