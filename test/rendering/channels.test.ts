import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { ChannelType } from "../../src/core/delivery.ts";
import { JsonNumber } from "../../src/core/json.ts";
import type { Document, MessageData } from "../../src/core/message.ts";
import type { MessageContext } from "../../src/core/message-context.ts";
import { readableText, vendors } from "../../src/vendors/index.ts";
import type { KnownMessage as Message } from "../support/known-vendors.ts";
import { createRendering } from "../support/rendering.ts";
import { anyDocument } from "./arbitrary-document.ts";
import { fullFacts, makeAlert, makeContext, publicUrl, receivedAt } from "./sample.ts";
import { expectScenes } from "./scenes.ts";

const rendering = createRendering({ publicUrl });

function render<K extends Message["kind"]>(
  kind: K & ChannelType,
  document: Document,
  form: "rich" | "plain" = "rich",
): Extract<Message, { kind: K }> {
  const [message] = rendering.renderDocument(kind, document, { form, timeZone: "Europe/Zurich" });
  if (message?.kind !== kind) throw new Error(`a ${message?.kind} message for ${kind}`);
  return message as Extract<Message, { kind: K }>;
}

const composeOf = (facts: Partial<AlertFacts>, context: Partial<MessageContext> = {}) =>
  rendering.composeAlert(makeAlert({ facts }), makeContext(context));
const full = composeOf(fullFacts);
/** With its times, which a message that comes at once leaves out. */
const late = composeOf({ ...fullFacts, occurredAt: receivedAt - 3_600_000 }, { now: receivedAt + 3_600_000 * 48 });
const hostile = composeOf({
  title: "<!channel> @everyone *bold* :fire: <@123>",
  text: "# head\n- item\n1. one\n> quote\n||spoiler|| ```code``` [x](https://evil.example) https://a.example/x & <https://b.example|c>",
  token: "`tick`",
  fields: [{ name: "_a_", value: "~b~ @here" }],
});

describe("every channel", () => {
  it("gives a readable, bounded message for any document in any form", () => {
    fc.assert(
      fc.property(anyDocument, fc.constantFrom("rich" as const, "plain" as const), (document, form) => {
        for (const { type: channel } of vendors) {
          const [message] = rendering.renderDocument(channel, document, { form, timeZone: "UTC" });
          if (message === undefined) throw new Error(`nothing for ${channel}`);
          expect(readableText(message).trim()).not.toBe("");
          expect(faultsOf(message), channel).toEqual([]);
        }
      }),
      { numRuns: 20 },
    );
  });

  it("falls back to UTC for a zone that does not exist", () => {
    const [message] = rendering.renderDocument("apprise", late, { form: "rich", timeZone: "Mars/Olympus" });
    expect(message === undefined ? "" : readableText(message)).toContain("01:02:05 UTC");
  });
});

/** What a vendor takes and people should not get; what vendors refuse is for test/conformance/rendered-messages.test.ts. */
function faultsOf(message: Message): string[] {
  switch (message.kind) {
    case "email":
      return faultsOfLine(message.subject, 200).concat(message.html.length > 100_000 ? "long HTML" : []);
    case "ntfy":
    case "apprise":
      return faultsOfLine(message.title, 250);
    case "slack": {
      const { text, blocks = [] } = JSON.parse(message.body) as { text: string; blocks?: unknown[] };
      const isLong = blocks.some((block) => textsIn(block).join("").length > 3000);
      return [isLong ? "long block" : [], /[<>]/.test(text) ? "unescaped" : []].flat();
    }
    case "discord": {
      const { content, allowed_mentions: mentions } = JSON.parse(message.body);
      return [content.trim() === "" ? "no content" : [], mentions.parse.length > 0 ? "mentions" : []].flat();
    }
    default:
      return [];
  }
}

const faultsOfLine = (line: string, most: number) => (line.length > most || /[\r\n]/.test(line) ? ["title"] : []);
const textsIn = (block: unknown): string[] =>
  [...JSON.stringify(block).matchAll(/"text":("(?:[^"\\]|\\.)*")/g)].map(([, text = ""]) => JSON.parse(text));

const markdown =
  "@channel -@channel .@here _@all foo.@channel @**all** [bank](http://a.invalid) ![i](http://b.invalid/x.png) [r][1] ops.desk-2@example.com [12] x";
const poolTvl = { title: "USDC pool TVL", metric: "pool_tvl", token: "USDC", chain: "eth" };
const bare: Document = {
  subject: "Bare",
  severity: "info",
  status: "firing",
  blocks: [{ kind: "heading", inlines: [{ kind: "bold", text: "Bare" }] }],
};
const data: MessageData = {
  type: "alert",
  deliveryId: "d-1",
  at: receivedAt + 1000,
  repeat: false,
  silent: false,
  alerts: [
    {
      id: "a-1",
      receivedAt,
      title: "T",
      severity: "critical",
      status: "firing",
      facts: { value: "1.10", occurredAt: receivedAt - 3000 },
      payload: { amount: new JsonNumber("123456789012345678901.10"), list: [null, true, "x\u2028"] },
      url: `${publicUrl}/alerts/a-1`,
    },
  ],
};
const history = { count: 2, firstAt: receivedAt, lastedMs: 480_000 };

/** What a vendor gets, under what it should show: a member of its JSON and an element of its HTML a line. */
function sent(
  what: string,
  channel: ChannelType,
  document: Document,
  form: "rich" | "plain" = "rich",
  data?: MessageData,
) {
  const [message] = rendering.renderDocument(channel, document, { form, timeZone: "Europe/Zurich", data });
  const members = Object.entries(message ?? {}).map(
    ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const lines = members.join("\n").replaceAll(/(?<=,)(?=["{])|(?<=>)(?=<)/g, "\n");
  return [`${channel}: ${what}`, lines.replaceAll("\u200b", "⁞").replaceAll("\u2028", "U+2028")] as const;
}

it("gives each vendor what the document says, and to a sender's signs no meaning", () =>
  expectScenes("bodies", [
    sent("literal rich text, in which no control sequence of a sender means anything", "slack", hostile),
    sent("escaped text alone in the plain form", "slack", hostile, "plain"),
    sent("nothing for servers that read plain text as Markdown", "slack", composeOf({ title: markdown }), "plain"),
    sent("the heading as content, the rest as an embed, no markdown of the sender's", "discord", hostile),
    sent("times in the reader's zone, a colour by severity", "discord", late),
    sent("a card with a coloured heading, a line for each fact and a button", "teams", full),
    sent("a sender's words as they are, where nothing reads them as markdown", "teams", hostile),
    sent("no function of cards", "teams", composeOf({ title: "{{DATE(2017-02-14T06:00:00Z)}} {{TIME(x)}} {{x}}" })),
    sent("a warning's colour", "teams", composeOf({ severity: "warning" })),
    sent("the colour of what is only said", "teams", composeOf({ severity: "info" })),
    sent("good when it is over", "teams", composeOf({ status: "resolved" })),
    sent("one text in the plain form", "teams", full, "plain"),
    sent("rings by severity, carries the symbol as a tag, opens the alert at a tap", "ntfy", full),
    sent("rings where the severity is unknown", "ntfy", composeOf({ severity: "unknown" })),
    sent("its end", "ntfy", composeOf({ status: "resolved" })),
    sent("says nothing twice: without other blocks the text is the subject", "ntfy", bare),
    sent("a failure", "apprise", full),
    sent("a success when it is over", "apprise", composeOf({ status: "resolved" })),
    sent("the numbers beside the subject in a mailbox, aligned facts, a button at the end", "email", full),
    sent("the numbers of a small one", "email", composeOf({ ...poolTvl, value: "24.1", threshold: "25" })),
    sent("a number that is none", "email", composeOf({ value: "<b>1</b>" })),
    sent("no numbers", "email", composeOf({ text: "nothing" }, { possibleRepeat: true })),
    sent(
      "short text alone in the plain form",
      "email",
      composeOf({ text: "long ".repeat(4000) }, { detail: "full" }),
      "plain",
    ),
    sent("the alert with ISO times, the payload digit for digit, and the text", "webhook", full, "rich", data),
    sent("how often it came and how long it lasted", "webhook", full, "rich", { ...data, history }),
    sent("no facts and no payload in the plain form", "webhook", full, "plain", data),
    sent("the message without data", "webhook", full),
  ]));

describe("e-mail", () => {
  it("escapes everything in the HTML part and loads nothing", () => {
    const document = composeOf({
      title: '<img src=x onerror="alert(1)">',
      text: "</blockquote><script>alert(1)</script> &amp; \"quotes'",
      token: "<b>",
      link: 'https://example.com/"onmouseover="alert(1)',
      fields: [{ name: "<style>", value: "</div><iframe>" }],
    });
    const { html } = render("email", document);
    const ours = "a blockquote body div h1 head html meta p span strong table td title tr".split(" ");
    const elements = new Set([...html.matchAll(/<([a-z][a-z0-9]*)/gi)].map((match) => match[1]?.toLowerCase()));
    expect([...elements].filter((name) => !ours.includes(name ?? ""))).toEqual([]);
    expect(html).not.toMatch(/<(script|img|iframe|style|b)\b/i);
    expect(html).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;");
    for (const [, attributes] of html.matchAll(/<a ([^>]*)>/g)) {
      expect(attributes?.match(/[\w-]+(?==")/g)).toEqual(["href", "style"]);
    }
  });

  it("has a subject on one line that keeps what we say about the alert", () => {
    const title = `Long\r\nBcc: x@example.com ${"word ".repeat(60)}`;
    const document = composeOf({ title }, { possibleRepeat: true });
    const { subject } = render("email", document);
    expect(subject).toMatch(/^\[Critical · possible repeat\] Long Bcc: x@example\.com word .*…$/);
    expect(subject.length).toBeLessThanOrEqual(200);
  });
});
