import type { AlertStatus, Severity } from "./alert.ts";
import type { ChannelType } from "./delivery.ts";

/**
 * One call to one vendor. Only the vendor's rendering, which makes it, and its channel, which sends it, know the rest of its
 * content. A long alert becomes several Telegram messages, each with its `[i/N]`. Every other kind is one message.
 */
export interface Message {
  /** The vendor's type. */
  readonly kind: ChannelType;
}

/** `rich` is the message as designed. `plain` is unformatted text that no vendor has a reason to refuse. */
export type MessageForm = "rich" | "plain";

export interface RenderOptions {
  form: MessageForm;
  /** IANA name, e.g. `Europe/Zurich`, for the times of the message. Default UTC. */
  timeZone: string;
  /** For vendors whose messages carry more than the text. */
  data?: MessageData;
  /** For vendors whose messages include a picture. Absent: this message has none. */
  picture?: MessagePicture;
}

/** A picture that a message includes. */
export interface MessagePicture {
  /** The https address from which the reader's program fetches the picture. Absent: the channel brings the picture itself. */
  url?: string;
  /** The content of the picture, as far as known before it is drawn. One line. */
  alt: string;
}

/** The content of a message as data, for vendors that carry it next to the text. */
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
  /** How often the alert has come since it first fired here, and when. Set from the second time on. */
  history?: {
    count: number;
    firstAt: number;
    /** How long a resolved alert lasted. Milliseconds. */
    lastedMs?: number;
  };
  /** Whether the message should not ring, since all its alerts are resolved. */
  silent: boolean;
}

/**
 * A message before any channel's syntax. Rendering makes it of one alert, a digest or a notice. Each channel's renderer turns
 * it into Telegram entities, HTML or plain text. Text is always literal.
 */
export type Inline =
  | { kind: "text" | "bold" | "italic" | "code"; text: string }
  | { kind: "link"; text: string; href: string }
  /** An instant. A channel shows it in the destination's zone, or in the reader's own where possible. */
  | {
      kind: "time";
      at: number;
      /** `clock`: hours and minutes are enough, since the message is less than twelve hours away. Default: date and time. */
      shown?: "clock";
    };

export type Block =
  | { kind: "heading"; inlines: Inline[] }
  | {
      kind: "paragraph";
      inlines: Inline[];
      /** Whether the block is the sender's own words, set apart from ours. Default false. */
      quoted?: boolean;
    }
  /** Small print about the message itself: its delay, a possible repeat, a resend, a test. */
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
   * The subject of a mail, where it differs. Changing parts are in brackets before the rest: mail programs ignore them there
   * when they compare subjects of a thread. Default: `subject`.
   */
  mailSubject?: string;
  /** For channels with colours or priorities. */
  severity: Severity;
  status: AlertStatus;
  blocks: Block[];
}
