import { type Clock, within } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { LaneFence } from "../core/ports/lanes.ts";
import type { RelayRequest, RelayRequests, RequestAnswer } from "../core/ports/requests.ts";

export interface AskOptions {
  /** What is asked about, for the words of an error: `the destination chat`. */
  subject: string;
  /** A sentence that says where people see whether it was done, for when nobody knows. */
  howToSee: string;
  /** How long another relay's answer is waited for at most, from asking on. Default: 15,000. Milliseconds. */
  answerWithinMs?: number;
}

export interface HolderRequestsDeps {
  store: Partial<RelayRequests>;
  /** The groups that this relay holds and is not about to leave. */
  lanes(): LaneFence[];
  clock: Clock;
  newId: NewId;
  log: Log;
}

/** Nobody who waits at a page waits longer. A relay that died is replaced a little later. */
const takeWithinMs = 10_000;
const lookEveryMs = 1_000;
const lastAnswersMs = 5_000;
/** What the holder does may take a moment, or its answer cannot be written: nobody who waits at a page waits longer. */
const usualAnswerMs = 15_000;
/** Longer nobody waits for an answer that could not be written at first. */
const writeAnswerForMs = 5 * 60_000;
/** A reason that is made once: each of `abort()` without one is an exception with a stack. */
const woke = new Error("something was answered");

/** Asks the relay that holds a lane group: this one itself, or another one on the same store. */
export class HolderRequests {
  readonly #deps: HolderRequestsDeps;
  /** Undefined: there is no other relay to ask. */
  readonly #desk: RelayRequests | undefined;
  readonly #kinds = new Map<string, (args: unknown, group: string) => Promise<unknown>>();
  readonly #waiting = new Set<AbortController>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #poll: Poll;

  constructor(deps: HolderRequestsDeps) {
    this.#deps = deps;
    this.#desk = isComplete(deps.store) ? deps.store : undefined;
    this.#poll = createPoll({
      look: () => this.#look(),
      everyMs: lookEveryMs,
      clock: deps.clock,
      onFailed: (error) => deps.log.error("relay.requests_failed", { error: String(error).slice(0, 300) }),
    });
  }

  /** How requests of this kind are done while this relay holds their group. Takes and gives JSON; its `AppError`s travel. */
  answer(kind: string, perform: (args: unknown, group: string) => Promise<unknown>): void {
    this.#kinds.set(kind, perform);
  }

  /**
   * Done once or not at all, by one relay.
   * @throws AppError what the holder throws; `conflict` when nobody took it in time, so that nothing was done;
   *   `store_unavailable` when it was taken and no answer came in time, so that nobody knows, or as the store does.
   */
  async ask(group: string, kind: string, args: unknown, options: AskOptions): Promise<unknown> {
    const { lanes, newId } = this.#deps;
    if (lanes().some((lane) => lane.group === group)) return this.#perform({ group, kind, args });
    if (this.#desk === undefined) throw new AppError("conflict", `Another relay runs ${options.subject}.`);
    return this.#askAnother(this.#desk, { id: newId(), group, kind, args }, options);
  }

  /** Something was asked or answered. */
  wake = (): void => {
    this.#poll.wake();
    for (const woken of this.#waiting) woken.abort(woke);
  };

  /** Does what others ask, until `stop` is aborted, and waits a moment for what is under way. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    if (this.#desk === undefined) return;
    const end = () => {
      this.#stopping.abort();
      for (const woken of this.#waiting) woken.abort(woke);
    };
    stop.addEventListener("abort", end, { once: true });
    await this.#poll.run(stop);
    await within(Promise.all(this.#underWay), lastAnswersMs, this.#deps.clock);
  }

  async #look(): Promise<void> {
    const desk = this.#desk;
    if (desk === undefined || this.#stopping.signal.aborted) return;
    for (const request of await desk.takeRequests(this.#deps.lanes())) {
      const answering = this.#answer(desk, request).finally(() => this.#underWay.delete(answering));
      this.#underWay.add(answering);
    }
  }

  async #perform({ kind, args, group }: Omit<RelayRequest, "id">): Promise<unknown> {
    const known = this.#kinds.get(kind);
    if (known !== undefined) return known(args, group);
    throw new AppError("conflict", `The relay that runs it cannot do that: it knows no request ${kind}.`, {
      hint: "Run the same version on all relays.",
    });
  }

  async #answer(desk: RelayRequests, request: RelayRequest): Promise<void> {
    const { log } = this.#deps;
    let answer: RequestAnswer;
    try {
      answer = { value: await this.#perform(request) };
    } catch (error) {
      if (!(error instanceof AppError)) log.error("relay.request_failed", { kind: request.kind, error: String(error) });
      answer = { error: toWords(error) };
    }
    await this.#writeAnswer(desk, request, answer);
  }

  /** Again and again: it is done, and without an answer the asker would not know. */
  async #writeAnswer(desk: RelayRequests, { id, kind }: RelayRequest, answer: RequestAnswer): Promise<void> {
    const { clock, log } = this.#deps;
    const until = clock.now() + writeAnswerForMs;
    for (let tries = 1; ; tries += 1) {
      try {
        await desk.answerRequest(id, answer);
        return;
      } catch (error) {
        if (tries === 1) log.error("relay.not_answered", { kind, error: String(error).slice(0, 300) });
        if (this.#stopping.signal.aborted || clock.now() >= until) return;
      }
      await clock.sleep(lookEveryMs, this.#stopping.signal);
    }
  }

  /** Ends early when something was answered. */
  async #pause(ms: number): Promise<void> {
    const woken = new AbortController();
    this.#waiting.add(woken);
    await this.#deps.clock.sleep(ms, woken.signal);
    this.#waiting.delete(woken);
  }

  /** A store that does not answer leaves it unknown. */
  async #orUnknown<T>(asked: Promise<T>, withinMs: number): Promise<T | "unknown"> {
    return (await within(asked, Math.max(withinMs, lookEveryMs), this.#deps.clock).catch(() => undefined)) ?? "unknown";
  }

  async #askAnother(
    desk: RelayRequests,
    request: RelayRequest,
    { subject, howToSee, answerWithinMs = usualAnswerMs }: AskOptions,
  ): Promise<unknown> {
    const { clock } = this.#deps;
    const { id } = request;
    const askedAt = clock.now();
    const waitedMs = () => Math.abs(clock.now() - askedAt);
    await desk.putRequest(request, takeWithinMs);
    let lostLooks = 0;
    for (;;) {
      const found = await this.#orUnknown(desk.lookAtRequest(id), answerWithinMs - waitedMs());
      if (typeof found === "object") {
        if (!("error" in found)) return found.value;
        const { code, message, ...rest } = found.error;
        throw new AppError(code, message, rest);
      }
      const isOver = waitedMs() >= takeWithinMs || this.#stopping.signal.aborted;
      if (isOver && (found === "waiting" || found === "unknown")) {
        const isWithdrawn = await this.#orUnknown(desk.withdrawRequest(id), answerWithinMs - waitedMs());
        if (isWithdrawn === true) throw notTaken(subject);
      }
      // Given up properly, a lane is gone a moment before what was done on it is answered.
      lostLooks = found === "lost" ? lostLooks + 1 : 0;
      if (lostLooks > 2 || waitedMs() >= answerWithinMs || this.#stopping.signal.aborted)
        throw notAnswered(subject, howToSee, waitedMs());
      await this.#pause(Math.min(lookEveryMs, Math.max(1, answerWithinMs - waitedMs())));
    }
  }
}

function isComplete(store: Partial<RelayRequests>): store is RelayRequests {
  return store.putRequest !== undefined;
}

const notTaken = (subject: string) =>
  new AppError("conflict", `No relay that runs ${subject} answers, so nothing was changed.`, {
    hint: "Try again: one that has stopped is replaced within 15 seconds.",
    retryAfterMs: 5_000,
  });

const notAnswered = (subject: string, howToSee: string, waitedMs: number) =>
  new AppError(
    "store_unavailable",
    `The relay that runs ${subject} has not answered within ${Math.ceil(waitedMs / 1000)} s: it is unknown whether it has done it.`,
    { hint: howToSee, retryAfterMs: 5_000 },
  );

function toWords(error: unknown): Extract<RequestAnswer, { error: unknown }>["error"] {
  if (!(error instanceof AppError))
    return { code: "internal", message: "The relay that runs it failed at it. Its log says why." };
  const { code, message, hint, retryAfterMs } = error;
  return { code, message, ...(hint !== undefined && { hint }), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
