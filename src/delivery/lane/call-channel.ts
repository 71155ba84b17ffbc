import type { Clock } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { Log } from "../../core/log.ts";
import { createTimeoutError } from "../../ground/net/time-limit.ts";

/** Calls to one destination. Each surely ends, so whoever waits for one hangs no longer than it takes. */
export interface Calls {
  make(
    call: (signal: AbortSignal) => Promise<Outcome>,
    options: { timeoutMs: number; stop: AbortSignal },
  ): Promise<Outcome>;
  underWay(): number;
  /** Undefined: none has ended yet. */
  lastEndedAt(): number | undefined;
}

export function createCalls(deps: { clock: Clock; log: Log }): Calls {
  let underWay = 0;
  let lastEndedAt: number | undefined;
  return {
    async make(call, options) {
      underWay += 1;
      try {
        return await callChannel(call, options, deps);
      } finally {
        underWay -= 1;
        lastEndedAt = deps.clock.now();
      }
    },
    underWay: () => underWay,
    lastEndedAt: () => lastEndedAt,
  };
}

/** A reason that is made once: each of `abort()` without one is an exception with a stack. */
const over = new Error("the call is over");

/** How long a channel may take to give up after it was asked to. */
const graceMs = 5_000;

/**
 * One call to a channel that surely ends: after `timeoutMs`, or when `stop` is aborted with an error that says why, the
 * channel is asked to give up and says what it knows; a channel that does not even do that, or that throws, leaves it
 * open whether the message left.
 */
export async function callChannel(
  call: (signal: AbortSignal) => Promise<Outcome>,
  options: { timeoutMs: number; stop: AbortSignal },
  deps: { clock: Clock; log: Log },
): Promise<Outcome> {
  const { clock, log } = deps;
  const giveUp = new AbortController();
  let grace: AbortController | undefined;
  let isSettled = false;
  const onStop = () => giveUp.abort(options.stop.reason);
  options.stop.addEventListener("abort", onStop, { once: true });
  if (options.stop.aborted) onStop();

  // In an async function, so that a call that throws before it returns a promise is caught as well.
  const answer = (async () => call(giveUp.signal))().catch((error: unknown): Outcome => {
    log.error("channel.threw", { error: error instanceof Error ? error.name : typeof error });
    return {
      kind: "ambiguous",
      reason: "internal",
      detail: "the channel failed in a way that it does not know",
    };
  });
  async function giveUpInTime(): Promise<Outcome> {
    await clock.sleep(options.timeoutMs, giveUp.signal);
    if (!isSettled) {
      giveUp.abort(createTimeoutError());
      grace = new AbortController();
      await clock.sleep(graceMs, grace.signal);
    }
    if (options.stop.aborted) {
      const detail = `${options.stop.reason.message} during the call`;
      return { kind: "ambiguous", reason: "process_stopped", detail };
    }
    const detail = `no answer within ${Math.round(options.timeoutMs / 1000)} s`;
    return { kind: "ambiguous", reason: "no_answer", detail };
  }

  try {
    return await Promise.race([answer, giveUpInTime()]);
  } finally {
    isSettled = true;
    // Also ends the wait for the time-out: a controller more for each call costs as much as the rest of this function.
    giveUp.abort(over);
    grace?.abort(over);
    options.stop.removeEventListener("abort", onStop);
  }
}
