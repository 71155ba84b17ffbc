import type { MarketServiceView } from "../contract/operations.ts";
import { Budget } from "../core/budget.ts";
import type { Clock } from "../core/clock.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { isTimeout, whenAborted, withTimeLimit } from "../ground/net/time-limit.ts";
import { RecentMap } from "../ground/recent-map.ts";
import { hourMs, minuteMs } from "../ground/time/spans.ts";

/**
 * Questions that only decorate must never become a load for the service. Each kind has a budget and remembers its
 * answers. All questions to one interface stop together when it refuses or fails.
 */

/** The pause after a refused key, which a person has to change. */
const refusedPauseMs = 15 * minuteMs;
const failedPauseMs = 5 * minuteMs;
const keepMs = 5 * minuteMs;
const mostKept = 100;
const mostWaiting = 4;
const keepFailureMs = minuteMs;
/** How long an answer is used that the service does not know the thing. */
const keepUnknownMs = hourMs;
const longestPauseMs = 24 * hourMs;
/** One late or failed call says little about the next. */
const failuresToPause = 2;

const pauseReasons: Partial<Record<ErrorCode, string>> = {
  upstream_unauthorized: "it takes no key of ours (401)",
  upstream_forbidden: "it refuses the key (403)",
  upstream_rate_limited: "it asks for fewer calls (429)",
  upstream_failed: "it fails (5xx)",
  upstream_unreachable: "it cannot be reached",
  upstream_bad_answer: "its answers cannot be read",
};

/** Whether one interface of the service may be asked now. */
export class Breaker {
  #failures = 0;
  #paused: { since: number; until: number; because: string } | undefined;

  constructor(private readonly clock: Pick<Clock, "now">) {}

  isOpen(): boolean {
    return this.#current() !== undefined;
  }

  /** Called also for the answer that the thing does not exist. */
  answered(): void {
    this.#failures = 0;
  }

  /** `isAnswer`: the service has answered that the thing does not exist, or that the question is invalid. */
  failed(error: unknown): { reason: ErrorCode | "timeout"; isAnswer: boolean } {
    const { code, retryAfterMs = 0 } = error instanceof AppError ? error : ({ code: "timeout" } as const);
    const isAnswer = code === "upstream_not_found" || code === "upstream_rejected";
    const because = pauseReasons[code] ?? (code === "timeout" ? "it does not answer in time" : "asking it fails");
    if (isAnswer) this.answered();
    else if (code !== "cancelled") this.#failures += 1;
    if (code === "upstream_unauthorized" || code === "upstream_forbidden") this.#pause(refusedPauseMs, because);
    else if (code === "upstream_rate_limited") this.#pause(Math.max(failedPauseMs, retryAfterMs), because);
    else if (code !== "cancelled" && this.#failures >= failuresToPause) this.#pause(failedPauseMs, because);
    return { reason: code, isAnswer };
  }

  view(): Pick<MarketServiceView, "pausedUntil" | "pausedBecause"> {
    const now = this.#current();
    return now === undefined ? {} : { pausedUntil: now.until, pausedBecause: now.because };
  }

  /** A clock that is set back makes no pause longer. */
  #current() {
    const now = this.clock.now();
    if (this.#paused !== undefined && (now >= this.#paused.until || now < this.#paused.since)) this.#paused = undefined;
    return this.#paused;
  }

  #pause(ms: number, because: string): void {
    const since = this.clock.now();
    this.#paused = { since, until: since + Math.min(ms, longestPauseMs), because };
  }
}

export function callsOf(budget: Budget): MarketServiceView["calls"] {
  return { made: budget.made(), most: budget.most };
}

export interface QuestionsDeps {
  clock: Pick<Clock, "now">;
  log: Log;
  breaker: Breaker;
  /** The time limit of a question, with its wait. Default 2.5 s. */
  timeLimitMs?: number;
}

export interface QuestionsOptions<T> {
  event: string;
  ask(key: string, options: { signal: AbortSignal }): Promise<T>;
  mostAnHour?: number;
}

export type Questions<T> = ReturnType<typeof createQuestions<T>>;

interface Known<T> {
  at: number;
  forMs: number;
  answer?: T;
}

/** Asks one question at a time, remembers the answers, and keeps to the budget. */
export function createQuestions<T>(deps: QuestionsDeps, options: QuestionsOptions<T>) {
  const { clock, log, breaker, timeLimitMs = 2_500 } = deps;
  const { event, ask, mostAnHour = 120 } = options;
  const heard = new RecentMap<string, Known<T>>(mostKept);
  const underWay = new Map<string, Promise<T | undefined>>();
  let last: Promise<unknown> = Promise.resolve();
  const budget = new Budget(clock, mostAnHour, hourMs);
  let hangs = 0;

  function find(key: string): Known<T> | undefined {
    const found = heard.get(key);
    if (found === undefined) return undefined;
    const age = clock.now() - found.at;
    return age >= 0 && age < found.forMs ? found : undefined;
  }

  const remember = (key: string, entry: Omit<Known<T>, "at">) => heard.set(key, { at: clock.now(), ...entry });

  /** @param own the number of the caller's questions under way */
  function mayAsk(own = 0): boolean {
    return !breaker.isOpen() && underWay.size - own < mostWaiting && budget.isLeft();
  }

  async function askFor(key: string): Promise<T | undefined> {
    const before = last;
    const hangsBefore = hangs;
    let isAsked = false;
    const answer = withTimeLimit(timeLimitMs, undefined, async ({ signal }) => {
      await Promise.race([before, whenAborted(signal)]);
      // Too little time is left after a call that hung.
      if (hangs !== hangsBefore || !mayAsk(1)) return undefined;
      isAsked = true;
      budget.spend();
      return await Promise.race([ask(key, { signal }), whenAborted(signal)]);
    });
    last = answer.catch(() => {});
    try {
      const given = await answer;
      if (given === undefined) return undefined;
      breaker.answered();
      remember(key, { forMs: keepMs, answer: given });
      return given;
    } catch (error) {
      if (!isAsked) return undefined;
      if (isTimeout(error)) hangs += 1;
      const { reason, isAnswer } = breaker.failed(error);
      log.info(event, { reason });
      remember(key, { forMs: isAnswer ? keepUnknownMs : keepFailureMs });
      return undefined;
    }
  }

  return {
    /** Undefined without a key, when the service gives no answer, or may not be asked now. Never rejects. */
    read(key: string | undefined): Promise<T | undefined> {
      if (key === undefined) return Promise.resolve(undefined);
      const found = find(key);
      if (found !== undefined) return Promise.resolve(found.answer);
      const call = underWay.get(key);
      if (call !== undefined) return call;
      if (!mayAsk()) return Promise.resolve(undefined);
      const started = askFor(key).finally(() => underWay.delete(key));
      underWay.set(key, started);
      return started;
    },
    /** The remembered answer that is still valid, without a question. */
    known: (key: string | undefined) => (key === undefined ? undefined : find(key)?.answer),
    calls: () => callsOf(budget),
  };
}
