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

export interface SmtpTimeouts {
  /** DNS and TCP. For `smtps://` also TLS. */
  connectMs: number;
  greetingMs: number;
  /** Any command up to DATA. Shorter than RFC 5321's 5 minutes: nothing has left yet, so another try costs nothing. */
  commandMs: number;
  /** From the server's go-ahead for the mail to its verdict (RFC 5321, 4.5.3.2.6: 10 minutes). */
  verdictMs: number;
}

export interface SessionSettings {
  account: EmailAccount;
  /** The name in EHLO. */
  clientName: string;
  timeouts: SmtpTimeouts;
  tls?: ConnectionOptions;
}

export interface Envelope {
  from: string;
  to: string;
}

/** `reply`: the server's answer to an accepted mail. Its queue id helps the server's owner to search. */
export type Step = { ok: true; reply?: string } | { ok: false; breakdown: Breakdown };

/** Whether the account has a password that must not travel in clear text. */
export function requiresTls(account: EmailAccount): boolean {
  return account.password !== undefined && !account.allowInsecureAuth;
}

const quitMs = 1_000;

type Settle = (problem?: Cause | Error | null) => void;

/** One connection to a mail server. It takes one call at a time, and is useless after a failed call. */
export class SmtpSession {
  readonly #account: EmailAccount;
  readonly #timeouts: SmtpTimeouts;
  readonly #redact: (text: string) => string;
  readonly #transcript = createTranscript((stage) => this.#restartTimer(stage));
  readonly #connection: SMTPConnection;
  #state: "new" | "open" | "closed" = "new";
  #timer?: NodeJS.Timeout;
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
      // Logs commands and replies, with credentials masked. `debug` would log the mail as well.
      transactionLog: true,
      // The step timer below decides. These limits only bound steps that the timer cannot see, such as a stuck TLS
      // handshake.
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

  async open(signal: AbortSignal): Promise<Step> {
    const step = await this.#run(signal, (settle) => {
      this.#connection.connect((error) => (error ? settle(error) : this.#logIn(settle)));
    });
    if (step.ok) this.#state = "open";
    else this.destroy();
    return step;
  }

  /** Asks whether the server would accept a mail from `from` to `to`. Sends no mail. Only `quit` may follow. */
  offer({ from, to }: Envelope, signal: AbortSignal): Promise<Step> {
    this.#transcript.startMail();
    const { say } = speakerOf(this.#connection);
    return this.#run(signal, (settle) => {
      // Most servers judge sender and client only at the recipient.
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
      // nodemailer reads the mail at the server's go-ahead. It sends DATA earlier, together with the recipients.
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
        // nodemailer does not fail when a server refuses some recipients.
        settle(error ?? info?.rejectedErrors?.[0]);
      });
    });
    return step.ok ? { ok: true, reply: oneLine(this.#redact(response), maxReplyUnits) } : step;
  }

  isOpen(): boolean {
    return this.#state === "open";
  }

  /** Says goodbye and closes. Cuts the connection after a second. */
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

  /** Ends at the call's callback, the connection's end, the step's time limit or the caller's signal. */
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
      // Without this check nodemailer sends without a login, and the server refuses every recipient.
      settle({ kind: "no_login" });
    } else if (requiresTls(this.#account) && !this.#connection.secure) {
      // The options above already exclude this case. A password needs a second check.
      settle({ kind: "tls", text: "the connection is not encrypted" });
    } else {
      this.#connection.login({ user, pass: password.reveal() }, (error) => settle(error));
    }
  }
}

/** nodemailer has no method for a single command. Its `reset` uses the same members. A test fails if they change. */
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

/** An error in nodemailer's form. */
function refusal(response: string, command: string): Error {
  const responseCode = Number(response.slice(0, 3));
  return Object.assign(new Error("refused"), { response, responseCode, command });
}

/** Stages that are not listed have `commandMs`. */
const limits: Partial<Record<Stage, keyof SmtpTimeouts>> = {
  connect: "connectMs",
  greeting: "greetingMs",
  content: "verdictMs",
};
