import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { Destination } from "../../src/core/rules.ts";
import { createFloodWatch } from "../../src/delivery/memory/flood-watch.ts";
import { createPacer } from "../../src/delivery/memory/pacing.ts";
import { parkAfter } from "../../src/delivery/memory/park-after.ts";
import { mailTo, ntfyTo, telegramTo } from "./engine-fixture.ts";
import { flood, lost, refused } from "./outcomes.ts";

const chat = telegramTo("chat");
const hook = ntfyTo("hook");
const mail = mailTo("mail", ["a@x.io"]);
const account = "account:email:alerts@mail.example.com:465";

/** What is silent afterwards, and until when. */
function parked(outcome: Outcome, destination: Destination, recipient = "-1"): Record<string, number> {
  const deps = { destination, pacer: createPacer([]), floods: createFloodWatch() };
  const records = parkAfter(outcome, recipient, 1_000, deps);
  return Object.fromEntries(records.map(({ key, parkedUntil }) => [key, parkedUntil]));
}

describe("who waits after an answer", () => {
  it.each<[string, Outcome, Destination, Record<string, number>]>([
    ["nobody after a message that arrived", { kind: "sent" }, chat, {}],
    ["nobody after a plain failure", refused, chat, {}],
    ["nobody when the chat has moved", { ...refused, movedTo: "-1007", waitMs: 5 }, chat, {}],
    ["the chat that is asked to wait", flood(500), chat, { "telegram:7:-1": 1_500 }],
    ["the receiver that is busy, with Retry-After", { ...refused, waitMs: 500 }, hook, { "hook:-1": 1_500 }],
    ["the receiver that broke off with Retry-After", { ...lost, waitMs: 500 }, hook, { "hook:-1": 1_500 }],
    ["nobody after a mail server's silence", { ...lost, waitMs: 300_000 }, mail, {}],
    [
      "the whole account when it is asked",
      flood(500, "account"),
      mail,
      { "mail:-1": 1_500, [account]: 1_500 },
    ],
  ])("%s", (_name, outcome, destination, expected) => {
    expect(parked(outcome, destination)).toEqual(expected);
  });

  it("is the whole bot when a second chat of it is asked at the same time", () => {
    const deps = { destination: chat, pacer: createPacer([]), floods: createFloodWatch() };
    parkAfter(flood(500), "-1", 1_000, deps);
    const keys = parkAfter(flood(700), "-2", 2_000, deps).map(({ key }) => key);
    expect(keys).toEqual(["telegram:7:-2", "account:telegram:7"]);
  });
});
