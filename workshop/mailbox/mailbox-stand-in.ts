import { createFaults } from "../stand-in.ts";
import { groupThreads, Inbox, type ReceivedMail } from "./inbox.ts";
import { createSmtpEndpoint, type MailboxStandInOptions, type MailFault } from "./smtp-endpoint.ts";
import { viewMailboxes } from "./view.tsx";

export type MailboxStandIn = Awaited<ReturnType<typeof createMailboxStandIn>>;

/** A mail provider on this machine, in memory only. */
export async function createMailboxStandIn(options: MailboxStandInOptions) {
  const { user, password, tls } = options;
  const inbox = new Inbox();
  const faults = createFaults<MailFault>(inbox.changes.changed);
  const gone = new Set<string>();
  const { port, close } = await createSmtpEndpoint({
    ...{ ...options, inbox, faults },
    hasMailbox: (address) => !gone.has(address.toLowerCase()),
  });
  const login =
    user === undefined || password === undefined ? "" : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  const snapshot = (mailbox?: string) => structuredClone(inbox.mails(mailbox));
  return {
    /** For `SMTP_URL`, with the login where there is one. */
    smtpUrl: `${tls?.from === "start" ? "smtps" : "smtp"}://${login}127.0.0.1:${port}`,
    smtpPort: port,
    source: viewMailboxes(inbox, faults),
    faults,
    /** Oldest first, of one mailbox or of all. A repeat of a Message-ID only raises `copies`. A snapshot. */
    mails: snapshot,
    /** Joined as by a mail program, the newest first. */
    threads: (mailbox: string) => groupThreads(snapshot(mailbox)),
    /** At first every address exists. */
    setExists: (address: string, exists: boolean) =>
      void (exists ? gone.delete(address.toLowerCase()) : gone.add(address.toLowerCase())),
    /** Resolves when the mailbox (or all together) holds at least `count` mails. Rejects after 10 seconds. */
    waitForMails(count: number, mailbox?: string): Promise<ReceivedMail[]> {
      const look = () => (inbox.mails(mailbox).length < count ? undefined : snapshot(mailbox));
      const complaint = () => `${mailbox ?? "the mailbox"} holds ${inbox.mails(mailbox).length} of ${count} mails`;
      return inbox.changes.waitFor(look, 10_000, complaint);
    },
    close,
  };
}
