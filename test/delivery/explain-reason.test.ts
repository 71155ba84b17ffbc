import { describe, expect, it } from "vitest";
import { channelTypes, reasonCodes } from "../../src/core/delivery.ts";
import { explainFallback, explainOutcome, explainReason } from "../../src/delivery/plan/explain-reason.ts";
import { mailTo, telegramTo } from "./engine-fixture.ts";
import { lost, refused } from "./outcomes.ts";

const spam = {
  kind: "rejected",
  scope: "recipient",
  reason: "recipient_refused",
  detail: "The mail server refuses the recipient: 550 5.7.1 spam.",
} as const;

describe("reasons in messages to people", () => {
  it("are plain words for every code and channel, without a code of the network", () => {
    for (const reason of reasonCodes) {
      for (const channel of channelTypes) {
        expect(explainReason(reason, channel)).toMatch(/^[A-Za-z][A-Za-z ,']+$/);
        expect(explainReason(reason, channel)).not.toMatch(/\bE[A-Z]{4,}|_/);
      }
    }
  });

  it("leave out how a connection broke", () => {
    const broken = { ...refused, detail: "connect ECONNREFUSED 10.0.0.9:25" };
    expect(explainOutcome(broken, "email")).toBe("the mail server could not be reached");
    expect(explainFallback({ ...lost, detail: "(ECONNRESET)" }, telegramTo("desk"), "-1004")).toBe(
      "desk did not get it: Telegram did not answer",
    );
  });

  it("quote what the other side said when it refused, shortened", () => {
    const mail = mailTo("risk-mail", ["treasury@desk.example"]);
    expect(explainFallback(spam, mail, "treasury@desk.example")).toBe(
      "treasury@desk.example refused it (550 5.7.1 spam)",
    );
    expect(explainOutcome({ ...spam, detail: "x".repeat(500) }, "email")).toMatch(/\(x{119}…\)$/);
  });
});
