import { isTlsCode } from "../../ground/net/network-code.ts";
import { oneLine } from "../../ground/text/clean.ts";

/**
 * Finds how far the conversation with a mail server came, from nodemailer's log and from its reading of the mail.
 * nodemailer reports the same error for a connection that breaks during the mail and for one that never began. Its log
 * has each command (`client`, secrets hidden) and each reply (`server`) in order. Replies answer commands first in,
 * first out, even pipelined ones.
 *     connect ─▶ greeting ─▶ hello ─▶ [starttls ─▶ hello] ─▶ [auth] ─▶ mail ─▶ rcpt ─▶ data ─354─▶ content ─250─▶ done
 * nodemailer reads the mail at the 354 (or at a 250, where a server uses that). Until then no byte of the mail has
 * left. From then on the whole mail may have arrived. On a congested socket the last byte is seen too late, so
 * `content` is one stage.
 * @param onProgress called with the stage after each step, for the stage's time limit.
 */
export function createTranscript(onProgress: (stage: Stage) => void) {
  let latest: Stage = "connect";
  const unanswered: Stage[] = [];

  /** The first step without an answer. When all steps are answered: the last one. */
  function stage(): Stage {
    return unanswered[0] ?? latest;
  }

  return {
    stage,
    /** Forgets the last mail, for the next mail on a reused connection. */
    startMail(): void {
      latest = "mail";
      unanswered.length = 0;
    },
    startContent(): void {
      unanswered.push("content");
      onProgress(stage());
    },
    observe(entry: LogEntry, line: string): void {
      switch (entry.tnx) {
        case "network":
          if (latest !== "connect" || unanswered.length > 0) return;
          unanswered.push("greeting");
          break;
        case "client":
          unanswered.push(stageOfCommand(line, latest));
          break;
        case "server":
          latest = unanswered.shift() ?? latest;
          break;
        default:
          return;
      }
      onProgress(stage());
    },
  };
}

/** The fields of a nodemailer log entry that are read here. */
export interface LogEntry {
  tnx?: unknown;
}

function stageOfCommand(line: string, latest: Stage): Stage {
  // The lines of a login after AUTH are no commands.
  return stageOfVerb.get(line.split(" ", 1)[0]?.toUpperCase() ?? "") ?? latest;
}

const stageOfVerb = new Map<string, Stage>([
  ["EHLO", "hello"],
  ["HELO", "hello"],
  ["STARTTLS", "starttls"],
  ["AUTH", "auth"],
  ["MAIL", "mail"],
  ["RCPT", "rcpt"],
  ["DATA", "data"],
  ["QUIT", "quit"],
]);

/** The most characters of a server's words in a detail. */
export const maxReplyUnits = 180;

/** The steps of an SMTP conversation, in order. `refuses`: for a refusal. `when`: for any other failure. */
export const stages = {
  connect: { refuses: "refuses service", when: "while connecting" },
  greeting: { refuses: "refuses service", when: "before its greeting" },
  hello: { refuses: "refuses the greeting", when: "after EHLO" },
  starttls: { refuses: "refuses STARTTLS, without which no password is sent", when: "during STARTTLS" },
  auth: { refuses: "refuses the login", when: "during the login" },
  mail: { refuses: "refuses the sender", when: "after MAIL FROM" },
  rcpt: { refuses: "refuses the recipient", when: "after RCPT TO" },
  data: { refuses: "refuses the mail", when: "after DATA" },
  content: { refuses: "refuses the mail", when: "after the mail" },
  quit: { refuses: "refuses service", when: "after QUIT" },
};
export type Stage = keyof typeof stages;

/** A server's "no": a code from 400 to 599. */
export interface Reply {
  code: number;
  /** RFC 3463, e.g. `4.7.1`. Absent when the server gives none. */
  enhanced?: string;
  /** One line, without secrets. */
  text: string;
}

export type Cause =
  | { kind: "reply"; reply: Reply }
  /** The server sent no SMTP reply, or the wrong one. */
  | { kind: "bad_reply"; text: string }
  | { kind: "lost" }
  | { kind: "timeout"; afterMs: number }
  /** The caller ended the call. `timedOut`: its time limit did. */
  | { kind: "aborted"; timedOut: boolean }
  | { kind: "dns" }
  | { kind: "unreachable"; text: string }
  | { kind: "tls"; text: string }
  /** A password is configured, but the server offers no login. */
  | { kind: "no_login" }
  /** The mail is larger than the server's announced limit. Nothing was sent. */
  | { kind: "too_large" };

/** Why and in which stage a conversation ended without an accepted mail. */
export interface Breakdown {
  stage: Stage;
  cause: Cause;
}

interface SmtpError extends Error {
  code?: string;
  /** The system's error code where `code` is nodemailer's own. */
  originalCode?: string;
  command?: string;
  response?: string;
  responseCode?: number;
}

/** @param stage the awaited step by the transcript @param redact removes secrets from the server's words */
export function readBreakdown(error: Error, stage: Stage, redact: (text: string) => string): Breakdown {
  const { code, originalCode, command, response, responseCode } = error as SmtpError;
  if (response !== undefined) {
    const refused = responseCode !== undefined && responseCode >= 400 && responseCode <= 599;
    const text = oneLine(redact(response), maxReplyUnits);
    return refused
      ? {
          stage: stageOfReply(command, code) ?? stage,
          cause: { kind: "reply", reply: parseReply(responseCode, redact(response)) },
        }
      : { stage, cause: { kind: "bad_reply", text } };
  }
  if (code === "EDNS") return { stage, cause: { kind: "dns" } };
  if (code === "ETIMEDOUT") return { stage, cause: { kind: "timeout", afterMs: 0 } };
  if (code === "EMESSAGE" && command === "MAIL FROM") return { stage, cause: { kind: "too_large" } };
  if (code === "EPROTOCOL") return { stage, cause: { kind: "bad_reply", text: "an answer without an end" } };
  if (code === "ETLS" || (originalCode !== undefined && isTlsCode(originalCode))) {
    return { stage, cause: { kind: "tls", text: oneLine(redact(error.message), maxReplyUnits) } };
  }
  if (stage === "connect") return { stage, cause: { kind: "unreachable", text: originalCode ?? "connection closed" } };
  return { stage, cause: { kind: "lost" } };
}

/** The step that a reply answers: the server may refuse a pipelined command after later ones were sent. */
function stageOfReply(command: string | undefined, code: string | undefined): Stage | undefined {
  if (command === "DATA" && code === "EMESSAGE") return "content";
  if (command?.startsWith("AUTH")) return "auth";
  return stageOfVerb.get(command?.replace(/ (?:FROM|TO)$/, "") ?? "");
}

/** Joins the lines of a reply and removes their codes. */
export function parseReply(code: number, response: string): Reply {
  let enhanced: string | undefined;
  const lines = response.split(/\r?\n/).map((line) => {
    const match = /^(?:\d{3}[ -])?(?:([245]\.\d{1,3}\.\d{1,3})(?=\s|$))?(.*)$/s.exec(line);
    enhanced ??= match?.[1];
    return match?.[2]?.trim() ?? "";
  });
  const text = oneLine(lines.filter((line) => line !== "" && line !== String(code)).join(" "), maxReplyUnits);
  return enhanced === undefined ? { code, text } : { code, enhanced, text };
}
