import { describe, expect, it } from "vitest";
import { classify } from "../../src/vendors/email/classify.ts";
import { parseReply, readBreakdown } from "../../src/vendors/email/transcript.ts";
import { sayOutcome } from "../support/say-outcome.ts";

describe("a reply of a mail server", () => {
  it.each([
    [550, "550-5.1.1 no such\n550 5.1.1 user", { code: 550, enhanced: "5.1.1", text: "no such user" }],
    [421, "421 busy", { code: 421, text: "busy" }],
    [554, "554", { code: 554, text: "" }],
    [550, "550 192.168.1.1 is listed", { code: 550, text: "192.168.1.1 is listed" }],
  ])("is read with its enhanced code, over several lines, or without either: %i %j", (code, text, reply) => {
    expect(parseReply(code, text)).toEqual(reply);
  });

  it("is cut to what a page can show, with nothing unprintable", () => {
    const { text } = parseReply(550, `550 \u001b[31m${"🚨".repeat(200)}\u2028x`);
    expect(text.length).toBeLessThanOrEqual(180);
    expect(text).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}]/u);
  });
});

it.each([
  [{ code: "EDNS" }, "connect", "retry dns_failed -"],
  [{ code: "ESOCKET", originalCode: "EHOSTUNREACH" }, "connect", "retry connect_failed -"],
  [{ code: "ESOCKET", originalCode: "CERT_HAS_EXPIRED" }, "connect", "retry tls_failed -"],
  [{ code: "ETIMEDOUT" }, "hello", "retry timeout_before_send -"],
  [{ code: "ESOCKET", originalCode: "ECONNRESET" }, "data", "retry connection_lost -"],
  [{ code: "ESOCKET", originalCode: "ECONNRESET" }, "content", "ambiguous connection_lost"],
  [{ code: "ESOCKET", originalCode: "ERR_SSL_BAD_RECORD" }, "content", "ambiguous connection_lost"],
  [{ code: "EMESSAGE", command: "MAIL FROM" }, "mail", "rejected message too_long"],
  [{ code: "EPROTOCOL" }, "content", "ambiguous bad_answer"],
] as const)("an error without a reply is judged by how far the mail came: %j at %s", (fields, stage, outcome) => {
  const error = Object.assign(new Error("x"), fields);
  expect(
    sayOutcome(
      classify(
        readBreakdown(error, stage, (text) => text),
        false,
      ),
    ),
  ).toBe(outcome);
});

const stages = ["connect", "greeting", "hello", "starttls", "auth", "mail", "rcpt", "data", "content"] as const;

it.each(stages)("no outcome has a detail of more than 300 characters: at %s", (stage) => {
  const text = "x".repeat(180);
  const replies = [421, 450, 500, 503, 535, 550, 552, 554].map((code) => ({ code, enhanced: "5.7.1", text }));
  for (const reply of replies) {
    const outcome = classify({ stage, cause: { kind: "reply", reply } }, true);
    expect("detail" in outcome && outcome.detail.length).toBeLessThanOrEqual(300);
    expect(outcome.kind).not.toBe("ambiguous");
  }
  for (const cause of [{ kind: "bad_reply", text }, { kind: "tls", text }, { kind: "lost" }] as const) {
    const outcome = classify({ stage, cause }, true);
    expect("detail" in outcome && outcome.detail.length).toBeLessThanOrEqual(300);
    expect(outcome.kind).toBe(stage === "content" ? "ambiguous" : "retry");
  }
});
