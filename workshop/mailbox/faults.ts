import { createQueue, isTicked, type Queue } from "../stand-in.ts";

/** The step of a conversation at which a fault strikes. `mail` is the verdict after the final dot. */
const mailStages = ["greeting", "login", "sender", "recipient", "mail"] as const;
export type MailStage = (typeof mailStages)[number];

export interface MailFault {
  stage: MailStage;
  /** The line is cut, or nothing is said any more, or this SMTP code (400 to 599) is the answer. */
  kind: "drop" | "hang" | number;
  /** What the refusal says; may begin with an enhanced code. */
  text?: string;
  /** Only for this mailbox; at `greeting`, `login` and `sender` it is not known yet and ignored. */
  mailbox?: string;
  /**
   * At stage `mail` with `drop` or `hang`: the mail is kept all the same, and only the answer is lost. Default false.
   */
  delivered?: boolean;
}

export type MailFaults = Queue<MailFault>;

export interface MailFaultQueue extends MailFaults {
  /** Takes the first fault that fits out of the queue. */
  take(stage: MailStage, mailboxes?: readonly string[]): MailFault | undefined;
}

export function createMailFaultQueue(onChange: () => void): MailFaultQueue {
  const { takeFirst, ...queue } = createQueue<MailFault>(onChange);
  return {
    ...queue,
    take: (stage, mailboxes = []) =>
      takeFirst(
        (fault) =>
          fault.stage === stage &&
          (mailboxes.length === 0 || fault.mailbox === undefined || mailboxes.includes(fault.mailbox)),
      ),
  };
}

/** A fault from a form or from JSON, or what is wrong with it. */
export function readMailFault(given: unknown): (MailFault & { times?: number }) | string {
  if (typeof given !== "object" || given === null) return "a fault is an object with a stage and a kind";
  const { stage, kind, text, mailbox, delivered, times } = given as Record<string, unknown>;
  const knownStage = mailStages.find((candidate) => candidate === stage);
  if (knownStage === undefined) return `stage must be one of ${mailStages.join(", ")}`;
  const code = Number(kind);
  const isCode = Number.isInteger(code) && code >= 400 && code <= 599;
  if (kind !== "drop" && kind !== "hang" && !isCode) return "kind must be drop, hang, or a code from 400 to 599";
  const count = Number(times ?? 1);
  if (!Number.isInteger(count) || count < 1 || count > 1_000) return "times must be a number from 1 to 1000";
  return {
    stage: knownStage,
    kind: kind === "drop" || kind === "hang" ? kind : code,
    times: count,
    ...(typeof text === "string" && text !== "" ? { text: text.replaceAll(/\p{Cc}+/gu, " ").slice(0, 200) } : {}),
    ...(typeof mailbox === "string" && mailbox !== "" ? { mailbox: mailbox.toLowerCase() } : {}),
    ...(isTicked(delivered) ? { delivered: true } : {}),
  };
}
