import { createHash } from "node:crypto";
import type { ConnectionOptions } from "node:tls";
import MailComposer from "nodemailer/lib/mail-composer";
import { encodeWord } from "nodemailer/lib/mime-funcs";
import type { Outcome } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import type { AlertPicture } from "../../core/ports/alert-picture.ts";
import type { ChannelCalls, SendContext } from "../../core/ports/channel.ts";
import { isMailAddress, type MailAddress, mailDomainOf, parseMailAddress } from "../../ground/text/mail-address.ts";
import { createRedactor, type Redact } from "../../ground/text/redact.ts";
import { classify } from "./classify.ts";
import type { WaitForPicture } from "./patience.ts";
import { type EmailMessage, pictureId, withPicture } from "./render.tsx";
import { requiresTls, SmtpSession, type SmtpTimeouts } from "./session.ts";
import { createSessionPool } from "./session-pool.ts";
import type { EmailAccount, EmailDestination } from "./vendor.ts";

export interface EmailChannelOptions {
  /** Connections to the account at once. Default 2. */
  maxConnections?: number;
  /** Milliseconds that an unused connection is kept. Default 30,000. */
  idleMs?: number;
  /** Default: connect 20 s, greeting 30 s, a command 60 s, the verdict on a mail 10 min. */
  timeouts?: Partial<SmtpTimeouts>;
  /** The name in EHLO. Default: the domain of the From address, since some servers refuse an address literal. */
  clientName?: string;
  /** Default: mails have no pictures. */
  waitForPicture?: WaitForPicture;
  /** For a mail server with a certificate authority of its own. The account decides `rejectUnauthorized`. */
  tls?: ConnectionOptions;
}

const defaultTimeouts: SmtpTimeouts = {
  connectMs: 20_000,
  greetingMs: 30_000,
  commandMs: 60_000,
  verdictMs: 600_000,
};

/**
 * Sends mails over one SMTP account, one recipient a call. A mail's `ref` is its Message-ID, which later mails name as
 * `replyTo`. An update is a new mail.
 * @throws AppError `config_invalid` for a wrong From address.
 */
export function createEmailChannel(
  destination: EmailDestination,
  options: EmailChannelOptions = {},
): ChannelCalls<EmailMessage> {
  const { account } = destination;
  const from = readSender(destination);
  const settings = {
    account,
    clientName: options.clientName ?? mailDomainOf(from.address),
    timeouts: { ...defaultTimeouts, ...options.timeouts },
    tls: options.tls,
  };
  const createSession = () => new SmtpSession(settings);
  const pool = createSessionPool(createSession, {
    maxConnections: options.maxConnections ?? 2,
    idleMs: options.idleMs ?? 30_000,
  });
  const tlsRequired = requiresTls(account);

  return {
    async send(message, context): Promise<Outcome> {
      const to = parseMailAddress(context.recipient)?.address;
      if (to === undefined || !isMailAddress(context.recipient)) return notAnAddress;
      const picture =
        message.picture &&
        (await options.waitForPicture?.(context.alertId, { ...message.picture, signal: context.signal }));
      const { messageId, source } = await composeMail(message, from, to, context, picture);
      const step = await pool.deliver({ from: from.address, to }, source, context);
      if (!step.ok) return classify(step.breakdown, tlsRequired);
      return { kind: "sent", ref: messageId, note: `The mail server took it: ${step.reply}` };
    },
    async probe(recipient, signal): Promise<Outcome> {
      const to = parseMailAddress(recipient)?.address;
      if (to === undefined || !isMailAddress(recipient)) return notAnAddress;
      const session = createSession();
      const opened = await session.open(signal);
      const step = opened.ok ? await session.offer({ from: from.address, to }, signal) : opened;
      await session.quit();
      return step.ok ? { kind: "sent" } : classify(step.breakdown, tlsRequired);
    },
    close: () => pool.close(),
  };
}

/** The detail leaves the address out: the address may hold any text, and the page shows it nearby. */
const notAnAddress: Outcome = {
  kind: "rejected",
  scope: "recipient",
  reason: "address_invalid",
  detail: "The recipient is not a mail address of the form name@example.com.",
};

function readSender(destination: EmailDestination): MailAddress {
  const from = parseMailAddress(destination.from);
  if (from !== undefined) return from;
  const hint = "Write it as alerts@example.com or Tocsin <alerts@example.com>.";
  const message = `The sender of ${destination.name} (${destination.definedAt}) is not a mail address.`;
  throw new AppError("config_invalid", message, { hint });
}

type Context = Pick<SendContext, "deliveryId" | "alertId" | "receivedAt" | "threadKey" | "replyTo">;

/** Picture pixels per pixel of the page, for dense screens. */
const pictureScale = 2;

/**
 * Writes a mail.
 * All mails of one alert key refer to one root id, made from the key. No mail has this id. Gmail joins mails of one
 * sender and subject whose References name the same id, even an unseen one (its notice "Threading changes in Gmail
 * conversation view", 2019). Thunderbird and Apple Mail put an unseen root above its answers (JWZ's algorithm, RFC
 * 5256). If a first mail had the root id, an alert that returns after months would repeat the id. Gmail would drop it
 * as a duplicate.
 * @param to an address that `isMailAddress` accepts.
 */
export async function composeMail(
  message: EmailMessage,
  from: MailAddress,
  to: string,
  context: Context,
  picture?: AlertPicture,
) {
  const domain = mailDomainOf(from.address);
  // Each repeat of a delivery has the same id, so a mailbox that compares ids keeps one.
  const messageId = `<${idPart(context.deliveryId)}@${domain}>`;
  const root = `<thread-${hashOf(context.threadKey)}@${domain}>`;
  const answered = isMessageId(context.replyTo) && context.replyTo !== messageId ? context.replyTo : undefined;
  const composer = new MailComposer({
    from: { name: from.name ?? "", address: from.address },
    to: { name: "", address: to },
    text: bodyText(message.text),
    html: bodyText(htmlOf(message, picture)),
    attachments: picture && [pictureAttachment(picture)],
    messageId,
    date: new Date(context.receivedAt),
    inReplyTo: answered ?? root,
    references: answered === undefined ? [root] : [root, answered],
    headers: {
      Subject: subjectHeader(headerText(message.subject) || "Alert"),
      // RFC 3834: no holiday notices in return. Exchange needs its own header.
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
      "X-Tocsin-Alert": idPart(context.alertId),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return { messageId, source: await composer.compile().build() };
}

function htmlOf({ html, picture: place }: EmailMessage, picture: AlertPicture | undefined): string {
  if (picture === undefined || place === undefined) return html;
  // A PNG has its width at byte 16.
  const width = Buffer.from(picture.png).readUInt32BE(16) / pictureScale;
  return withPicture(html, place.at, { alt: picture.alt, width });
}

function pictureAttachment({ png }: AlertPicture) {
  return {
    filename: "chart.png",
    content: Buffer.from(png),
    contentType: "image/png",
    contentDisposition: "inline" as const,
    cid: pictureId,
  };
}

/** Makes one line of any text: a line break in a subject could begin another header. */
function headerText(text: string): string {
  return text
    .replaceAll(/\p{Cs}/gu, "\uFFFD")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
}

/** A mailbox would show a sender's `=?utf-8?B?…?=` decoded, in words that no page and no log has. */
function subjectHeader(subject: string): string | { prepared: true; value: string } {
  if (!subject.includes("=?")) return subject;
  return { prepared: true, value: encodeWord(subject, "B", 60).replaceAll("?= =?", "?=\r\n =?") };
}

/** Some mail readers end a text at NUL. UTF-8 cannot express half a surrogate pair. */
function bodyText(text: string): string {
  return text.replaceAll(/[\p{Cs}\0]/gu, "\uFFFD");
}

/** Ids are our UUIDs. Any other text becomes its hash, so it cannot break the header. */
function idPart(id: string): string {
  return /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : hashOf(id);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function isMessageId(text: string | undefined): text is string {
  return text !== undefined && /^<[A-Za-z0-9._-]{1,128}@[A-Za-z0-9.-]{1,253}>$/.test(text);
}

/** Hides an account's password, plain and as in `AUTH PLAIN`: a server may repeat its input in a refusal. */
export function createAccountRedactor({ user = "", password }: EmailAccount): Redact {
  const secret = password?.reveal() ?? "";
  return createRedactor(secret === "" ? [] : [secret, `\0${user}\0${secret}`], { leastLength: 1 });
}
