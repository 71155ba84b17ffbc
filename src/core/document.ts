import type { AlertStatus, Severity } from "./alert.ts";

/**
 * A message before any channel's syntax: what rendering makes of one alert, a digest or a notice, and what each
 * channel's renderer turns into Telegram entities, HTML, or plain text. Text is always literal.
 */
export type Inline =
  | { kind: "text" | "bold" | "italic" | "code"; text: string }
  | { kind: "link"; text: string; href: string }
  /** An instant; a channel shows it in the destination's zone, or in the reader's own where it can. */
  | {
      kind: "time";
      at: number;
      /**
       * `clock`: hours and minutes are enough, as the instant is less than twelve hours from the message. Default: all
       * of it.
       */
      shown?: "clock";
    };

export type Block =
  | { kind: "heading"; inlines: Inline[] }
  | {
      kind: "paragraph";
      inlines: Inline[];
      /** The sender's own words, set apart so that they cannot pass for ours. Default false. */
      quoted?: boolean;
    }
  /** Small print that says something about the message itself: how late, a possible repeat, a resend, a test. */
  | { kind: "note"; inlines: Inline[] }
  | { kind: "fields"; rows: { label: string; value: Inline[] }[] }
  | { kind: "list"; items: Inline[][] }
  | { kind: "code"; text: string };

export interface Document {
  /**
   * One line of plain text: the subject of a mail, the text of a push notification. No line breaks, at most 200
   * characters.
   */
  subject: string;
  /**
   * The subject of a mail, where that differs: what changes from one mail of a thread to the next stands in brackets
   * before the rest, since mail programs ignore it there when they compare subjects. Default: `subject`.
   */
  mailSubject?: string;
  /** For channels that colour or prioritise. */
  severity: Severity;
  status: AlertStatus;
  blocks: Block[];
}
