import type { Stage } from "./breakdown.ts";

/**
 * What the conversation with a mail server has reached, told by nodemailer's log of it.
 *
 * The log is the only witness: for a connection that breaks while the mail is being handed over nodemailer reports the
 * same error as for one that was never made. It announces the connection, every command (`client`, secrets hidden) and
 * every reply (`server`) in order. Replies answer commands first in, first out, also when they were pipelined.
 *
 *     connect ─▶ greeting ─▶ hello ─▶ [starttls ─▶ hello] ─▶ [auth] ─▶ mail ─▶ rcpt ─▶ data ─354─▶ content ─250─▶ done
 *
 * Until the 354 not a byte of the mail has left, even when DATA was pipelined behind the recipients. From the 354 on it
 * may have arrived whole. That the last byte was handed to the socket is seen too late to be relied on when the socket
 * is congested, so `content` is one stage.
 */
export interface Transcript {
  /** What is being waited for: the first step without an answer, or the last one taken when all are answered. */
  stage(): Stage;
  observe(entry: LogEntry, line: string): void;
  /** Forgets the mail before: on a connection that is used again nothing of the next one has left yet. */
  startMail(): void;
}

/** The part of a nodemailer log entry that is looked at. */
export interface LogEntry {
  tnx?: unknown;
}

/** @param onProgress called with the stage after each step, for the stage's time limit. */
export function createTranscript(onProgress: (stage: Stage) => void): Transcript {
  let latest: Stage = "connect";
  const unanswered: Stage[] = [];

  function stage(): Stage {
    return unanswered[0] ?? latest;
  }

  function hearReply(line: string): void {
    const answered = unanswered.shift();
    if (answered === undefined) return;
    latest = answered;
    // Some servers say 250 where 354 belongs, and nodemailer sends the mail then too.
    if (answered === "data" && /^[23]/.test(line)) unanswered.unshift("content");
  }

  return {
    stage,
    startMail() {
      latest = "mail";
      unanswered.length = 0;
    },
    observe(entry, line) {
      switch (entry.tnx) {
        case "network":
          if (latest !== "connect" || unanswered.length > 0) return;
          unanswered.push("greeting");
          break;
        case "client":
          unanswered.push(stageOfCommand(line, latest));
          break;
        case "server":
          hearReply(line);
          break;
        default:
          return;
      }
      onProgress(stage());
    },
  };
}

function stageOfCommand(line: string, latest: Stage): Stage {
  const verb = line.split(" ", 1)[0]?.toUpperCase() ?? "";
  switch (verb) {
    case "EHLO":
    case "HELO":
      return "hello";
    case "STARTTLS":
      return "starttls";
    case "AUTH":
      return "auth";
    case "MAIL":
      return "mail";
    case "RCPT":
      return "rcpt";
    case "DATA":
      return "data";
    case "QUIT":
      return "quit";
    default:
      // The lines of a login that follow AUTH are no commands.
      return latest;
  }
}
