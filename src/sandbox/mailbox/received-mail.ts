import PostalMime, { type Address } from "postal-mime";

/** A mail as its reader's program understands it. */
export interface ReceivedMail {
  /** Position in the stand-in, from 1. */
  id: number;
  mailbox: string;
  /** Epoch milliseconds; for a repeat, of the first copy. */
  receivedAt: number;
  /** How often a mail with this Message-ID came to this mailbox; readers see one, as in Gmail. */
  copies: number;
  /** The sender by the envelope. */
  envelopeFrom: string;
  from: string;
  to: string;
  subject: string;
  /** Epoch milliseconds by the mail's own word; `receivedAt` when it gives none. */
  date: number;
  /** With angle brackets. */
  messageId: string;
  inReplyTo?: string;
  /** With angle brackets, oldest first. */
  references: string[];
  /** In their order, names as sent, values unfolded. */
  headers: { name: string; value: string }[];
  text: string;
  html: string;
  attachments: number;
  /** As it came, one character a byte. */
  source: string;
}

export type ParsedMail = Omit<ReceivedMail, "id" | "mailbox" | "receivedAt" | "copies" | "envelopeFrom">;

export async function parseMail(source: Buffer, receivedAt: number): Promise<ParsedMail> {
  const mail = await PostalMime.parse(source);
  const date = Date.parse(mail.date ?? "");
  return {
    from: mail.from === undefined ? "" : showAddress(mail.from),
    to: (mail.to ?? []).map(showAddress).join(", "),
    subject: mail.subject ?? "",
    date: Number.isNaN(date) ? receivedAt : date,
    messageId: mail.messageId ?? "",
    ...(mail.inReplyTo === undefined ? {} : { inReplyTo: mail.inReplyTo }),
    references: mail.references?.match(/<[^<>\s]+>/g) ?? [],
    headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
    text: mail.text ?? "",
    html: mail.html ?? "",
    attachments: mail.attachments.length,
    source: source.toString("latin1"),
  };
}

function showAddress({ name, address }: Address): string {
  if (address === undefined) return name;
  return name === "" ? address : `${name} <${address}>`;
}
