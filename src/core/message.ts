import type { AlertStatus, Severity } from "./alert.ts";
import type { ChannelType } from "./delivery.ts";

/** What one call to a vendor sends. Its content is known only to the vendor's rendering and channel. */
export interface Message {
  readonly kind: ChannelType;
}

/** `rich` is the message as designed. `plain` is unformatted text that no vendor has a reason to refuse. */
export type MessageForm = "rich" | "plain";

export interface RenderOptions {
  form: MessageForm;
  /** The zone of the message's times, IANA name. Default UTC. */
  timeZone: string;
  /** For vendors whose messages carry more than the text. */
  data?: MessageData;
  /** For vendors whose messages include a picture. Absent: this message has none. */
  picture?: MessagePicture;
}

export interface MessagePicture {
  /** The https address from which the reader's program fetches the picture. Absent: the channel uploads the picture. */
  url?: string;
  /** The content of the picture in words, as far as known before it is drawn. One line. */
  alt: string;
}

/** A message as data, for vendors that send it next to the text. */
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
    facts: Record<string, unknown>;
    /** The payload as it came. Absent when it was no JSON. */
    payload?: unknown;
    url?: string;
  }[];
  repeat: boolean;
  /** Present from the second alert of the key on: how often and when it came since it first fired here. */
  history?: {
    count: number;
    firstAt: number;
    /** How long a resolved alert lasted. */
    lastedMs?: number;
  };
  /** Whether the message should not ring: all its alerts are resolved. */
  silent: boolean;
}

/** A message before any vendor's syntax: of one alert, a digest or a notice. Text is always literal. */
export type Inline =
  | { kind: "text" | "bold" | "italic" | "code"; text: string }
  | { kind: "link"; text: string; href: string }
  /** An instant. It is shown in the destination's zone, or in the reader's own where the vendor can. */
  | {
      kind: "time";
      at: number;
      /** `clock`: hours and minutes, for an instant less than twelve hours away. Default: date and time. */
      shown?: "clock";
    };

export type Block =
  | { kind: "heading"; inlines: Inline[] }
  | {
      kind: "paragraph";
      inlines: Inline[];
      /** Whether the block is the sender's words. Default false. */
      quoted?: boolean;
    }
  /** Small print about the message itself: its delay, a possible repeat, a resend, a test. */
  | { kind: "note"; inlines: Inline[] }
  | { kind: "fields"; rows: { label: string; value: Inline[] }[] }
  | { kind: "list"; items: Inline[][] }
  | { kind: "code"; text: string };

export interface Document {
  /** The subject of a mail or the text of a push notification: one line of at most 200 characters. */
  subject: string;
  /** Changing parts are in brackets at the front, where mail programs ignore them when they thread. Default: `subject`. */
  mailSubject?: string;
  /** For channels with colours or priorities. */
  severity: Severity;
  status: AlertStatus;
  blocks: Block[];
}
