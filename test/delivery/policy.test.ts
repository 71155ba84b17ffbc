import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { ClaimedDelivery, NextStep } from "../../src/core/delivery-job.ts";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { type DeliveryHistory, decideNext, historyOf, waitAfter } from "../../src/delivery/plan/policy.ts";
import { claimedDelivery, now } from "./due-delivery.ts";
import { telegramTo } from "./engine-fixture.ts";
import { flood, hour, lost, minute, refused, second } from "./outcomes.ts";

const settings = { ...defaultDeliverySettings(), jitter: 0 };

const fresh: DeliveryHistory = {
  channel: "telegram",
  onAmbiguous: "retry",
  since: now,
  attempts: 0,
  ambiguous: 0,
  form: "rich",
  moves: 0,
  inDigest: false,
  manual: false,
};

const sent: Outcome = { kind: "sent", ref: "1" };
const flooded = flood(90_500);
const moved: Outcome = { kind: "retry", reason: "address_moved", detail: "moved", movedTo: "-1007" };
const rejected = (scope: "message" | "recipient" | "destination" | "account"): Outcome => ({
  kind: "rejected",
  scope,
  reason: "message_refused",
  detail: "refused",
});

const waits = (dueInMs: number, more: Partial<NextStep> = {}) => ({
  state: "waiting",
  dueAt: now + dueInMs,
  ...more,
});
const ends = (state: "failed" | "held", reason: RegExp) => ({
  state,
  reason: expect.stringMatching(reason),
});

const gaveUp = (after: RegExp) => ends("failed", new RegExp(`^gave up after ${after.source}: nobody listens`));

const table: [string, Outcome, Partial<DeliveryHistory>, object][] = [
  ["sent", sent, {}, { state: "sent", reason: "" }],
  ["sent with a note", { kind: "sent", note: "topic gone" }, {}, { state: "sent", reason: "topic gone" }],
  ["sent in a digest", sent, { inDigest: true }, { state: "digested" }],

  ["refused once", refused, {}, waits(1 * second)],
  ["refused twice", refused, { attempts: 1 }, waits(5 * second)],
  ["refused eight times", refused, { attempts: 7 }, waits(10 * minute)],
  ["refused beyond the steps", refused, { attempts: 40 }, waits(15 * minute)],
  ["refused with a wait longer than the step", { ...refused, waitMs: 7 * minute }, {}, waits(7 * minute)],
  ["refused with a wait shorter than the step", { ...refused, waitMs: 10 }, {}, waits(1 * second)],
  [
    "refused, the next try within the lifetime",
    refused,
    { attempts: 20, since: now - 23.7 * hour },
    waits(15 * minute),
  ],
  ["refused, the next try beyond it", refused, { attempts: 20, since: now - 23.9 * hour }, gaveUp(/24 h/)],
  ["a webhook refused once", refused, { channel: "webhook" }, waits(5 * second)],
  ["a webhook refused nine times", refused, { channel: "webhook", attempts: 8 }, waits(24 * hour)],
  ["a webhook refused when its steps are used up", refused, { channel: "webhook", attempts: 9 }, gaveUp(/10 tries/)],

  ["asked to wait, to the millisecond", flooded, { attempts: 5 }, waits(90_500)],
  ["asked to wait without a time", { ...flooded, waitMs: undefined }, {}, waits(5 * second)],
  ["asked to wait beyond the lifetime", { ...flooded, waitMs: 25 * hour }, {}, ends("failed", /gave up after 24 h/)],

  ["moved", moved, {}, waits(0)],
  ["moved for the third time", moved, { moves: 2 }, waits(0)],
  ["moved for the fourth time", moved, { moves: 3 }, ends("failed", /circle/)],

  ["a refused rendering", rejected("message"), {}, waits(0, { form: "plain" })],
  ["a refused plain text", rejected("message"), { form: "plain" }, ends("failed", /^refused$/)],
  ["a refused recipient", rejected("recipient"), {}, ends("failed", /^refused$/)],
  ["a refused destination", rejected("destination"), {}, waits(0)],
  ["a refused destination, of a manual resend", rejected("destination"), { manual: true }, ends("failed", /^refused$/)],
  ["a refused account", rejected("account"), {}, waits(0)],
  ["a refused account, of a manual resend", rejected("account"), { manual: true }, ends("failed", /^refused$/)],

  ["no answer", lost, {}, waits(30 * second)],
  ["no answer, with a longer wait asked for", { ...lost, waitMs: 2 * minute }, {}, waits(2 * minute)],
  ["no answer a second time", lost, { ambiguous: 1 }, waits(30 * second)],
  ["no answer a third time", lost, { ambiguous: 2 }, ends("held", /3 tries ended without an answer/)],
  ["no answer, to be held", lost, { onAmbiguous: "hold" }, ends("held", /may or may not have arrived/)],
  ["no answer from a mail server", lost, { channel: "email" }, waits(5 * minute)],
  ["no answer from a mail server again", lost, { channel: "email", ambiguous: 1 }, ends("held", /2 tries/)],
];

describe("the policy of repeats", () => {
  it.each(table)("%s", (_name, outcome, changes, expected) => {
    const next = decideNext(outcome, { ...fresh, ...changes }, settings, now, () => 0.5);
    expect(next).toMatchObject(expected);
  });

  it("never asks for a try before the wait that the other side asked for, whatever the jitter", () => {
    for (const random of [0, 0.5, 0.999]) {
      const asked = { ...refused, waitMs: 60_000 };
      const next = decideNext(asked, { ...fresh, attempts: 4 }, { ...settings, jitter: 0.2 }, now, () => random);
      expect(next).toMatchObject({ state: "waiting" });
      if (next.state === "waiting") expect(next.dueAt).toBeGreaterThanOrEqual(now + 60_000);
    }
  });
});

const { schedule } = settings;
const middle = () => 0.5;

describe("the schedule", () => {
  it("is the one of the documentation", () => {
    const waits = Array.from({ length: 11 }, (_, index) => waitAfter(index + 1, schedule, 0.2, middle));
    expect(waits.map((ms) => (ms ?? 0) / 1000)).toEqual([1, 5, 15, 30, 60, 120, 300, 600, 900, 900, 900]);
  });

  it("stays within the jitter, and never gets shorter with more failures when that is taken out", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (failures, jitter, random) => {
          const base = waitAfter(failures, schedule, 0, middle) ?? 0;
          const wait = waitAfter(failures, schedule, jitter, () => random) ?? 0;
          expect(wait).toBeGreaterThanOrEqual(Math.floor(base * (1 - jitter)));
          expect(wait).toBeLessThanOrEqual(Math.ceil(base * (1 + jitter)));
          expect(waitAfter(failures + 1, schedule, 0, middle)).toBeGreaterThanOrEqual(base);
        },
      ),
    );
  });
});

const chat = telegramTo("chat");
const old = claimedDelivery(1, {
  createdAt: now - 23.9 * hour,
  attempts: 40,
  form: "plain",
  state: "waiting",
});
const young = claimedDelivery(2);

const historyOfAll = (...deliveries: [ClaimedDelivery, ...ClaimedDelivery[]]) =>
  historyOf({ deliveries, digest: "d" }, chat, { refs: [] });

describe("alerts that are sent together", () => {
  it("do not give up with the oldest of them, nor with the one that was tried most", () => {
    const history = historyOfAll(young, old);
    const next = decideNext(refused, history, settings, now, () => 0.5);
    expect(next).toMatchObject({ state: "waiting", dueAt: now + 1_000 });
  });

  it("are given up so long after the end of what held them, not after they came", () => {
    const held = claimedDelivery(4, { createdAt: now - 30 * hour, state: "held", dueAt: now - hour });
    const triedSince = claimedDelivery(5, { createdAt: now - 30 * hour, state: "waiting", heldUntil: now - hour });
    for (const delivery of [held, triedSince]) {
      const next = decideNext(refused, historyOfAll(delivery), settings, now, () => 0.5);
      expect(next).toMatchObject({ state: "waiting" });
    }
  });

  it("are in a digest, and so is what another message counts, but not what its own message lists", () => {
    const inDigest = (extras?: ClaimedDelivery["extras"]) =>
      historyOf({ deliveries: [claimedDelivery(6, { updates: "count", extras })] }, chat, { refs: [] }).inDigest;
    expect([historyOfAll(young).inDigest, inDigest(), inDigest({ with: { count: 1, titles: ["Pool"] } })]).toEqual([
      ...[true, true, false],
    ]);
  });

  it("are refused as they were sent: rich, unless all of them had been refused before", () => {
    expect(historyOfAll(young, old).form).toBe("rich");
    expect(historyOfAll(old).form).toBe("plain");
  });

  it("are repeated no more often than the one that was repeated most", () => {
    const repeated = claimedDelivery(3, { ambiguous: 2 });
    expect(historyOfAll(young, repeated).ambiguous).toBe(2);
  });
});
