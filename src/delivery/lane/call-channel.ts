import type { Clock } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { Log } from "../../core/log.ts";
import { createTimeoutError } from "../../ground/net/time-limit.ts";

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
  const settled = new AbortController();
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
  const deadline = clock
    .sleep(options.timeoutMs, AbortSignal.any([settled.signal, giveUp.signal]))
    .then(() => {
      if (!settled.signal.aborted) giveUp.abort(createTimeoutError());
      return clock.sleep(graceMs, settled.signal);
    })
    .then(
      (): Outcome =>
        options.stop.aborted
          ? {
              kind: "ambiguous",
              reason: "process_stopped",
              detail: `${options.stop.reason.message} during the call`,
            }
          : {
              kind: "ambiguous",
              reason: "no_answer",
              detail: `no answer within ${Math.round(options.timeoutMs / 1000)} s`,
            },
    );
  try {
    return await Promise.race([answer, deadline]);
  } finally {
    settled.abort();
    options.stop.removeEventListener("abort", onStop);
  }
}
