import type { AlertStatus, Severity } from "./alert.ts";
import type { ChannelType } from "./delivery.ts";

/**
 * One call to one vendor, made by the vendor's rendering and sent by its channel, which alone know what else it holds.
 * A long alert becomes several Telegram messages, each with its `[i/N]`; every other kind is one message.
 */
export interface Message {
  /** The vendor's type. */
  readonly kind: ChannelType;
}

/** `rich` is the message as designed; `plain` is unformatted text that no vendor has a reason to refuse. */
export type MessageForm = "rich" | "plain";

export interface RenderOptions {
  form: MessageForm;
  /** IANA name, e.g. `Europe/Zurich`; times of the message are shown in it. Default UTC. */
  timeZone: string;
  /** For vendors whose messages carry more than the text. */
  data?: MessageData;
  /** For vendors whose messages are composed with a picture. Absent: this one has none. */
  picture?: MessagePicture;
}

/** A picture that a message is composed with. */
export interface MessagePicture {
  /** Where the program that shows the message fetches it: https. Absent: the channel brings the picture itself. */
  url?: string;
  /** What it shows, as far as that is known before it is drawn. One line. */
  alt: string;
}

/** What a message is about, for vendors that carry it next to the text. */
export interface MessageData {
  type: "alert" | "digest" | "notice";
  deliveryId: string;
  /** Epoch milliseconds at which the message was made. */
  at: number;
  alerts: {
    id: string;
    receivedAt: number;
    title: string;
    severity: Severity;
    status: string;
    /** The named facts, as on the page. */
    facts: Record<string, unknown>;
    /** The payload as it came, when it was JSON. */
    payload?: unknown;
    url?: string;
  }[];
  repeat: boolean;
  /** How often the alert has come since it first fired here, and when that was; set from the second time on. */
  history?: {
    count: number;
    firstAt: number;
    /** How long a resolved alert lasted. Milliseconds. */
    lastedMs?: number;
  };
  /** Good news only (all of it is resolved): nothing that should ring. */
  silent: boolean;
}

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
