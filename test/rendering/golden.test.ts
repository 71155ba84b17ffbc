import { describe, expect, it } from "vitest";
import type { Alert, AlertFacts } from "../../src/core/alert.ts";
import type { Document } from "../../src/core/message.ts";
import type { TelegramEntity } from "../../src/vendors/telegram/render.ts";
import type { KnownMessage as Message } from "../support/known-vendors.ts";
import { createRendering } from "../support/rendering.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { dataOf, fullFacts, makeAlert, makeContext, minuteMs, publicUrl, receivedAt, usdc } from "./sample.ts";

const rendering = createRendering({ publicUrl });
const timeZone = "Europe/Zurich";

/** The formatting, made visible: bold as `**…**`, and so on. Good enough for eyes; not for machines. */
function showTelegram(message: Message): string {
  if (message.kind !== "telegram") throw new Error(`not a Telegram message: ${message.kind}`);
  const marks: { at: number; mark: string; order: number }[] = [];
  for (const entity of message.entities) {
    const [open, close] = marksOf(entity);
    marks.push({ at: entity.offset, mark: open, order: -entity.offset });
    marks.push({ at: entity.offset + entity.length, mark: close, order: -entity.offset - 1e6 });
  }
  marks.sort((one, other) => other.at - one.at || other.order - one.order);
  return marks.reduce((text, { at, mark }) => text.slice(0, at) + mark + text.slice(at), message.text);
}

function marksOf(entity: TelegramEntity): [string, string] {
  switch (entity.type) {
    case "bold":
      return ["**", "**"];
    case "italic":
      return ["_", "_"];
    case "code":
      return ["`", "`"];
    case "pre":
      return ["```", "```"];
    case "blockquote":
      return ["❝", "❞"];
    case "text_link":
      return ["[", `](${entity.url})`];
    case "date_time":
      return ["⟦", `|${entity.date_time_format}⟧`];
  }
}

function showAll(document: Document): string {
  const telegram = rendering.renderDocument("telegram", document, { form: "rich", timeZone });
  const [email] = rendering.renderDocument("email", document, { form: "rich", timeZone });
  if (email?.kind !== "email") throw new Error("no mail");
  return [
    ...telegram.map((part, index) => `=== Telegram ${index + 1} of ${telegram.length}\n${showTelegram(part)}`),
    `=== Mail: ${email.subject}\n${email.text}`,
  ].join("\n\n");
}

async function expectGolden(name: string, document: Document): Promise<void> {
  await expect(`${showAll(document)}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
}

function tell(facts: Partial<AlertFacts>, context: Parameters<typeof makeContext>[0] = {}, alert: Partial<Alert> = {}) {
  return rendering.composeAlert(makeAlert({ ...alert, facts }), makeContext(context));
}

/** What goes to a vendor that is given facts with the text. */
function showEvent(alert: Alert): string {
  const data = dataOf([alert], { deliveryId: alert.id });
  const document = rendering.composeAlert(alert, makeContext());
  const [message] = rendering.renderDocument("pagerduty", document, { form: "rich", timeZone, data });
  if (message?.kind !== "pagerduty") throw new Error("no event");
  return JSON.stringify(message.event, null, 2);
}

describe("golden messages", () => {
  it("raises, acknowledges and resolves an incident at PagerDuty", async () => {
    const acknowledged = [{ name: "status", value: "acknowledged" }];
    const events = [{}, { fields: acknowledged }, { status: "resolved" as const, text: "Back above." }].map((changes) =>
      showEvent(makeAlert({ facts: { ...fullFacts, ...changes } })),
    );
    await expect(`${events.join("\n\n")}\n`).toMatchFileSnapshot("golden/pagerduty.txt");
  });

  const notice = {
    title: "ops-chat cannot be reached",
    severity: "warning",
    status: "firing",
    text: "Telegram says: bot was kicked from the group chat.\nAdd the bot to the group again; what waits is sent then.",
  } as const;
  const least = { title: "Alert (empty body)", severity: "unknown", status: "unknown", format: "empty" } as const;
  const brokenJson = '{"alert": "USDC depeg", "price": 0.981,';
  const history = { count: 3, firstAt: receivedAt - 60 * minuteMs, lastAt: receivedAt };
  const late = { byMs: 12 * minuteMs, why: "Telegram asked us to wait" };

  it.each<[string, string, Document]>([
    ["a full alert", "full", tell(fullFacts)],
    ["it shortly", "full-short", tell(fullFacts, { detail: "short" })],
    ["it with all that was read", "full-full", tell(fullFacts, { detail: "full" })],
    ["the least that a body can offer", "least", tell(least)],
    [
      "a possible repeat that is late and recurring",
      "repeat-late",
      tell(fullFacts, { possibleRepeat: true, now: receivedAt + 12 * minuteMs, late, history }),
    ],
    ["a fallback", "fallback", tell(fullFacts, { purpose: "fallback", insteadOf: "ops-chat" })],
    ["a resend by hand", "resend", tell({ title: "[CRITICAL] Bridge paused" }, { purpose: "resend" })],
    ["a test", "test", tell({ title: "Test alert", severity: "info" }, { purpose: "test" }, { origin: "test" })],
    ["a notice of the relay itself", "notice", tell(notice, { purpose: "notice" }, { origin: "notice" })],
    [
      "broken JSON as it came",
      "broken-json",
      tell({
        ...least,
        title: brokenJson,
        format: "broken-json",
        text: `${brokenJson}\n "chain": "eth"`,
        notes: ["broken JSON at line 2: the object does not end; shown as it came"],
      }),
    ],
    [
      "long addresses whole",
      "addresses",
      tell({
        title: `Pool ${usdc} lost 40 % of its liquidity`,
        severity: "warning",
        token: usdc,
        chain: "arbitrum",
        value: "123456789012345678901234567890123456789",
        unit: "wei",
        fields: [
          { name: "pool", value: "7qbRF6YsyGuLUVs6Y1q64bdVrfe4ZcUUz1JRdoVNUJnm" },
          { name: "tx", value: "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060" },
        ],
      }),
    ],
  ])("renders %s", async (_what, name, document) => {
    await expectGolden(name, document);
  });

  it("renders a resolution by editing the first message", async () => {
    const resolvedBy = makeAlert({
      seq: 2,
      receivedAt: receivedAt + 18 * minuteMs,
      facts: { ...fullFacts, status: "resolved", value: "5012000", occurredAt: undefined },
    });
    const now = resolvedBy.receivedAt;
    const history = { count: 2, firstAt: receivedAt, lastAt: now };
    await expectGolden("resolved-edit", tell(fullFacts, { resolvedBy, now, history }));
  });

  it("renders a resolution as an answer, and where there is nothing to answer", async () => {
    const values = { value: "5012000", previousValue: "4812345.67" };
    const facts = { ...fullFacts, ...values, status: "resolved", text: "Back above the limit." } as const;
    const history = { count: 2, firstAt: receivedAt - 18 * minuteMs, lastAt: receivedAt };
    await expectGolden("resolved-answer", tell(facts, { history, isAnswer: true }));
    await expectGolden("resolved-alone", tell(facts, { history }));
  });

  it("renders what came during quiet hours", async () => {
    const facts = { alertKey: "a", title: "USDC total TVL below 5,000,000" };
    const alerts = [
      makeAlert({ seq: 1, facts }),
      makeAlert({
        seq: 2,
        receivedAt: receivedAt + 8 * minuteMs,
        facts: { ...facts, status: "resolved", value: "5012000", unit: "USD" },
      }),
      makeAlert({
        seq: 3,
        receivedAt: receivedAt + 60 * minuteMs,
        facts: { title: "WETH price below 3,000", alertKey: "b", severity: "warning", value: "2998.4" },
      }),
    ];
    const quietHours = { from: "22:00", to: "07:00" };
    const context = {
      now: receivedAt + 238 * minuteMs,
      reason: "quiet_hours",
      quietHours,
      possibleRepeat: false,
    } as const;
    await expectGolden("digest-quiet", rendering.composeDigest(alerts.toReversed(), context));
  });

  it("renders hostile text as text", async () => {
    await expectGolden(
      "hostile",
      tell({
        title: "\u202Egnp.exe \u2066<script>alert(1)</script>\u0000 @everyone <!channel>\r\n✅ Resolved: all is well",
        severity: "critical",
        value: "1\n✅ Resolved",
        unit: "שקל",
        text: "*bold* _under_ `code` [link](javascript:alert(1)) <b>html</b> &amp; https://example.com/a?b=1&c=2\n\u001b[31mred\u001b[0m Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u0310\u0311algo \ud800 end",
        link: "javascript:alert(1)",
        source: "Fake\nOpen in Tocsin",
        fields: [
          { name: "a\nb", value: "first\r\nsecond\u2028third" },
          { name: "עברית", value: "שלום עולם 123" },
          { name: "", value: "nameless" },
        ],
      }),
    );
  });

  it("cuts a text of 1 MiB and says so", async () => {
    const text = Array.from(
      { length: 16_384 },
      (_, line) =>
        `${String(line).padStart(6, "0")} ${"lorem ipsum dolor sit amet, consectetur adipiscing elit".slice(0, 56)}`,
    ).join("\n");
    const facts = { ...fullFacts, text: text.slice(0, 1_048_576) };
    await expectGolden("one-mebibyte-normal", tell(facts));
    const document = tell(facts, { detail: "full" });
    const parts = rendering.renderDocument("telegram", document, { form: "rich", timeZone });
    expect(parts).toHaveLength(8);
    const first = parts[0];
    const last = parts.at(-1);
    if (first === undefined || last === undefined) throw new Error("no parts");
    const ends = `${showTelegram(first).slice(0, 900)}\n…\n${showTelegram(last).slice(-900)}\n`;
    await expect(ends).toMatchFileSnapshot("golden/one-mebibyte.txt");
  });

  it("renders a thousand alerts in one digest, and a backlog after an outage", async () => {
    const burst = { now: receivedAt + 2 * minuteMs, reason: "burst", possibleRepeat: false } as const;
    await expectGolden("digest-thousand", rendering.composeDigest(makeMany(1000).toReversed(), burst));
    const late = { byMs: 185 * minuteMs, why: "Telegram could not be reached" };
    const outage = { now: receivedAt + 185 * minuteMs, reason: "outage", possibleRepeat: true, late } as const;
    await expectGolden("digest-outage", rendering.composeDigest(makeMany(5).toReversed(), outage));
  });
});

function makeMany(number: number): Alert[] {
  const { next: random } = createSeededRandom(7);
  const tokens = ["USDC", "WETH", "ARB", "PEPE", "LINK", "UNI", "AAVE", "DAI", "WBTC", "CRV", "LDO", "OP", "MKR"];
  return Array.from({ length: number }, (_, index) => {
    const token = tokens[Math.floor(random() * tokens.length)] ?? "USDC";
    const pool = Math.floor(random() * 6);
    const severity = (["critical", "warning", "warning", "info", "info", "unknown"] as const)[Math.floor(random() * 6)];
    return makeAlert({
      id: `01939a5c-1b2d-7c3e-8f4a-${String(index).padStart(12, "0")}`,
      seq: index,
      receivedAt: receivedAt + Math.floor(index / 10) * 10,
      facts: {
        title: `${token} pool ${pool} volume is ${random() > 0.5 ? "above" : "below"} its limit`,
        severity: severity ?? "info",
        status: random() > 0.85 ? "resolved" : "firing",
        alertKey: `${token}-${pool}`,
        value: (random() * 1e6).toFixed(2),
        unit: "USD",
      },
    });
  });
}
