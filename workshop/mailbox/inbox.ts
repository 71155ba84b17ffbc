import PostalMime, { type Address, type Email } from "postal-mime";
import { createChanges } from "../stand-in.ts";

export interface ReceivedMail extends ParsedMail {
  id: number;
  mailbox: string;
  /** Epoch milliseconds. For a repeat: of the first copy. */
  receivedAt: number;
  /** How often a mail with this Message-ID came to this mailbox. Readers see one, as in Gmail. */
  copies: number;
}

export type ParsedMail = Awaited<ReturnType<typeof parseMail>>;

/** Above this count the oldest are dropped. */
const mailsKept = 5_000;

export class Inbox {
  readonly changes = createChanges();
  #kept: ReceivedMail[] = [];
  #lastId = 0;

  /** A second mail with the same Message-ID in the same mailbox is only counted. */
  add(address: string, mail: ParsedMail, receivedAt: number): void {
    const mailbox = address.toLowerCase();
    const known = this.mails(mailbox).find(({ messageId }) => messageId === mail.messageId);
    if (known === undefined) {
      this.#lastId += 1;
      const received = { ...mail, id: this.#lastId, mailbox, receivedAt, copies: 1 };
      this.#kept = [...this.#kept.slice(1 - mailsKept), received];
    } else {
      known.copies += 1;
    }
    this.changes.changed();
  }

  /** Oldest first, of one mailbox or of all. */
  mails(mailbox?: string): ReceivedMail[] {
    return this.#kept.filter((mail) => mailbox === undefined || mail.mailbox === mailbox.toLowerCase());
  }

  mailboxes(): string[] {
    return [...new Set(this.#kept.map(({ mailbox }) => mailbox))].sort();
  }
}

/** A mail as the reader's program understands it. */
export async function parseMail(source: Buffer, receivedAt: number) {
  const mail = await PostalMime.parse(source);
  const date = Date.parse(mail.date ?? "");
  return {
    from: mail.from === undefined ? "" : showAddress(mail.from),
    to: (mail.to ?? []).map(showAddress).join(", "),
    subject: mail.subject ?? "",
    /** Epoch milliseconds from the mail's header. Without it: `receivedAt`. */
    date: Number.isNaN(date) ? receivedAt : date,
    messageId: mail.messageId ?? "",
    inReplyTo: mail.inReplyTo,
    /** With angle brackets, oldest first. */
    references: mail.references?.match(/<[^<>\s]+>/g) ?? [],
    /** In order, names as sent, values unfolded. */
    headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
    text: mail.text ?? "",
    html: withPictures(mail),
    attachments: mail.attachments.length,
    /** As received, one character a byte. */
    source: source.toString("latin1"),
  };
}

/** Mail programs show attached pictures where the mail names them. */
function withPictures({ html = "", attachments }: Email): string {
  return attachments.reduce((shown, { contentId = "", mimeType, content }) => {
    const picture = `data:${mimeType};base64,${Buffer.from(content as ArrayBuffer).toString("base64")}`;
    return contentId === "" ? shown : shown.replaceAll(`cid:${contentId.replace(/^<|>$/g, "")}`, picture);
  }, html);
}

function showAddress({ name, address = "" }: Address): string {
  if (name === "" || address === "") return name || address;
  return `${name} <${address}>`;
}

/**
 * The newest conversation first, its oldest mail first. Mail programs join two mails when either names the other, or
 * both name a third, in References or In-Reply-To (RFC 5256, 2.2). An equal subject alone joins nothing.
 */
export function groupThreads(mails: readonly ReceivedMail[]): ReceivedMail[][] {
  let threads: { ids: Set<string>; mails: ReceivedMail[] }[] = [];
  for (const mail of mails) {
    const ids = new Set([mail.messageId, ...mail.references, mail.inReplyTo ?? mail.messageId]);
    const related = threads.filter((thread) => [...ids].some((id) => thread.ids.has(id)));
    const joined = { ids: new Set(ids), mails: [...related.flatMap((thread) => thread.mails), mail] };
    for (const thread of related) for (const id of thread.ids) joined.ids.add(id);
    threads = [...threads.filter((thread) => !related.includes(thread)), joined];
  }
  // Each thread was moved to the end with its newest mail.
  return threads.reverse().map((thread) => thread.mails.sort((a, b) => a.id - b.id));
}
