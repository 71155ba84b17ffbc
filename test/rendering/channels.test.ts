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

  it("keeps a push within its bytes when there is nothing but an endless subject", () => {
    const bare: Document = { ...full, subject: "€".repeat(4000), blocks: [] };
    expect(faultsOf(render("ntfy", bare))).toEqual([]);
  });

  it("falls back to UTC for a zone that does not exist", () => {
    const [message] = rendering.renderDocument("apprise", late, { form: "rich", timeZone: "Mars/Olympus" });
    expect(message === undefined ? "" : readableText(message)).toContain("01:02:05 UTC");
  });
});

/** The documented limits of each vendor. */
function faultsOf(message: Message): string[] {
  switch (message.kind) {
    case "pagerduty": {
      const { summary } = message.event.payload;
      return summary === "" || summary.length > 1024 ? [`summary ${summary.length}`] : [];
    }
    case "teams":
      return [
        Buffer.byteLength(JSON.stringify(message.body)) > 28_672 ? "too long" : "",
        message.body.includes('"inlines":[]') ? "empty block" : "",
      ].filter(Boolean);
    case "email":
      return [
        /[\r\n]/.test(message.subject) ? "line break in subject" : "",
        message.subject.length > 200 ? "long subject" : "",
        message.html.length > 100_000 ? "long HTML" : "",
      ].filter(Boolean);
    case "slack": {
      const body = JSON.parse(message.body) as { text: string; blocks?: { elements: unknown[] }[] };
      const blocks = body.blocks ?? [];
      const unitsOf = (block: unknown): number => textsIn(block).reduce((sum, element) => sum + element.text.length, 0);
      return [
        blocks.length > 50 ? "blocks" : "",
        blocks.some((block) => unitsOf(block) > 3000) ? "long block" : "",
        blocks.flatMap(textsIn).some(({ text }) => text === "") ? "empty element" : "",
        /[<>]/.test(body.text) ? "unescaped" : "",
      ].filter(Boolean);
    }
    case "discord": {
      const body = JSON.parse(message.body) as {
        content: string;
        embeds?: { description: string }[];
        allowed_mentions: unknown;
      };
      return [
        body.content.trim() === "" || body.content.length > 2000 ? `content ${body.content.length}` : "",
        (body.embeds ?? []).some(({ description }) => description.length > 4096 || description === "") ? "embed" : "",
        JSON.stringify(body.allowed_mentions) === '{"parse":[]}' ? "" : "mentions",
      ].filter(Boolean);
    }
    case "ntfy":
      return [
        message.title.length > 250 || /[\r\n]/.test(message.title) ? "title" : "",
        Buffer.byteLength(message.text) > 4096 ? "long" : "",
      ].filter(Boolean);
    case "apprise":
      return message.title.length > 250 ? ["title"] : [];
    case "webhook":
      JSON.parse(message.body);
      return [];
    case "telegram":
      return [];
  }
}

function textsIn(value: unknown): { type: string; text: string }[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  const own = "text" in value && typeof value.text === "string" ? [value as { type: string; text: string }] : [];
  return "elements" in value ? textsIn(value.elements) : own;
}

describe("Slack", () => {
  it("gets literal rich text, so that no control sequence of a sender means anything", () => {
    const body = JSON.parse(render("slack", hostile).body);
    expect(body.text).toContain("&lt;!channel&gt; @\u200beveryone");
    expect(body.link_names).toBe(false);
    const types = new Set(JSON.stringify(body.blocks).match(/"type":"\w+"/g));
    expect([...types].sort()).toEqual([
      '"type":"link"',
      '"type":"rich_text"',
      '"type":"rich_text_quote"',
      '"type":"rich_text_section"',
      '"type":"text"',
    ]);
    expect(textsIn(body.blocks)[0]?.text).toContain("<!channel> @everyone *bold* :fire: <@123>");
  });

  it("means nothing to servers that read its plain text as Markdown, and leaves addresses whole", () => {
    const title =
      "@channel -@channel .@here _@all foo.@channel @**all** [bank](http://a.invalid) ![i](http://b.invalid/x.png) [r][1] ops.desk-2@example.com [12] x";
    const { text } = JSON.parse(render("slack", composeOf({ title }), "plain").body);
    expect(text.replaceAll("\u200b", "·")).toContain(
      "@·channel -@·channel .@·here _@·all foo.@·channel @·**all** [bank]·(http://a.invalid) ![i]·(http://b.invalid/x.png) [r]·[1] ops.desk-2@example.com [12] x",
    );
  });

  it("gets escaped text only in the plain form", () => {
    const message = render("slack", hostile, "plain");
    expect(Object.keys(JSON.parse(message.body))).not.toContain("blocks");
    expect(JSON.parse(message.body).text).toContain("&lt;@\u200b123&gt;");
    expect(message.text).toContain("<@123>");
  });
});

describe("Discord", () => {
  it("gets the heading as content and the rest as an embed, with no markdown of the sender's", () => {
    const body = JSON.parse(render("discord", hostile).body);
    expect(body.content).toBe("**🚨 \\<!channel\\> \\@everyone \\*bold\\* \\:fire: \\<\\@123\\>**");
    const { description } = body.embeds[0];
    expect(description).toContain(
      "> \\# head\n> \\- item\n> 1\\. one\n> \\> quote\n> \\|\\|spoiler\\|\\| \\`\\`\\`code",
    );
    expect(description).toContain("Token: \\`tick\\`");
    expect(description).toContain(`[Open in Tocsin](<${publicUrl}/alerts/`);
    expect(body.allowed_mentions).toEqual({ parse: [] });
  });

  it("shows times in the reader's zone and colours by severity", () => {
    const body = JSON.parse(render("discord", late).body);
    expect(body.embeds[0].description).toContain(`When: <t:${Math.floor(receivedAt / 1000) - 3600}:f>`);
    expect(body.embeds[0].color).toBe(0xd92d20);
  });
});

describe("Teams", () => {
  interface Element extends Record<string, unknown> {
    type: string;
    items?: Element[];
    inlines?: Element[];
  }
  const cardOf = (document: Document, form: "rich" | "plain" = "rich") => {
    const { summary, attachments } = JSON.parse(render("teams", document, form).body);
    return { summary, card: attachments[0].content as { body: Element[]; actions?: Element[] } };
  };
  /** A line for each element, its style before its words. */
  const show = ({ type, items, inlines, text, selectAction, ...style }: Element): string[] => {
    const held = (items ?? inlines ?? []).flatMap(show).map((line) => `  ${line}`);
    const words = typeof text === "string" ? [text.replaceAll("\n", "⏎")] : [];
    return [[type, ...Object.values(style), ...(selectAction ? ["link"] : []), ...words].join(" "), ...held];
  };

  it("gets a card with a coloured heading, a line for each fact and a button", async () => {
    const { summary, card } = cardOf(full);
    expect(summary).toBe("Critical: USDC TVL 4.812 M USD, −5.7 %, below 5 M (eth)");
    expect(card.actions).toEqual([
      {
        type: "Action.OpenUrl",
        title: "Open in Tocsin",
        url: `${publicUrl}/alerts/01939a5c-1b2d-7c3e-8f4a-5b6c7d8e9f00`,
      },
    ]);
    await expect(`${card.body.flatMap(show).join("\n")}\n`).toMatchFileSnapshot("golden/teams-full.txt");
  });

  it("gets a sender's words as they are, where nothing reads them as markdown", async () => {
    const { card } = cardOf(hostile);
    const types = new Set(JSON.stringify(card).match(/"type":"[\w.]+"/g));
    expect([...types].sort()).toEqual([
      '"type":"Action.OpenUrl"',
      '"type":"AdaptiveCard"',
      '"type":"Container"',
      '"type":"RichTextBlock"',
      '"type":"TextRun"',
    ]);
    await expect(`${card.body.flatMap(show).join("\n")}\n`).toMatchFileSnapshot("golden/teams-hostile.txt");
  });

  it("gets no function of cards from a sender", () => {
    const facts = { title: "{{DATE(2017-02-14T06:00:00Z)}} {{TIME(x)}} {{x}}" };
    const { summary, card } = cardOf(composeOf(facts));
    expect(JSON.stringify({ summary, card })).not.toMatch(/\{\{(DATE|TIME)/);
    expect(summary).toContain("{{x}}");
  });

  it.each([
    [{ severity: "critical" }, "Attention"],
    [{ severity: "warning" }, "Warning"],
    [{ severity: "info" }, "Default"],
    [{ severity: "critical", status: "resolved" }, "Good"],
  ] as const)("is coloured by severity, and good when it is over: %j", (facts, colour) => {
    expect(cardOf(composeOf(facts)).card.body[0]?.inlines?.[0]?.color).toBe(colour);
  });

  it("is one text in the plain form", () => {
    expect(cardOf(full, "plain").card).toMatchObject({ body: [{ inlines: [{ type: "TextRun" }] }] });
    expect(cardOf(full, "plain").card.actions).toBeUndefined();
  });
});

describe("ntfy and Apprise", () => {
  it("ring by severity, carry the symbol as a tag, and open the alert at a tap", () => {
    const message = render("ntfy", full);
    expect(message).toMatchObject({
      title: "Critical: USDC TVL 4.812 M USD, −5.7 %, below 5 M (eth)",
      priority: 5,
      tags: ["rotating_light"],
      click: `${publicUrl}/alerts/01939a5c-1b2d-7c3e-8f4a-5b6c7d8e9f00`,
    });
    expect(message.text).toMatch(/^4,812,346 USD/);
    expect(render("ntfy", composeOf({ severity: "unknown" })).priority).toBe(4);
    const resolved = composeOf({ status: "resolved" });
    expect(render("ntfy", resolved)).toMatchObject({ priority: 3, tags: ["white_check_mark"] });
    expect(render("apprise", resolved)).toMatchObject({ type: "success" });
    expect(render("apprise", full)).toMatchObject({ type: "failure" });
  });

  it("say nothing twice: without other blocks the text is the subject", () => {
    const bare: Document = {
      subject: "Bare",
      severity: "info",
      status: "firing",
      blocks: [{ kind: "heading", inlines: [{ kind: "bold", text: "Bare" }] }],
    };
    expect(render("ntfy", bare)).toMatchObject({ title: "Bare", text: "Bare" });
  });
});

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

  it("shows the numbers beside the subject in a mailbox, behind the symbol of the state", () => {
    const { html } = render("email", full);
    expect(html).toMatch(/<div style="display: none[^"]*">🚨 4,812,346 USD · 3\.8 % below 5,000,000 · was/);
    expect(html.indexOf("display: none")).toBeLessThan(html.indexOf("<h1"));
    const facts = {
      title: "USDC pool TVL",
      metric: "pool_tvl",
      token: "USDC",
      chain: "eth",
      value: "24.1",
      threshold: "25",
    };
    const small = render("email", composeOf(facts));
    expect(small.subject).toBe("[Critical] USDC pool TVL, limit 25 (eth)");
    expect(small.html).toContain("🚨 24.1, below 25 (eth) · 3.6 % below 25</div>");
    expect(render("email", composeOf({ value: "<b>1</b>" })).html).toContain("🚨 &lt;b&gt;1&lt;/b&gt;</div>");
  });

  it("aligns what is said of an alert, and ends with a button", () => {
    const { html } = render("email", full);
    expect(html).toMatch(/<td[^>]*>Link: <\/td><td/);
    expect(html).toMatch(
      /<p[^>]*><a href="[^"]*\/alerts\/[^"]*" style="display: inline-block[^"]*">Open in Tocsin<\/a><\/p>/,
    );
    const last = composeOf({ text: "nothing" }, { possibleRepeat: true });
    expect(render("email", last).html.match(/display: none/g)).toBeNull();
  });

  it("has a subject on one line that keeps what we say about the alert", () => {
    const title = `Long\r\nBcc: x@example.com ${"word ".repeat(60)}`;
    const document = composeOf({ title }, { possibleRepeat: true });
    const { subject } = render("email", document);
    expect(subject).toMatch(/^\[Critical · possible repeat\] Long Bcc: x@example\.com word .*…$/);
    expect(subject.length).toBeLessThanOrEqual(200);
  });

  it("is short text alone in the plain form", () => {
    const document = composeOf({ text: "long ".repeat(4000) }, { detail: "full" });
    const message = render("email", document, "plain");
    expect(message.html).toBe("");
    expect(message.text.length).toBeLessThanOrEqual(4000);
    expect(message.text).toContain("characters cut]");
  });
});

describe("an outgoing webhook", () => {
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
  const bodyOf = (form: "rich" | "plain", given?: MessageData): string => {
    const options = { form, timeZone: "UTC", data: given };
    const [message] = rendering.renderDocument("webhook", full, options);
    return message?.kind === "webhook" ? message.body : "";
  };

  it("says how often the alert has come and how long it lasted, from the second time on", () => {
    const history = { count: 2, firstAt: receivedAt, lastedMs: 480_000 };
    expect(JSON.parse(bodyOf("rich", { ...data, history })).data.history).toEqual({
      count: 2,
      firstAt: "2026-11-21T02:02:05.000Z",
      lastedMs: 480_000,
    });
    expect(JSON.parse(bodyOf("rich", data)).data).not.toHaveProperty("history");
  });

  it("carries the alert with ISO times, the payload digit for digit, and the text", () => {
    const body = bodyOf("rich", data);
    expect(body).toContain('"amount":123456789012345678901.10');
    expect(JSON.parse(body)).toMatchObject({
      type: "alert",
      timestamp: "2026-11-21T02:02:06.000Z",
      data: {
        deliveryId: "d-1",
        repeat: false,
        subject: full.subject,
        text: expect.stringContaining("4,812,346 USD"),
        alerts: [
          {
            id: "a-1",
            receivedAt: "2026-11-21T02:02:05.000Z",
            severity: "critical",
            facts: { value: "1.10", occurredAt: "2026-11-21T02:02:02.000Z" },
            payload: { list: [null, true, "x\u2028"] },
          },
        ],
      },
    });
  });

  it("leaves facts and payload out of the plain form", () => {
    const [alert] = JSON.parse(bodyOf("plain", data)).data.alerts;
    expect(Object.keys(alert).sort()).toEqual(["id", "receivedAt", "severity", "status", "title", "url"]);
  });

  it("still renders the message without data", () => {
    expect(JSON.parse(bodyOf("rich"))).toMatchObject({ type: "notice", data: { subject: full.subject } });
  });
});
