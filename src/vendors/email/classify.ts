import type { Outcome, ReasonCode } from "../../core/delivery.ts";
import { rejected } from "../http/classify.ts";
import { type Breakdown, type Cause, type Reply, type Stage, stages } from "./transcript.ts";

/** The wait after a server asks for time: 421, 4.7.x, or a greylist's 450 and 451. */
const busyWaitMs = 60_000;

/**
 * The outcome of a conversation that ended without an accepted mail.
 * | stage | the server refused, 4yz | the server refused, 5yz | no sensible answer |
 * |---|---|---|---|
 * | connect to hello | retry | retry: a server that refuses everybody may recover | retry |
 * | starttls | retry | account: `no_starttls` | retry |
 * | auth | retry | account: `auth_failed` | retry |
 * | mail | retry | destination: this sender is refused | retry |
 * | rcpt | retry | recipient, or the blamed party | retry |
 * | data | retry | message, or the blamed party | retry: no byte of the mail has left |
 * | content | retry | message, or the blamed party | **ambiguous** |
 * Many servers judge client and sender only at the recipient (Postfix's `smtpd_delay_reject`) or after the whole mail.
 * The refusal's text then names the blamed party: the sender means the destination, the client or a missing login the
 * account. "Relay access denied" blames the recipient, since the account may reach other mailboxes.
 * In every stage: 421 and 4.7.x wait a minute. 530, 534, 535, 538 mean the login. 503 means the order of commands.
 * 5.4.5 means a spent quota. 552, 5.2.3, 5.3.4 mean the size (RFC 5321, 3463, 4954, 6647).
 * @param tlsRequired a password will be sent, and only over TLS.
 */
export function classify(breakdown: Breakdown, tlsRequired: boolean): Outcome {
  const { stage, cause } = breakdown;
  switch (cause.kind) {
    case "reply":
      return classifyReply(stage, cause.reply, tlsRequired);
    case "no_login":
      return rejected("account", "auth_failed", noLogin);
    case "too_large":
      return rejected("message", "too_long", "The mail is larger than the mail server takes.");
    default:
      return stage === "content" ? classifyUnanswered(cause) : classifyUnsent(stage, cause);
  }
}

const noLogin =
  "The mail server offers no login here, but a password is configured. " +
  "Use its submission port (587 or 465), or remove user and password.";

type Rejected = Extract<Outcome, { kind: "rejected" }>;

type Silence = Exclude<Cause, { kind: "reply" } | { kind: "no_login" } | { kind: "too_large" }>;

function classifyReply(stage: Stage, reply: Reply, tlsRequired: boolean): Outcome {
  const blamed = blamedBy(stage, reply);
  const detail = `The mail server ${blamed === undefined ? stages[stage].refuses : blames[blamed]}: ${said(reply)}`;
  const { code, enhanced } = reply;
  if (code < 500) return classifyTemporary(stage, reply, detail);
  const refuse = (scope: Rejected["scope"], reason: ReasonCode) => rejected(scope, reason, detail);
  if (code === 503) return { kind: "retry", reason: "server_error", detail };
  if (code === 530 || code === 534 || code === 535 || code === 538) return refuse("account", "auth_failed");
  if (enhanced === "5.4.5") return refuse("account", "rate_limited");
  if (blamed === "sender") return refuse("destination", "no_rights");
  if (blamed !== undefined) return refuse("account", blamed === "login" ? "auth_failed" : "no_rights");
  // A server without EHLO has no STARTTLS either.
  if (stage === "hello" && tlsRequired && (code === 500 || code === 502)) return refuse("account", "no_starttls");
  switch (stage) {
    case "connect":
    case "greeting":
    case "hello":
    case "quit":
      return { kind: "retry", reason: "server_error", detail, waitMs: busyWaitMs, scope: "account" };
    case "starttls":
      return refuse("account", "no_starttls");
    case "auth":
      return refuse("account", "auth_failed");
    case "mail":
      return isAboutSize(reply) ? refuse("message", "too_long") : refuse("destination", "no_rights");
    case "rcpt":
      return refuse("recipient", "recipient_refused");
    case "data":
    case "content":
      return refuse("message", isAboutSize(reply) ? "too_long" : "message_refused");
    default:
      return stage satisfies never;
  }
}

type Blamed = "sender" | "client" | "login";

const blames: Record<Blamed, string> = {
  sender: "refuses the sender",
  client: "refuses this machine",
  login: "wants a login",
};

/** RFC 3463 and the registry of RFC 5248. */
const blamedByCode = new Map<string | undefined, Blamed>([
  ["5.1.7", "sender"],
  ["5.1.8", "sender"],
  ["5.7.23", "sender"],
  ["5.7.25", "client"],
  ["5.7.26", "sender"],
  ["5.7.27", "sender"],
  ["5.7.60", "sender"],
]);

/** The words of Postfix, Exim, Sendmail and Exchange. */
const blamedByWords: [Blamed, RegExp][] = [
  ["sender", /\bsend(?:er)? (?:as|address|verify|denied|rejected|refused|not|domain)\b|\bas this sender\b/i],
  [
    "login",
    /\bauthentication (?:is )?required\b|\bmust (?:first )?(?:authenticate|log ?in)\b|\bnot (?:authenticated|logged in)\b/i,
  ],
  ["client", /\bclient host\b|\bhelo command rejected\b|\bclient (?:was|is|does) not\b|\byour (?:ip|host|client)\b/i],
];

/** The party that a refusal at RCPT or later blames. Undefined: the party of the last command. */
function blamedBy(stage: Stage, { enhanced, text }: Reply): Blamed | undefined {
  if (stage !== "rcpt" && stage !== "data" && stage !== "content") return undefined;
  if (/\brecipient address rejected\b/i.test(text)) return undefined;
  return blamedByCode.get(enhanced) ?? blamedByWords.find(([, words]) => words.test(text))?.[0];
}

function classifyTemporary(stage: Stage, { code, enhanced }: Reply, detail: string): Outcome {
  const beforeMail = stage !== "mail" && stage !== "rcpt" && stage !== "data" && stage !== "content";
  const isGreylist = stage === "rcpt" && (code === 450 || code === 451);
  const busy = code === 421 || isGreylist || enhanced?.startsWith("4.7.") === true;
  return {
    kind: "retry",
    reason: "temporary_refusal",
    detail,
    ...(busy ? { waitMs: busyWaitMs } : {}),
    // The server refuses everybody now, so the account's other mails wait too.
    ...(beforeMail || code === 421 ? { scope: "account" as const } : {}),
  };
}

/** The server asked for the mail and may have all of it. Its verdict is missing. */
function classifyUnanswered(cause: Silence): Outcome {
  const ambiguous = (reason: ReasonCode, what: string): Outcome => ({
    kind: "ambiguous",
    reason,
    detail: `The mail was handed over, and then ${what}. It may have been taken.`,
  });
  switch (cause.kind) {
    case "timeout":
      return ambiguous("no_answer", `the mail server said nothing ${within(cause.afterMs)}`);
    case "aborted":
      return cause.timedOut
        ? ambiguous("no_answer", "no answer arrived within the time limit")
        : ambiguous("process_stopped", "the call was ended before the answer");
    case "bad_reply":
      return ambiguous("bad_answer", `the mail server answered “${cause.text}”`);
    case "lost":
    case "dns":
    case "unreachable":
    case "tls":
      return ambiguous("connection_lost", "the connection broke before the answer");
    default:
      return cause satisfies never;
  }
}

function classifyUnsent(stage: Stage, cause: Silence): Outcome {
  const retry = (reason: ReasonCode, detail: string): Outcome => ({ kind: "retry", reason, detail });
  const unsent = (reason: ReasonCode, what: string) => retry(reason, `${what}. Nothing was sent.`);
  const { when } = stages[stage];
  switch (cause.kind) {
    case "timeout":
      return unsent("timeout_before_send", `The mail server said nothing ${within(cause.afterMs)} (${when})`);
    case "aborted":
      return unsent(cause.timedOut ? "timeout_before_send" : "process_stopped", `The call was ended ${when}`);
    case "bad_reply":
      return unsent("bad_answer", `The mail server answered “${cause.text}” (${when})`);
    case "lost":
      return unsent("connection_lost", `The mail server closed the connection ${when}`);
    case "dns":
      return retry("dns_failed", "The mail server's name cannot be resolved.");
    case "unreachable":
      return retry("connect_failed", `The mail server cannot be reached: ${cause.text}.`);
    case "tls":
      return retry("tls_failed", `No secure connection to the mail server: ${cause.text}.`);
    default:
      return cause satisfies never;
  }
}

function isAboutSize({ code, enhanced }: Reply): boolean {
  return enhanced === undefined ? code === 552 : enhanced === "5.2.3" || enhanced === "5.3.4";
}

function said({ code, enhanced, text }: Reply): string {
  return [code, enhanced, text].filter((part) => part !== undefined && part !== "").join(" ");
}

function within(afterMs: number): string {
  return afterMs >= 1_000 ? `for ${Math.round(afterMs / 1_000)} s` : "in time";
}
