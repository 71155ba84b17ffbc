import { createHash } from "node:crypto";
import MailComposer from "nodemailer/lib/mail-composer";
import { encodeWord } from "nodemailer/lib/mime-funcs";
import type { SendContext } from "../../core/ports/channel.ts";
import { type MailAddress, mailDomainOf } from "../../ground/text/mail-address.ts";
import type { EmailMessage } from "./render.tsx";

export interface ComposedMail {
  /** With its angle brackets. The same for every repeat of a delivery, so that a mailbox that compares ids keeps one. */
  messageId: string;
  /** The whole mail, lines ended by CRLF. */
  source: Buffer;
}

type Context = Pick<SendContext, "deliveryId" | "alertId" | "receivedAt" | "threadKey" | "replyTo">;

/**
 * Writes a mail.
 *
 * Threads: all mails of one alert key refer to one root id, made of the key, that no mail ever carries. Gmail joins
 * mails of one sender with one subject whose References consistently name the same id, whether or not it has seen it
 * (its notice "Threading changes in Gmail conversation view", 2019); Thunderbird and Apple Mail build threads from
 * References alone and put an unseen root above its answers, as in JWZ's algorithm and RFC 5256. If the first mail
 * carried the root id instead, its id would not be the delivery's, an alert that returns after months would repeat the
 * id of an old mail, and Gmail would drop it as a duplicate. The mail that is answered, where known, is named as well.
 *
 * @param to an address that `isMailAddress` accepts.
 */
export async function composeMail(
  message: EmailMessage,
  from: MailAddress,
  to: string,
  context: Context,
): Promise<ComposedMail> {
  const domain = mailDomainOf(from.address);
  const messageId = `<${idPart(context.deliveryId)}@${domain}>`;
  const root = `<thread-${hashOf(context.threadKey)}@${domain}>`;
  const answered =
    isMessageId(context.replyTo) && context.replyTo !== messageId ? context.replyTo : undefined;
  const composer = new MailComposer({
    from: { name: from.name ?? "", address: from.address },
    to: { name: "", address: to },
    text: bodyText(message.text),
    html: bodyText(message.html),
    messageId,
    date: new Date(context.receivedAt),
    inReplyTo: answered ?? root,
    references: answered === undefined ? [root] : [root, answered],
    headers: {
      Subject: subjectHeader(headerText(message.subject) || "Alert"),
      // RFC 3834: no holiday notices in return; Exchange wants its own word for it.
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
      "X-Tocsin-Alert": idPart(context.alertId),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return { messageId, source: await composer.compile().build() };
}

/** One line: a subject may hold whatever an alert's sender wrote. */
function headerText(text: string): string {
  return text
    .replaceAll(/\p{Cs}/gu, "\uFFFD")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
}

/** A sender's `=?utf-8?B?…?=` would be shown decoded, as words that no page of ours and no log ever showed. */
function subjectHeader(subject: string): string | { prepared: true; value: string } {
  if (!subject.includes("=?")) return subject;
  return { prepared: true, value: encodeWord(subject, "B", 60).replaceAll("?= =?", "?=\r\n =?") };
}

/** NUL ends a text in some readers, and half a surrogate pair cannot be written in UTF-8. */
function bodyText(text: string): string {
  return text.replaceAll(/[\p{Cs}\0]/gu, "\uFFFD");
}

/** Ids are ours, UUIDs; what is not gets a stand-in rather than a way into the header. */
function idPart(id: string): string {
  return /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : hashOf(id);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function isMessageId(text: string | undefined): text is string {
  return text !== undefined && /^<[A-Za-z0-9._-]{1,128}@[A-Za-z0-9.-]{1,253}>$/.test(text);
}
