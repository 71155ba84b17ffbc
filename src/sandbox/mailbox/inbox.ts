import type { ParsedMail, ReceivedMail } from "./received-mail.ts";

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
    mails: (mailbox) =>
      kept.filter((mail) => mailbox === undefined || mail.mailbox === mailbox.toLowerCase()),
    find: (mailbox, id) => kept.find((mail) => mail.id === id && mail.mailbox === mailbox.toLowerCase()),
    mailboxes: () => [...names].toSorted(),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed,
  };
}
