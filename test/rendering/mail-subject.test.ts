import { describe, expect, it } from "vitest";
import type { MessageContext } from "../../src/core/message-context.ts";
import { createRendering } from "../support/rendering.ts";
import { makeAlert, makeContext } from "./sample.ts";

const rendering = createRendering();

function subjectOf(facts: object, context: Partial<MessageContext> = {}): string {
  const document = rendering.composeAlert(makeAlert({ facts }), makeContext(context));
  const [mail] = rendering.renderDocument("email", document, { form: "rich", timeZone: "UTC" });
  return mail?.kind === "email" ? mail.subject : "";
}

/** What remains of a subject when mail programs compare it (RFC 5256, 2.1): no bracketed words before the rest. */
function baseOf(subject: string): string {
  return subject.replace(/^(\[[^[\]]*\]\s*)+(?=.)/, "");
}

describe("subjects of mails about one alert", () => {
  const facts = { title: "USDC total TVL" };

  it("have one base, whatever has become of the alert, so that they stand in one conversation", () => {
    const subjects = [
      subjectOf({ ...facts, severity: "critical" }),
      subjectOf({ ...facts, severity: "warning" }),
      subjectOf({ ...facts, severity: "info" }),
      subjectOf({ ...facts, status: "resolved" }),
      subjectOf({ ...facts, severity: "critical" }, { possibleRepeat: true }),
      subjectOf(facts, { purpose: "test" }),
    ];
    expect(new Set(subjects).size).toBe(6);
    expect(new Set(subjects.map(baseOf))).toEqual(new Set(["USDC total TVL"]));
  });

  it("say the state first, for the locked phone", () => {
    expect(subjectOf({ ...facts, status: "resolved" })).toBe("[Over] USDC total TVL");
  });

  it("do not say twice what the title says", () => {
    expect(subjectOf({ title: "Critical: TVL", severity: "critical" })).toBe("Critical: TVL");
    expect(subjectOf({ title: "Critical: TVL", status: "resolved" })).toBe("[Over] Critical: TVL");
  });
});
