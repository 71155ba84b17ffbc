import type { ConnectionOptions } from "node:tls";
import type { Outcome } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import type { ChannelCalls } from "../../core/ports/channel.ts";
import {
  isMailAddress,
  type MailAddress,
  mailDomainOf,
  parseMailAddress,
} from "../../ground/text/mail-address.ts";
import { classify } from "./classify.ts";
import { composeMail } from "./compose.ts";
import type { EmailMessage } from "./render.tsx";
import { createSmtpSession, requiresTls, type SmtpTimeouts } from "./session.ts";
import { createSessionPool } from "./session-pool.ts";
import type { EmailDestination } from "./vendor.ts";

export interface EmailChannelOptions {
  /** Connections to the account at once. Default 2. */
  maxConnections?: number;
  /** How long an unused connection is kept, in milliseconds. Default 30,000. */
  idleMs?: number;
  /** Default: connect 20 s, greeting 30 s, a command 60 s, the verdict on a mail 10 min. */
  timeouts?: Partial<SmtpTimeouts>;
  /** What EHLO says. Default: the domain of the From address, since some relays refuse an address literal. */
  clientName?: string;
  /** For a relay with an own certificate authority. `rejectUnauthorized` is the account's. */
  tls?: ConnectionOptions;
}

const defaultTimeouts: SmtpTimeouts = {
  connectMs: 20_000,
  greetingMs: 30_000,
  commandMs: 60_000,
  verdictMs: 600_000,
};

/**
 * Sends mails over one SMTP account, one recipient a call.
 *
 * `ref` of a sent mail is its Message-ID; given back as `replyTo` it makes the next mail an answer to it. An update is a
 * new mail in the same thread: a sent mail cannot be edited.
 *
 * @throws AppError `config_invalid` when the From address is none. Anything later is an Outcome.
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
  const createSession = () => createSmtpSession(settings);
  const pool = createSessionPool(createSession, {
    maxConnections: options.maxConnections ?? 2,
    idleMs: options.idleMs ?? 30_000,
  });
  const tlsRequired = requiresTls(account);

  return {
    async send(message, context): Promise<Outcome> {
      const to = parseMailAddress(context.recipient)?.address;
      if (to === undefined || !isMailAddress(context.recipient)) return notAnAddress;
      const { messageId, source } = await composeMail(message, from, to, context);
      const step = await pool.deliver({ from: from.address, to }, source, context.signal);
      if (!step.ok) return classify(step.breakdown, tlsRequired);
      return { kind: "sent", ref: messageId, note: `The mail server took it: ${step.reply}` };
    },
    async probe(recipient, signal): Promise<Outcome> {
      if (!isMailAddress(recipient)) return notAnAddress;
      const session = createSession();
      const step = await session.open(signal);
      await session.quit();
      return step.ok ? { kind: "sent" } : classify(step.breakdown, tlsRequired);
    },
    close: () => pool.close(),
  };
}

/** The address is not repeated: what is no address may be anything, and the page shows the recipient beside it. */
const notAnAddress: Outcome = {
  kind: "rejected",
  scope: "recipient",
  reason: "address_invalid",
  detail: "The recipient is not a mail address of the form name@example.com.",
};

function readSender(destination: EmailDestination): MailAddress {
  const from = parseMailAddress(destination.from);
  if (from !== undefined) return from;
  throw new AppError(
    "config_invalid",
    `The sender of ${destination.name} (${destination.definedAt}) is not a mail address.`,
    {
      hint: "Write it as alerts@example.com or Tocsin <alerts@example.com>.",
    },
  );
}
