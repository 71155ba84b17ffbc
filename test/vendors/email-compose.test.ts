import PostalMime, { type Email } from "postal-mime";
import { describe, expect, it } from "vitest";
import type { MailAddress } from "../../src/ground/text/mail-address.ts";
import type { EmailMessage } from "../../src/vendors/email/render.tsx";
import { composeMail } from "../../src/vendors/email/send.ts";

const message: EmailMessage = {
  kind: "email",
  subject: "TVL of USDC fell",
  text: "It fell by 4 %.",
  html: "<p>It fell by 4 %.</p>",
};
const context = {
  deliveryId: "0193-delivery",
  alertId: "0193-alert",
  receivedAt: Date.UTC(2026, 10, 20, 12, 0, 5),
  threadKey: "usdc tvl",
};
const from: MailAddress = { name: "Tocsin", address: "alerts@tocsin.example" };

async function read(
  change: Partial<EmailMessage>,
  about: object = {},
  sender = from,
): Promise<Email & { source: string }> {
  const given = { ...context, ...about };
  const { source } = await composeMail({ ...message, ...change }, sender, "ops@example.com", given);
  return { ...(await PostalMime.parse(source)), source: source.toString("latin1") };
}

/** The header names in the source, before any parser has made sense of them. */
function headerNames(source: string): string[] {
  const head = source.slice(0, source.indexOf("\r\n\r\n")).replaceAll(/\r\n[ \t]+/g, " ");
  return head.split("\r\n").map((line) => line.slice(0, line.indexOf(":")));
}

const expectedNames = [
  ...["From", "To", "Subject", "Message-ID", "In-Reply-To", "References", "Date", "Auto-Submitted"],
  ...["X-Auto-Response-Suppress", "X-Tocsin-Alert", "MIME-Version", "Content-Type"],
].toSorted();

describe("a mail", () => {
  it("says who, when and what, and that a machine wrote it", async () => {
    const mail = await read({});
    expect(mail.from).toEqual(from);
    expect(mail.to).toEqual([{ name: "", address: "ops@example.com" }]);
    expect(mail.subject).toBe("TVL of USDC fell");
    expect(mail.date).toBe("2026-11-20T12:00:05.000Z");
    expect(mail.messageId).toBe("<0193-delivery@tocsin.example>");
    const values = Object.fromEntries(mail.headers.map(({ originalKey, value }) => [originalKey, value]));
    expect(values["Auto-Submitted"]).toBe("auto-generated");
    expect(values["X-Tocsin-Alert"]).toBe("0193-alert");
    expect(headerNames(mail.source).toSorted()).toEqual(expectedNames);
  });

  it("carries text and HTML as they were written, whatever is in them", async () => {
    const text = `dots\n.\n..\nFrom here\nemoji 🚨 long ${"wörd ".repeat(300)}\n\ttab  two spaces \nend`;
    const html = `<p>${"é🚨".repeat(900)}</p>`;
    const mail = await read({ text, html });
    expect(mail.text?.trimEnd()).toBe(text);
    expect(mail.html?.trimEnd()).toBe(html);
  });

  it("has no HTML part when there is no HTML", async () => {
    const mail = await read({ html: "" });
    expect(mail.html).toBeUndefined();
    expect(mail.text?.trimEnd()).toBe(message.text);
    expect(mail.source).not.toContain("text/html");
  });

  it("has no line longer than a mail server takes, and no bare line feed", async () => {
    const { source } = await read({ text: "x".repeat(5_000), html: "y".repeat(5_000), subject: "z🚨".repeat(300) });
    expect(source).not.toMatch(/[^\r]\n/);
    expect(Math.max(...source.split("\r\n").map((line) => line.length))).toBeLessThanOrEqual(998);
  });
});

describe("threads", () => {
  it("all mails of one key name one root that none of them is", async () => {
    const first = await read({}, { deliveryId: "a" });
    const update = await read({}, { deliveryId: "b" });
    const other = await read({}, { deliveryId: "c", threadKey: "else" });
    expect(first.references).toBe(update.references);
    expect(first.inReplyTo).toBe(first.references);
    expect(first.messageId).not.toBe(first.references);
    expect(other.references).not.toBe(first.references);
  });

  it("an answer names the mail that it answers, after the root", async () => {
    const first = await read({}, { deliveryId: "a" });
    const answer = await read({}, { deliveryId: "b", replyTo: first.messageId });
    expect(answer.inReplyTo).toBe(first.messageId);
    expect(answer.references).toBe(`${first.references} ${first.messageId}`);
  });

  it("a reference that is no message id of ours is left out", async () => {
    for (const replyTo of ["12345", "<a@b>\r\nBcc: <x@evil.example>", "<a@b> <c@d>", ""]) {
      const mail = await read({}, { replyTo });
      expect(mail.inReplyTo).toBe(mail.references);
      expect(headerNames(mail.source).toSorted()).toEqual(expectedNames);
    }
  });
});

describe("hostile text", () => {
  const injections = [
    "a\r\nBcc: victim@example.com",
    "a\nBcc: victim@example.com",
    "a\rBcc: victim@example.com",
    "a\r\n\r\n<html>body",
    "a\0b",
    "a\u2028Bcc: x\u2029y\u0085z",
    "\uD800 half \uDC00",
    "=?utf-8?B?DQpCY2M6IHhAeQ==?=",
    "<script>alert(1)</script>",
    "\u001b[31mred",
  ];

  it.each(injections)("%j in subject, ids, key and name makes no header and no recipient", async (evil) => {
    const mail = await read(
      { subject: evil },
      { deliveryId: evil, alertId: evil, threadKey: evil, replyTo: evil },
      { name: evil, address: "alerts@tocsin.example" },
    );
    expect(headerNames(mail.source).toSorted()).toEqual(expectedNames);
    expect(mail.to).toEqual([{ name: "", address: "ops@example.com" }]);
    expect(mail.text?.trimEnd()).toBe(message.text);
    expect(mail.source).not.toContain("\0");
  });

  it("a subject keeps its words on one line", async () => {
    expect((await read({ subject: "TVL\r\nfell\u2028by\t4 %" })).subject).toBe("TVL fell by 4 %");
    expect((await read({ subject: "half \uD83D pair" })).subject).toBe("half \uFFFD pair");
    expect((await read({ subject: "\r\n" })).subject).toBe("Alert");
  });

  it("a subject that looks encoded is shown as it was written", async () => {
    for (const subject of ["=?utf-8?B?WA==?=", `=?utf-8?B?WA==?= ${"ü=?🚨 ".repeat(40)}=?`]) {
      const mail = await read({ subject });
      expect(mail.subject).toBe(subject);
      expect(headerNames(mail.source).toSorted()).toEqual(expectedNames);
      expect(Math.max(...mail.source.split("\r\n").map((line) => line.length))).toBeLessThanOrEqual(76);
    }
  });

  it("NUL and half characters in the body are replaced, the rest stays", async () => {
    const mail = await read({ text: "a\0b\uD800c", html: "<p>a\0b</p>" });
    expect(mail.text?.trimEnd()).toBe("a\uFFFDb\uFFFDc");
    expect(mail.html?.trimEnd()).toBe("<p>a\uFFFDb</p>");
  });

  it("nothing in a message makes a file or a page be read into the mail", async () => {
    const mail = await read({ text: "file:///etc/hostname", html: '<img src="file:///etc/hostname">' });
    expect(mail.html).toContain("file:///etc/hostname");
    expect(mail.attachments).toEqual([]);
  });
});
