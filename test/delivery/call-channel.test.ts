import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { silentLog } from "../../src/core/log.ts";
import { callChannel } from "../../src/delivery/lane/call-channel.ts";
import { createTestClock } from "../support/test-clock.ts";

const sent: Outcome = { kind: "sent", ref: "1" };

function start(call: (signal: AbortSignal) => Promise<Outcome>) {
  const clock = createTestClock();
  const stop = new AbortController();
  const answer = callChannel(call, { timeoutMs: 30_000, stop: stop.signal }, { clock, log: silentLog });
  return { clock, stop, answer };
}

/** A channel that says what it knows once it is asked to give up. */
function obedient(signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () =>
      resolve({ kind: "retry", reason: "timeout_before_send", detail: signal.reason.name }),
    );
  });
}

describe("a call to a channel", () => {
  it("is what the channel says", async () => {
    expect(await start(async () => sent).answer).toBe(sent);
  });

  it("leaves open whether the message left when the channel throws, before or after its promise", async () => {
    const afterwards = start(async () => {
      throw new Error("a defect");
    });
    const atOnce = start(() => {
      throw new Error("a defect");
    });
    for (const { answer } of [afterwards, atOnce]) {
      expect(await answer).toMatchObject({ kind: "ambiguous", reason: "internal" });
    }
  });

  it("asks the channel to give up after the time-out, and takes its word", async () => {
    const { clock, answer } = start(obedient);
    await clock.advance(30_000);
    expect(await answer).toMatchObject({ kind: "retry", detail: "TimeoutError" });
  });

  it("ends five seconds later when the channel does not even answer to that", async () => {
    const { clock, answer } = start(() => new Promise(() => {}));
    let outcome: Outcome | undefined;
    void answer.then((value) => (outcome = value));
    await clock.advance(34_999);
    expect(outcome).toBeUndefined();
    await clock.advance(1);
    expect(outcome).toMatchObject({
      kind: "ambiguous",
      reason: "no_answer",
      detail: "no answer within 30 s",
    });
  });

  it.each([
    ["takes its word", obedient, { detail: "AbortError" }],
    [
      "says that it was stopped",
      () => new Promise<Outcome>(() => {}),
      { kind: "ambiguous", reason: "process_stopped" },
    ],
  ])("asks the channel to give up when the relay is being stopped, and %s", async (_what, call, expected) => {
    const { clock, stop, answer } = start(call);
    await clock.settle();
    stop.abort();
    await clock.advance(5_000);
    expect(await answer).toMatchObject(expected);
  });

  it("is asked to give up at once when the relay has stopped before", async () => {
    const clock = createTestClock();
    const answer = callChannel(
      async (signal) => (signal.aborted ? { ...sent, note: "given up" } : sent),
      { timeoutMs: 1, stop: AbortSignal.abort() },
      { clock, log: silentLog },
    );
    expect(await answer).toMatchObject({ note: "given up" });
  });
});
