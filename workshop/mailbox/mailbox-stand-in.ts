import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from "smtp-server";
import type { Now } from "../../src/core/clock.ts";
import { createFaults, listen } from "../stand-in.ts";
import { Inbox, type ParsedMail, parseMail } from "./inbox.ts";
import { viewMailboxes } from "./view.tsx";

export interface MailFault {
  /** `mail` is the verdict after the final dot. */
  stage: "greeting" | "login" | "sender" | "recipient" | "mail";
  /** The connection is cut, or there is no answer, or the answer is this SMTP code (400 to 599). */
  kind: "drop" | "hang" | number;
  /** The text of the refusal. May begin with an enhanced code. */
  text?: string;
  /** Only for this mailbox. Ignored at `greeting`, `login` and `sender`, where it is not known yet. */
  mailbox?: string;
  /** At stage `mail` with `drop` or `hang`: the mail is kept, and only the answer is lost. Default false. */
  delivered?: boolean;
}

export interface MailboxStandInOptions {
  now: Now;
  /** Default 0: any free port. */
  smtpPort?: number;
  /** Default: no login is offered. */
  login?: { user: string; password: string };
}

export type MailboxStandIn = Awaited<ReturnType<typeof createMailboxStandIn>>;

type Reply = (error?: Error | null, text?: string) => void;

/** A mail provider on this machine, in memory only: its submission server, with its refusals and faults on demand. */
export async function createMailboxStandIn({ now, smtpPort, login }: MailboxStandInOptions) {
  const inbox = new Inbox();
  const faults = createFaults<MailFault>(inbox.changes.changed);
  const gone = new Set<string>();

  const server = new SMTPServer({
    name: "mail.stand-in.example",
    banner: "stand-in mailbox",
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS", ...(login === undefined ? ["AUTH"] : [])],
    authOptional: login === undefined,
    // Our answers have their own codes. The library would add a general one before them.
    hideENHANCEDSTATUSCODES: true,
    disableReverseLookup: true,
    size: 10 << 20,
    // As long as a provider's: a hanging fault must end by the sender's own limit.
    socketTimeout: 600_000,
    closeTimeout: 1,
    onConnect: (session, reply) => meet("greeting", session, reply),
    onAuth(given, session, done) {
      const fault = takeFault("login");
      if (fault !== undefined) return strike(fault, session, (error) => done(error));
      if (given.username === login?.user && given.password === login?.password) done(null, { user: given.username });
      else done(refusal(535, "5.7.8 Username and password not accepted"));
    },
    onMailFrom(_address, session, reply) {
      const helo = session.hostNameAppearsAs;
      if (!isGoodHelo(helo)) reply(refusal(504, "5.5.2 Helo command rejected: need a fully-qualified hostname"));
      else meet("sender", session, reply);
    },
    onRcptTo({ address }, session, reply) {
      if (gone.has(address.toLowerCase()))
        reply(refusal(550, "5.1.1 The email account that you tried to reach does not exist"));
      else meet("recipient", session, reply, [address.toLowerCase()]);
    },
    onData(stream, session, reply) {
      receive(stream, session, reply).catch(() => reply(refusal(451, "4.3.0 The message could not be read")));
    },
  });
  // A sender that breaks off is no error of the server.
  server.on("error", () => {});

  function takeFault(stage: MailFault["stage"], mailboxes: readonly string[] = []): MailFault | undefined {
    const isForOne = ({ mailbox }: MailFault) =>
      mailboxes.length === 0 || mailbox === undefined || mailboxes.includes(mailbox);
    return faults.take((fault) => fault.stage === stage && isForOne(fault));
  }

  function meet(stage: MailFault["stage"], session: SMTPServerSession, reply: Reply, mailboxes?: string[]): void {
    const fault = takeFault(stage, mailboxes);
    if (fault === undefined) reply();
    else strike(fault, session, reply);
  }

  function strike({ kind, text }: MailFault, session: SMTPServerSession, reply: Reply): void {
    if (kind === "drop") {
      for (const connection of server.connections) if (connection.id === session.id) connection._socket.destroy();
    } else if (kind !== "hang") {
      reply(refusal(kind, text ?? (kind < 500 ? "4.3.0 Try again later" : "5.0.0 Refused")));
    }
  }

  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession, reply: Reply): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk as Buffer);
    if (stream.sizeExceeded) return reply(refusal(552, "5.3.4 Message size exceeds fixed limit"));
    const receivedAt = now();
    const mail = await parseMail(Buffer.concat(chunks), receivedAt);
    const mailboxes = session.envelope.rcptTo.map(({ address }) => address.toLowerCase());
    const fault = takeFault("mail", mailboxes);
    const problem = findRefusal(mail);
    if (problem !== undefined) return reply(refusal(550, problem));
    if (fault === undefined || fault.delivered === true) {
      for (const mailbox of mailboxes) inbox.add(mailbox, mail, receivedAt);
    }
    if (fault === undefined) reply(null, `2.0.0 OK queued as ${session.id}`);
    else strike(fault, session, reply);
  }

  const { port } = await listen(server.server, smtpPort);
  const user = login && `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
  return {
    /** For `SMTP_URL`, with the login where there is one. */
    smtpUrl: `smtp://${user ?? ""}127.0.0.1:${port}`,
    smtpPort: port,
    source: viewMailboxes(inbox, faults),
    faults,
    /** Oldest first, of one mailbox or of all. A repeat of a Message-ID only raises `copies`. A snapshot. */
    mails: (mailbox?: string) => structuredClone(inbox.mails(mailbox)),
    /** At first every address exists. */
    setExists: (address: string, exists: boolean) =>
      void (exists ? gone.delete(address.toLowerCase()) : gone.add(address.toLowerCase())),
    close: () =>
      new Promise<void>((resolve) => {
        for (const connection of server.connections) connection._socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

/**
 * Refuses as large providers do: broken or long lines, no single From, no Message-ID, a repeated single header (RFC
 * 5322, 2.1.1 and 3.6; Gmail's 550 5.7.1).
 */
function findRefusal({ source, headers, from }: ParsedMail): string | undefined {
  if (/[^\r]\n|^\n|\r(?!\n)/.test(source)) return "5.6.11 The message contains a bare CR or LF";
  if (/[^\r\n]{999}/.test(source)) return "5.6.0 A line of the message is longer than 998 characters";
  if (source.includes("\0")) return "5.6.0 The message contains NUL";
  for (const name of ["From", "To", "Subject", "Date", "Message-ID", "In-Reply-To", "References", "MIME-Version"]) {
    const count = headers.filter((header) => header.name.toLowerCase() === name.toLowerCase()).length;
    if (count > 1) return `5.7.1 The message has more than one ${name} header`;
    const isNeeded = name === "From" || name === "Message-ID" || name === "Date";
    if (count === 0 && isNeeded) return `5.7.1 The message has no valid ${name} header`;
  }
  return /[^\s<>@]@[^\s<>@]/.test(from) ? undefined : "5.7.1 The message has no valid From header";
}

/** Postfix's `reject_non_fqdn_helo_hostname`: a full name, or an address in brackets. */
function isGoodHelo(name: string): boolean {
  return /^\[[0-9A-Fa-f:.]+\]$|^\[IPv6:[0-9A-Fa-f:.]+\]$/.test(name) || /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(name);
}
