import { within } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { logFailure } from "../core/log.ts";
import { Mailbox } from "../core/mailbox.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { CommonStates } from "../core/ports/watch.ts";
import { errorMessage } from "../ground/text/error-text.ts";
import type { EngineContext } from "./lane/context.ts";

/** A person's request for a destination, made at a relay that does not run it. */
export interface Wish {
  id: string;
  destination: string;
  /** The person who pauses the destination. Null: resume it. Absent: try it. */
  by?: string | null;
  /** No relay begins it later. Epoch milliseconds. */
  until: number;
  /** Why the relay that runs the destination could not do it. Absent: no relay has taken it. */
  why?: string;
}

export interface WishesDeps extends Pick<EngineContext, "clock" | "newId" | "log"> {
  store: CommonStates;
  /** Whether this relay runs the destination, and is not about to leave it. */
  runs(destination: string): boolean;
  /** Does the request and saves the result. Rejects as the store does. */
  fulfil(wish: Wish): Promise<unknown>;
}

/** How long a person waits at a page. A dead relay is replaced a little later. */
const takeWithinMs = 10_000;
/** How long the other relay's work may take. */
const seeWithinMs = 15_000;
const seeEveryMs = 100;
const lookEveryMs = 1_000;
/** A wish that a dead relay has left is removed after this time. */
const keptMs = 60_000;
const mostWaiting = 100;

/**
 * Wishes for destinations that another relay runs. That relay saves the destination's status, which shows the result. It answers
 * only when it could not do it.
 *
 *     left in the mail ──the holder takes it──▶ done, and saved
 *        │                    └──▶ left again, with why it is not
 *        └──within ten seconds nobody has──▶ taken back: nothing was done
 */
export class Wishes {
  readonly #mail: Mailbox<Wish>;
  readonly #stopping = new AbortController();
  readonly #poll: Poll;

  constructor(private readonly deps: WishesDeps) {
    this.#mail = new Mailbox(deps.store, "lanes", mostWaiting);
    const onFailed = logFailure(deps.log, "wishes.not_read");
    this.#poll = createPoll({ look: () => this.#look(), everyMs: lookEveryMs, clock: deps.clock, onFailed });
  }

  /** A relay may have left a wish. */
  wake = (): void => this.#poll.wake();

  /** Does what other relays ask for, until `stop` is aborted. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    stop.addEventListener("abort", () => this.#stopping.abort(), { once: true });
    await this.#poll.run(stop);
  }

  /**
   * One relay does it once, or none does.
   * @param seen the saved result. Undefined: none yet
   * @throws AppError `conflict` when no relay took it in time: nothing was done. `store_unavailable` when a relay took it and the
   * result is not seen in time, or could not do it, or as the store does
   */
  async leave<T>(wish: Pick<Wish, "destination" | "by">, seen: () => Promise<T | undefined>): Promise<T> {
    const { clock, newId } = this.deps;
    const { signal: stop } = this.#stopping;
    const leftAt = clock.now();
    const waitedMs = () => Math.abs(clock.now() - leftAt);
    /** Undefined where the store does not answer. The result is then unknown. */
    const orNone = <V>(looked: Promise<V>) =>
      within(looked, Math.max(seeWithinMs - waitedMs(), lookEveryMs), clock).catch(() => undefined);
    const left = { ...wish, id: newId(), until: leftAt + takeWithinMs };
    await this.#mail.put([left]);
    for (;;) {
      const found = await orNone(seen());
      if (found !== undefined) return found;
      const isOver = waitedMs() >= takeWithinMs || stop.aborted;
      const isBack = ({ id, why }: Wish) => id === left.id && (isOver || why !== undefined);
      const [back] = (await orNone(this.#mail.take(isBack))) ?? [];
      if (back !== undefined)
        throw back.why === undefined ? notTaken(wish.destination) : notDone(wish.destination, back.why);
      if (waitedMs() >= seeWithinMs || stop.aborted) throw notSeen(wish.destination, waitedMs());
      await clock.sleep(seeEveryMs, stop);
    }
  }

  async #look(): Promise<void> {
    const { runs, fulfil, clock, log } = this.deps;
    const now = clock.now();
    const isOld = ({ until }: Wish) => now > until + keptMs;
    const mine = ({ destination, until, why }: Wish) => why === undefined && now < until && runs(destination);
    for (const wish of await this.#mail.take((one) => mine(one) || isOld(one))) {
      if (isOld(wish)) continue;
      fulfil(wish).catch((error: unknown) => {
        const { destination } = wish;
        const why = errorMessage(error);
        log.error("wishes.not_fulfilled", { destination, error: why });
        // If the store does not take the answer, the result stays unknown.
        return this.#mail.put([{ ...wish, why }]).catch(() => undefined);
      });
    }
  }
}

const notTaken = (destination: string) =>
  new AppError("conflict", `No relay that runs the destination ${destination} answers, so nothing was changed.`, {
    hint: "Try again: one that has stopped is replaced within 15 seconds.",
    retryAfterMs: 5_000,
  });

const notDone = (destination: string, why: string) =>
  new AppError("store_unavailable", `The relay that runs the destination ${destination} could not do it: ${why}`, {
    hint: "The page Destinations and `tocsin status` show how it is now. If it was not done, ask again.",
    retryAfterMs: 5_000,
  });

const notSeen = (destination: string, waitedMs: number) =>
  new AppError(
    "store_unavailable",
    `The relay that runs the destination ${destination} has not answered within ${Math.ceil(waitedMs / 1000)} s: ` +
      "it is unknown whether it has done it.",
    {
      hint: "The page Destinations and `tocsin status` show in some seconds how it is now. If it was not done, ask again.",
      retryAfterMs: 5_000,
    },
  );
