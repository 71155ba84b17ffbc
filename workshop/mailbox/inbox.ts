import PostalMime, { type Address } from "postal-mime";

/** Mails by mailbox, in memory; the oldest go when there are too many. */
export interface Inbox {
  /** Keeps a mail. A second one with the same Message-ID in the same mailbox only counts. */
  add(mailbox: string, envelopeFrom: string, mail: ParsedMail, receivedAt: number): void;
  /** Oldest first; those of one mailbox, or all. */
  mails(mailbox?: string): ReceivedMail[];
  find(mailbox: string, id: number): ReceivedMail | undefined;
  mailboxes(): string[];
  /** Returns what ends it. */
  onChange(listener: () => void): () => void;
  changed(): void;
}

const mailsKept = 5_000;

/** @param mailboxes those that are there before the first mail. */
export function createInbox(mailboxes: readonly string[]): Inbox {
  const kept: ReceivedMail[] = [];
  const names = new Set(mailboxes.map((name) => name.toLowerCase()));
  const listeners = new Set<() => void>();
  let lastId = 0;

  function changed(): void {
    for (const listener of listeners) listener();
  }

  return {
    add(address, envelopeFrom, mail, receivedAt) {
      const mailbox = address.toLowerCase();
      names.add(mailbox);
      const known = kept.find((other) => other.mailbox === mailbox && other.messageId === mail.messageId);
      if (known === undefined) {
        lastId += 1;
        kept.push({ ...mail, id: lastId, mailbox, receivedAt, copies: 1, envelopeFrom });
        if (kept.length > mailsKept) kept.shift();
      } else {
        known.copies += 1;
      }
      changed();
    },
    mails: (mailbox) => kept.filter((mail) => mailbox === undefined || mail.mailbox === mailbox.toLowerCase()),
    find: (mailbox, id) => kept.find((mail) => mail.id === id && mail.mailbox === mailbox.toLowerCase()),
    mailboxes: () => [...names].toSorted(),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed,
  };
}

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

/** Mails that a reader sees as one conversation. */
export interface Thread {
  /** Oldest first, at least one. */
  mails: ReceivedMail[];
  /** Of the first mail. */
  subject: string;
  /** Arrival of the newest mail, epoch milliseconds. */
  latestAt: number;
}

/**
 * Joins mails as mail programs do: two belong together when either names the other, or both name a third, seen or not,
 * in References or In-Reply-To (RFC 5256, 2.2, without its last step: a like subject alone joins nothing).
 * The thread with the newest mail comes first.
 */
export function groupThreads(mails: readonly ReceivedMail[]): Thread[] {
  const parents = new Map<string, string>();
  const rootOf = (id: string): string => {
    let root = id;
    for (let next = parents.get(root); next !== undefined; next = parents.get(root)) root = next;
    return root;
  };
  const join = (one: string, other: string): void => {
    const [a, b] = [rootOf(one), rootOf(other)];
    if (a !== b) parents.set(a, b);
  };
  for (const mail of mails) {
    for (const reference of [...mail.references, ...(mail.inReplyTo === undefined ? [] : [mail.inReplyTo])]) {
      join(mail.messageId, reference);
    }
  }
  const groups = new Map<string, ReceivedMail[]>();
  for (const mail of mails) {
    const root = rootOf(mail.messageId);
    groups.set(root, [...(groups.get(root) ?? []), mail]);
  }
  return [...groups.values()].map(toThread).toSorted((a, b) => b.latestAt - a.latestAt || newestId(b) - newestId(a));
}

function toThread(mails: ReceivedMail[]): Thread {
  const latestAt = Math.max(...mails.map(({ receivedAt }) => receivedAt));
  return { mails, subject: mails[0]?.subject ?? "", latestAt };
}

function newestId({ mails }: Thread): number {
  return mails.at(-1)?.id ?? 0;
}
