import type { Clock } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { Log } from "../../core/log.ts";
import { createTimeoutError } from "../../ground/net/time-limit.ts";

/** Calls to one destination. Each ends after its time-out at the latest. */
export class Calls {
  #underWay = 0;
  #lastEndedAt: number | undefined;

  constructor(private readonly deps: { clock: Clock; log: Log }) {}

  async make(
    call: (signal: AbortSignal) => Promise<Outcome>,
    options: { timeoutMs: number; stop: AbortSignal },
  ): Promise<Outcome> {
    this.#underWay += 1;
    try {
      return await callChannel(call, options, this.deps);
    } finally {
      this.#underWay -= 1;
      this.#lastEndedAt = this.deps.clock.now();
    }
  }

  underWay(): number {
    return this.#underWay;
  }

  /** Undefined: no call has ended. */
  lastEndedAt(): number | undefined {
    return this.#lastEndedAt;
  }
}

/** How long a channel has to give up after it was asked to. */
const graceMs = 5_000;

/**
 * One call to a channel, which always ends. After `timeoutMs`, or when `stop` is aborted with an error as the reason, the channel
 * is asked to give up and to say whether the message left. If it does not answer, or throws, the outcome is ambiguous.
 */
export function callChannel(
  call: (signal: AbortSignal) => Promise<Outcome>,
  { timeoutMs, stop }: { timeoutMs: number; stop: AbortSignal },
  { clock, log }: { clock: Clock; log: Log },
): Promise<Outcome> {
  return new Promise((resolve) => {
    const giveUp = new AbortController();
    const end = (outcome: Outcome): void => {
      cancel();
      stop.removeEventListener("abort", onStop);
      resolve(outcome);
    };
    const ask = (reason: unknown): void => {
      if (giveUp.signal.aborted) return;
      cancel();
      cancel = clock.after(graceMs, () => end(unanswered(timeoutMs, stop)));
      giveUp.abort(reason);
    };
    const onStop = () => ask(stop.reason);
    let cancel = clock.after(timeoutMs, () => ask(createTimeoutError()));
    stop.addEventListener("abort", onStop, { once: true });
    if (stop.aborted) onStop();

    // An async function also catches a call that throws before it returns a promise.
    (async () => call(giveUp.signal))().then(end, (error: unknown) => {
      log.error("channel.threw", { error: error instanceof Error ? error.name : typeof error });
      const detail = "the channel failed in a way that it does not know";
      end({ kind: "ambiguous", reason: "internal", detail });
    });
  });
}

function unanswered(timeoutMs: number, stop: AbortSignal): Outcome {
  if (stop.aborted) {
    return { kind: "ambiguous", reason: "process_stopped", detail: `${stop.reason.message} during the call` };
  }
  return { kind: "ambiguous", reason: "no_answer", detail: `no answer within ${Math.round(timeoutMs / 1000)} s` };
}
