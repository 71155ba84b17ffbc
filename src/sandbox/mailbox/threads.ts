import type { ReceivedMail } from "./received-mail.ts";

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
  return [...groups.values()]
    .map(toThread)
    .toSorted((a, b) => b.latestAt - a.latestAt || newestId(b) - newestId(a));
}

function toThread(mails: ReceivedMail[]): Thread {
  const latestAt = Math.max(...mails.map(({ receivedAt }) => receivedAt));
  return { mails, subject: mails[0]?.subject ?? "", latestAt };
}

function newestId({ mails }: Thread): number {
  return mails.at(-1)?.id ?? 0;
}
