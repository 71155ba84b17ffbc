import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Now } from "../../src/core/clock.ts";
import { closeServer, listen, urlHostOf, waitFor } from "../stand-in.ts";
import { createMailFaultQueue, type MailFaults } from "./faults.ts";
import { createInbox, groupThreads, type ReceivedMail, type Thread } from "./inbox.ts";
import { createMailboxPage } from "./page.tsx";
import { createSelfSignedCertificate } from "./self-signed-certificate.ts";
import { createSmtpEndpoint } from "./smtp-endpoint.ts";

export interface MailboxStandInOptions {
  now: Now;
  /** Default 0: any free port. */
  smtpPort?: number;
  /** Default 0: any free port. */
  httpPort?: number;
  /** Default `127.0.0.1`. */
  host?: string;
  /** A login is required when both are given. Default: none, and none is offered. */
  user?: string;
  password?: string;
  /**
   * Default `none`: passwords are taken in clear text. With the others only over TLS, by a certificate made at the
   * start.
   */
  tls?: "none" | "starttls" | "implicit";
  /** The addresses that exist; any other is refused. Default: every address exists. */
  mailboxes?: string[];
  /** Default 10 MiB. */
  maxBytes?: number;
}

/** A mail provider on this machine: takes mails by SMTP and shows what their readers would see. In memory only. */
export interface MailboxStandIn {
  /** Of the page, without a slash at the end. */
  readonly url: string;
  /** For `SMTP_URL`, with the login where there is one. */
  readonly smtpUrl: string;
  readonly smtpPort: number;
  readonly httpPort: number;
  /** PEM of the certificate that it shows, to be trusted as `ca`. Absent without TLS. */
  readonly certificate?: string;
  readonly faults: MailFaults;
  /** Oldest first; those of one mailbox, or all. A repeat of a Message-ID only raises `copies`. A snapshot. */
  mails(mailbox?: string): ReceivedMail[];
  /** As a mail program joins them, the newest first. */
  threads(mailbox: string): Thread[];
  /** From now on the address does not exist, or exists again. */
  setExists(address: string, exists: boolean): void;
  /**
   * Resolves when the mailbox (or all together) holds at least `count` mails; rejects after `timeoutMs` (default
   * 10,000).
   */
  waitForMails(count: number, mailbox?: string, timeoutMs?: number): Promise<ReceivedMail[]>;
  close(): Promise<void>;
}

export async function createMailboxStandIn(options: MailboxStandInOptions): Promise<MailboxStandIn> {
  const host = options.host ?? "127.0.0.1";
  const tls = options.tls ?? "none";
  const certificate = tls === "none" ? undefined : createSelfSignedCertificate(options.now());
  const inbox = createInbox(options.mailboxes ?? []);
  const faults = createMailFaultQueue(inbox.changed);
  const known =
    options.mailboxes === undefined ? undefined : new Set(options.mailboxes.map((name) => name.toLowerCase()));
  const gone = new Set<string>();

  const smtp = await createSmtpEndpoint({
    now: options.now,
    inbox,
    faults,
    host,
    port: options.smtpPort ?? 0,
    tls,
    certificate,
    user: options.user,
    password: options.password,
    maxBytes: options.maxBytes ?? 10 * 1024 * 1024,
    hasMailbox: (address) => !gone.has(address.toLowerCase()) && known?.has(address.toLowerCase()) !== false,
  });
  const page = createMailboxPage({ inbox, faults });
  const servePage = getRequestListener(page.app.fetch);
  const server = createServer((request, response) => void servePage(request, response));
  const httpPort = await listen(server, options.httpPort ?? 0, host).catch(async (error: unknown) => {
    await smtp.close();
    throw error;
  });
  const urlHost = urlHostOf(host);
  const snapshot = (mailbox?: string) => structuredClone(inbox.mails(mailbox));

  return {
    url: `http://${urlHost}:${httpPort}`,
    smtpUrl: `${tls === "implicit" ? "smtps" : "smtp"}://${loginOf(options)}${urlHost}:${smtp.port}`,
    smtpPort: smtp.port,
    httpPort,
    certificate: certificate?.cert,
    faults,
    mails: snapshot,
    threads: (mailbox) => groupThreads(snapshot(mailbox)),
    setExists(address, exists) {
      if (exists) {
        gone.delete(address.toLowerCase());
        known?.add(address.toLowerCase());
      } else {
        gone.add(address.toLowerCase());
      }
    },
    waitForMails(count, mailbox, timeoutMs = 10_000) {
      const mails = () => inbox.mails(mailbox);
      const look = () => (mails().length < count ? undefined : structuredClone(mails()));
      const complaint = () => `${mailbox ?? "the mailbox"} holds ${mails().length} of ${count} mails`;
      return waitFor(inbox.onChange, look, timeoutMs, complaint);
    },
    async close() {
      page.close();
      await Promise.all([closeServer(server), smtp.close()]);
    },
  };
}

function loginOf({ user, password }: MailboxStandInOptions): string {
  if (user === undefined || password === undefined) return "";
  return `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
}
