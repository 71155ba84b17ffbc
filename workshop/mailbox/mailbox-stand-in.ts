import { createFaults } from "../stand-in.ts";
import { Inbox } from "./inbox.ts";
import { createSmtpEndpoint, type MailboxStandInOptions, type MailFault } from "./smtp-endpoint.ts";
import { viewMailboxes } from "./view.tsx";

export type MailboxStandIn = Awaited<ReturnType<typeof createMailboxStandIn>>;

/** A mail provider on this machine, in memory only. */
export async function createMailboxStandIn(options: MailboxStandInOptions) {
  const { user, password } = options;
  const inbox = new Inbox();
  const faults = createFaults<MailFault>(inbox.changes.changed);
  const gone = new Set<string>();
  const { port, close } = await createSmtpEndpoint({
    ...{ ...options, inbox, faults },
    hasMailbox: (address) => !gone.has(address.toLowerCase()),
  });
  const login =
    user === undefined || password === undefined ? "" : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return {
    /** For `SMTP_URL`, with the login where there is one. */
    smtpUrl: `smtp://${login}127.0.0.1:${port}`,
    smtpPort: port,
    source: viewMailboxes(inbox, faults),
    faults,
    /** Oldest first, of one mailbox or of all. A repeat of a Message-ID only raises `copies`. A snapshot. */
    mails: (mailbox?: string) => structuredClone(inbox.mails(mailbox)),
    /** At first every address exists. */
    setExists: (address: string, exists: boolean) =>
      void (exists ? gone.delete(address.toLowerCase()) : gone.add(address.toLowerCase())),
    close,
  };
}
