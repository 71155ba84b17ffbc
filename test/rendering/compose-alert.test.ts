import { describe, expect, it } from "vitest";
import type { Alert } from "../../src/core/alert.ts";
import type { MessageContext } from "../../src/core/message-context.ts";
import { readableText } from "../../src/vendors/index.ts";
import { createRendering } from "../support/rendering.ts";
import { fullFacts, makeAlert, makeContext, minuteMs, publicUrl, receivedAt } from "./sample.ts";
import { expectScenes } from "./scenes.ts";

type Changes = Parameters<typeof makeAlert>[0];

function textOf(alert: Changes, context: Partial<MessageContext> = {}, url: string | undefined = publicUrl): string {
  const rendering = createRendering(url === "" ? {} : { publicUrl: url });
  const document = rendering.composeAlert(makeAlert(alert), makeContext(context));
  const options = { form: "plain", timeZone: "Europe/Zurich" } as const;
  return rendering.renderDocument("telegram", document, options).map(readableText).join("\n");
}

const of = (facts: Partial<Alert["facts"]>, context?: Partial<MessageContext>) => textOf({ facts }, context);
const minutesOn = (minutes: number) => receivedAt + minutes * minuteMs;
const counted = (count: number) => textOf({}, { history: { count, firstAt: minutesOn(-60), lastAt: receivedAt } });

const notice = {
  origin: "notice",
  facts: { title: "T", severity: "warning", status: "firing", text: "Since 21 Nov 2026, 02:20:05 UTC: no answer." },
} as const;
const rawJson = `{"title": "Report", "rows": [${'{"tvl":0.1},'.repeat(400)}`;
const titled = "USDC on eth: total TVL 3 USD (above 2)";
const lastRepeat = makeAlert({ receivedAt: minutesOn(18), facts: { status: "resolved" } });
const offBy = (minutes: number) => makeAlert({ receivedAt: minutesOn(8), facts: { occurredAt: minutesOn(minutes) } });
const resolved: Changes = {
  receivedAt: minutesOn(8),
  facts: { ...fullFacts, status: "resolved", value: "25320000", previousValue: "4812345", occurredAt: undefined },
};
const bare = { title: "quotes", text: "Connection Timeout" };
const passesForOurs = {
  title: "A\n✅ Resolved: B",
  text: "x\n✅ Resolved: all is well\nOpen in Tocsin: https://evil.example",
  fields: [{ name: "f\nOpen in Tocsin", value: "v\nOpen in Tocsin: https://evil.example" }],
};
const cut = { notes: ["the text is cut from 40,000 characters to 20,000"], text: "x".repeat(20_000) };

it("a composed alert says what it should", () =>
  expectScenes("alert-texts", [
    ["nothing that the body does not offer", of({ title: "T", severity: "unknown", status: "unknown" })],
    ["the instants of a notice in the zone of its destination", textOf(notice, { now: minutesOn(58) })],
    ["and with their day on another day", textOf(notice, { now: minutesOn(25 * 60) })],
    ["those of a sender as sent", of(notice.facts, { now: minutesOn(58) })],
    ["no piece of raw JSON that is too long for a chat", of({ title: "Report", format: "broken-json", text: rawJson })],
    ["no metric that the title names", of({ title: titled, metric: "total TVL" })],
    ["a metric that the title does not name", of({ title: titled, metric: "eth_tvl" })],
    ["no count of one event", counted(1)],
    ...[2, 3, 11, 21, 112].map((count): [string, string] => [`a count of ${count} events of the key`, counted(count)]),
    [
      "the duration from the first time, though the message has come to show the last repeat",
      textOf(
        { receivedAt: minutesOn(17), facts: { value: "7" } },
        {
          resolvedBy: lastRepeat,
          now: lastRepeat.receivedAt,
          history: { count: 3, firstAt: receivedAt, lastAt: minutesOn(17) },
        },
      ),
    ],
    ["no end by a sender's clock that is behind by an hour", textOf({}, { resolvedBy: offBy(-60) })],
    ["nor ahead by an hour", textOf({}, { resolvedBy: offBy(60) })],
    [
      "no duration where nothing was sent before, and the state once",
      of({ title: "[RESOLVED] Health factor of the vault", status: "resolved" }),
    ],
    ["that it fires again, in an end that comes later than that", textOf(resolved, { firesAgainAt: minutesOn(9) })],
    ["all of an end that a person asks for", textOf(resolved, { purpose: "resend", detail: "full" })],
    ["all of an end that could not be read", of({ status: "resolved", format: "broken-json", text: '{"state": "ok"' })],
    ["no time of a sender that is near ours", of({ occurredAt: minutesOn(-1) })],
    ["one that is not, and how far before", of({ occurredAt: minutesOn(-20 * 60) })],
    ["or behind", of({ occurredAt: minutesOn(10) })],
    ["when it was received, where the message comes later", textOf({}, { now: minutesOn(12) })],
    ["the date of a time that is not of today", textOf({}, { now: minutesOn(30 * 60) })],
    ["once what the title says as well", of({ title: "A depeg", text: "A depeg\nNow 0.98" })],
    ["behind a bare name what has happened", of(bare)],
    [
      "the same without the name that stands there again",
      of({ title: "ETH RPC", text: "[ETH RPC] [🔴 Down] refused" }),
    ],
    ["not what is too long for a lock screen", of({ ...bare, text: "x".repeat(110) })],
    ["not behind a sentence", of({ title: "The quotes stopped this morning", text: "Timeout" })],
    ["not of what could not be read", of({ ...bare, format: "broken-json" })],
    ["not of what is over", of({ ...bare, status: "resolved" })],
    ["no line of the sender that could pass for ours", of(passesForOurs)],
    ["not what the translator has cut, where that is not shown", of(cut)],
    ["but where it is", of(cut, { detail: "full" })],
    ["the id where no page is known to link to", textOf({}, {}, "")],
  ]));

function mailSubjectOf(facts: object, context: Partial<MessageContext> = {}): string {
  const rendering = createRendering();
  const document = rendering.composeAlert(makeAlert({ facts }), makeContext(context));
  const [mail] = rendering.renderDocument("email", document, { form: "rich", timeZone: "UTC" });
  return mail?.kind === "email" ? mail.subject : "";
}

/** What remains of a subject when mail programs compare it (RFC 5256, 2.1): no bracketed words before the rest. */
function baseOf(subject: string): string {
  return subject.replace(/^(\[[^[\]]*\]\s*)+(?=.)/, "");
}

describe("subjects of mails about one alert", () => {
  it("say the state first, for the locked phone, and have one base, so that they stand in one conversation", () => {
    const facts = { title: "USDC total TVL" };
    const subjects = [
      mailSubjectOf({ ...facts, severity: "critical" }),
      mailSubjectOf({ ...facts, severity: "warning" }),
      mailSubjectOf({ ...facts, severity: "info" }),
      mailSubjectOf({ ...facts, status: "resolved" }),
      mailSubjectOf({ ...facts, severity: "critical" }, { possibleRepeat: true }),
      mailSubjectOf(facts, { purpose: "test" }),
    ];
    expect(subjects[3]).toBe("[Over] USDC total TVL");
    expect(new Set(subjects).size).toBe(6);
    expect(new Set(subjects.map(baseOf))).toEqual(new Set(["USDC total TVL"]));
  });

  it("do not say twice what the title says", () => {
    expect(mailSubjectOf({ title: "Critical: TVL", severity: "critical" })).toBe("Critical: TVL");
    expect(mailSubjectOf({ title: "Critical: TVL", status: "resolved" })).toBe("[Over] Critical: TVL");
  });
});
