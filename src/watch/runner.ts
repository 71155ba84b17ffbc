import type { WatchView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { Mute } from "../core/rules.ts";
import { errorText } from "../ground/text/error-text.ts";
import { compileMatchers } from "../matching/judge.ts";
import type { WatchDeps, WatchRules } from "./watch.ts";

/**
 * Looks again and again, and sends notices. A notice and its memory are written in one step. After a failure or a kill
 * both are there, or the next look repeats the notice.
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

  readonly wake = (): void => this.#poll.wake();

  readonly run = async (stop: AbortSignal): Promise<void> => {
    this.#stop = stop;
    await this.#deps.clock.sleep(this.rules.firstAfterMs ?? 0, stop);
    if (!stop.aborted) await this.#poll.run(stop);
  };

  /** Rejects as the store does, and the memory is then unchanged. */
  async keep(memory: Memory): Promise<void> {
    await this.#deps.store.saveWatchState({ name: this.rules.name, state: memory });
    this.#memory = memory;
  }

  /**
   * Sends a notice, and saves the memory after it. Rejects as `keep` does.
   * @param facts undefined: only the memory is saved
   * @param muted the memory to save where a mute matches the notice, which is then not sent. Absent: no mute applies
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
