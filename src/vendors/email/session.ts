import { Readable } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import type { CallBounds } from "../../core/ports/channel.ts";
import { isTimeout } from "../../ground/net/time-limit.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { createAccountRedactor } from "./send.ts";
import {
  type Breakdown,
  type Cause,
  createTranscript,
  type LogEntry,
  maxReplyUnits,
  readBreakdown,
  type Stage,
} from "./transcript.ts";
import type { EmailAccount } from "./vendor.ts";

/** How long each kind of step may take, in milliseconds. */
export interface SmtpTimeouts {
  /** DNS and TCP, and TLS where it comes first. */
  connectMs: number;
  greetingMs: number;
  /** Any one command up to DATA. Short of RFC 5321's 5 minutes: nothing has left, and another try costs nothing. */
  commandMs: number;
  /** From the server's go-ahead for the mail to its verdict (RFC 5321, 4.5.3.2.6: 10 minutes). */
  verdictMs: number;
}

export interface SessionSettings {
  account: EmailAccount;
  /** What EHLO says. */
  clientName: string;
  timeouts: SmtpTimeouts;
  tls?: ConnectionOptions;
}

export interface Envelope {
  from: string;
  to: string;
}

/** `reply` is the server's word on a mail that it took: its queue id is what its owner can search for. */
export type Step = { ok: true; reply?: string } | { ok: false; breakdown: Breakdown };

/** Whether a password is to be sent that must not travel in clear text. */
export function requiresTls(account: EmailAccount): boolean {
  return account.password !== undefined && !account.allowInsecureAuth;
}

const quitMs = 1_000;

type Settle = (problem?: Cause | Error | null) => void;

/** One connection to a mail server. It takes one call at a time, and is of no more use after a call that failed. */
export class SmtpSession {
  readonly #account: EmailAccount;
  readonly #timeouts: SmtpTimeouts;
  readonly #redact: (text: string) => string;
  readonly #transcript = createTranscript((stage) => this.#restartTimer(stage));
  readonly #connection: SMTPConnection;
  #state: "new" | "open" | "closed" = "new";
  #timer?: NodeJS.Timeout;
  /** Ends the call under way; set while there is one. */
  #interrupt?: Settle;
  #notifyClosed?: () => void;

  constructor({ account, timeouts, clientName, tls }: SessionSettings) {
    this.#account = account;
    this.#timeouts = timeouts;
    this.#redact = createAccountRedactor(account);
    const observe = (entry: LogEntry, line: unknown): void =>
      this.#transcript.observe(entry, typeof line === "string" ? line : "");
    this.#connection = new SMTPConnection({
      host: account.host,
      port: account.port,
      secure: account.secure,
      requireTLS: !account.secure && requiresTls(account),
      name: clientName,
      tls: { ...tls, rejectUnauthorized: account.rejectUnauthorized },
      logger: { debug: observe, info: observe, warn: observe, error: observe },
      // Commands and replies, with credentials masked; `debug` would log the mail as well.
      transactionLog: true,
      // The step timer below decides; these only bound what it cannot see, such as a stuck TLS handshake.
      connectionTimeout: timeouts.connectMs + timeouts.greetingMs + timeouts.commandMs,
      dnsTimeout: timeouts.connectMs,
      greetingTimeout: timeouts.greetingMs + timeouts.commandMs,
      socketTimeout: timeouts.verdictMs + timeouts.commandMs,
      socketCloseTimeout: 0,
      maxResponseSize: 64 * 1024,
    });
    this.#connection.on("error", (error: Error) => this.#end(error));
    this.#connection.on("end", () => this.#end({ kind: "lost" }));
  }

  /** Connects, upgrades to TLS where offered or required, and logs in. */
  async open(signal: AbortSignal): Promise<Step> {
    const step = await this.#run(signal, (settle) => {
      this.#connection.connect((error) => (error ? settle(error) : this.#logIn(settle)));
    });
    if (step.ok) this.#state = "open";
    else this.destroy();
    return step;
  }

  /** Whether the server would take a mail of this sender for this recipient; none is sent, and `quit` is all that may follow. */
  offer({ from, to }: Envelope, signal: AbortSignal): Promise<Step> {
    this.#transcript.startMail();
    const { say } = speakerOf(this.#connection);
    return this.#run(signal, (settle) => {
      // Most servers judge the sender and the client only when they hear the recipient.
      say(`MAIL FROM:<${from}>`, (sender) => {
        if (!isYes(sender)) return settle(refusal(sender, "MAIL FROM"));
        say(`RCPT TO:<${to}>`, (recipient) => {
          if (!isYes(recipient)) return settle(refusal(recipient, "RCPT TO"));
          say("RSET", () => settle(null));
        });
      });
    });
  }

  async deliver(envelope: Envelope, mail: Buffer, { signal, mayCall }: CallBounds): Promise<Step> {
    this.#transcript.startMail();
    let response = "";
    const step = await this.#run(signal, (settle) => {
      // Read in the turn of the server's go-ahead. DATA is no such moment: nodemailer says it with the recipients.
      const contents = new Readable({
        read: () => {
          if (mayCall?.() === false) {
            settle({ kind: "aborted", timedOut: false });
            this.destroy();
            return;
          }
          this.#transcript.startContent();
          contents.push(mail);
          contents.push(null);
        },
      });
      this.#connection.send({ ...envelope, size: mail.length }, contents, (error, info) => {
        response = info?.response ?? "";
        // A server that refuses some recipients does not make nodemailer fail.
        settle(error ?? info?.rejectedErrors?.[0]);
      });
    });
    return step.ok ? { ok: true, reply: oneLine(this.#redact(response), maxReplyUnits) } : step;
  }

  /** Whether it stands and can take a mail. */
  isOpen(): boolean {
    return this.#state === "open";
  }

  /** Says goodbye and closes; cuts the line after a second. */
  quit(): Promise<void> {
    if (this.#state === "closed") return Promise.resolve();
    return new Promise((resolve) => {
      const cut = setTimeout(() => this.destroy(), quitMs);
      this.#notifyClosed = () => {
        clearTimeout(cut);
        resolve();
      };
      if (this.#state === "open") this.#connection.quit();
      else this.destroy();
      this.#state = "closed";
    });
  }

  /** Cuts the line. */
  destroy(): void {
    this.#connection.close();
    this.#end({ kind: "lost" });
  }

  #end(cause: Cause | Error): void {
    this.#state = "closed";
    clearTimeout(this.#timer);
    this.#interrupt?.(cause);
    this.#notifyClosed?.();
  }

  #restartTimer(stage: Stage): void {
    if (this.#interrupt === undefined) return;
    const afterMs = this.#timeouts[limits[stage] ?? "commandMs"];
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#interrupt?.({ kind: "timeout", afterMs });
      this.destroy();
    }, afterMs);
  }

  /** Runs one call to its callback, the connection's end, its time limit or the caller's signal: the first of them ends it. */
  #run(signal: AbortSignal, begin: (settle: Settle) => void): Promise<Step> {
    return new Promise((resolve) => {
      const settle: Settle = (problem) => {
        if (this.#interrupt !== settle) return;
        this.#interrupt = undefined;
        clearTimeout(this.#timer);
        signal.removeEventListener("abort", onAbort);
        resolve(problem ? { ok: false, breakdown: this.#describe(problem) } : { ok: true });
      };
      const onAbort = (): void => {
        settle({ kind: "aborted", timedOut: isTimeout(signal.reason) });
        this.destroy();
      };
      this.#interrupt = settle;
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      this.#restartTimer(this.#transcript.stage());
      begin(settle);
    });
  }

  #describe(problem: Cause | Error): Breakdown {
    const stage = this.#transcript.stage();
    return problem instanceof Error ? readBreakdown(problem, stage, this.#redact) : { stage, cause: problem };
  }

  #logIn(settle: Settle): void {
    const { user, password } = this.#account;
    if (user === undefined || password === undefined) {
      settle();
    } else if (!this.#connection.allowsAuth) {
      // nodemailer would continue without a login, and every recipient would be refused for it.
      settle({ kind: "no_login" });
    } else if (requiresTls(this.#account) && !this.#connection.secure) {
      // Unreachable by the options above; a password in clear text is not left to options alone.
      settle({ kind: "tls", text: "the connection is not encrypted" });
    } else {
      this.#connection.login({ user, pass: password.reveal() }, (error) => settle(error));
    }
  }
}

/**
 * One command alone, which nodemailer has no method for: with `send` a mail follows. The two members are how it says its
 * own commands (`reset` does just this); its version is fixed, and a probe's test fails should they change.
 */
function speakerOf(connection: SMTPConnection): { say(command: string, onReply: (reply: string) => void): void } {
  const inner = connection as unknown as {
    _sendCommand(command: string): void;
    _responseActions: ((reply: string) => void)[];
  };
  return {
    say(command, onReply) {
      inner._responseActions.push(onReply);
      inner._sendCommand(command);
    },
  };
}

function isYes(reply: string): boolean {
  return reply.startsWith("2");
}

/** As nodemailer would describe it. */
function refusal(response: string, command: string): Error {
  const responseCode = Number(response.slice(0, 3));
  return Object.assign(new Error("refused"), { response, responseCode, command });
}

/** `commandMs` holds for the others. */
const limits: Partial<Record<Stage, keyof SmtpTimeouts>> = {
  connect: "connectMs",
  greeting: "greetingMs",
  content: "verdictMs",
};
