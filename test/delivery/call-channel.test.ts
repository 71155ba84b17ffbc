import { expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { silentLog } from "../../src/core/log.ts";
import { callChannel } from "../../src/delivery/lane/call-channel.ts";
import { createTestClock } from "../support/test-clock.ts";

const sent: Outcome = { kind: "sent", ref: "1" };
/** A channel that says what it knows once it is asked to give up. */
const obedient = (signal: AbortSignal): Promise<Outcome> =>
  new Promise((resolve) => {
    const giveUp = () => resolve({ kind: "retry", reason: "timeout_before_send", detail: signal.reason.name });
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp);
  });
const deaf = () => new Promise<Outcome>(() => {});
const throwing = (): never => {
  throw new Error("a defect");
};
const unknown = { kind: "ambiguous", reason: "internal" };
const unanswered = { kind: "ambiguous", reason: "no_answer", detail: "no answer within 30 s" };
const stopped = { kind: "ambiguous", reason: "process_stopped" };

it.each<[string, (signal: AbortSignal) => Promise<Outcome>, object, { endsMs?: number; stopsMs?: number }?]>([
  ["is what the channel says", async () => sent, sent],
  ["leaves open whether the message left when the channel throws", throwing, unknown],
  ["leaves that open when its promise rejects", async () => throwing(), unknown],
  [
    "takes the channel's word that it gives up after the time-out",
    obedient,
    { detail: "TimeoutError" },
    { endsMs: 30_000 },
  ],
  ["ends five seconds later when the channel does not even answer to that", deaf, unanswered, { endsMs: 35_000 }],
  ["takes its word when the relay is being stopped", obedient, { detail: "AbortError" }, { stopsMs: 10, endsMs: 10 }],
  ["says that it was stopped where the channel says nothing", deaf, stopped, { stopsMs: 10, endsMs: 5_010 }],
  ["is asked to give up at once when the relay has stopped before", obedient, { detail: "AbortError" }, { stopsMs: 0 }],
])("a call to a channel %s", async (_what, call, expected, { endsMs = 0, stopsMs } = {}) => {
  const clock = createTestClock();
  const stop = new AbortController();
  if (stopsMs === 0) stop.abort();
  else if (stopsMs !== undefined) clock.after(stopsMs, () => stop.abort());
  let outcome: Outcome | undefined;
  void callChannel(call, { timeoutMs: 30_000, stop: stop.signal }, { clock, log: silentLog }).then((value) => {
    outcome = value;
  });
  if (endsMs > 0) await clock.advance(endsMs - 1);
  if (endsMs > 0) expect(outcome).toBeUndefined();
  await clock.advance(Math.min(endsMs, 1));
  expect(outcome).toMatchObject(expected);
});
