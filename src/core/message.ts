import type { Severity } from "./alert.ts";

/** The entity kinds that we send. Offsets and lengths count UTF-16 units, as JavaScript strings and Telegram do. */
export interface TelegramEntity {
  type: "bold" | "italic" | "code" | "pre" | "text_link" | "blockquote" | "date_time";
  offset: number;
  length: number;
  /** For `text_link`. */
  url?: string;
  /** For `date_time`: the instant in Unix seconds, and how to show it. */
  unix_time?: number;
  date_time_format?: string;
}

/**
 * One call to one vendor, made by rendering and sent by the channel of the same kind. A long alert becomes several
 * Telegram messages, each with its `[i/N]`; every other kind is one message.
 */
export type Message =
  | { kind: "telegram"; text: string; entities: TelegramEntity[] }
  | { kind: "email"; subject: string; text: string; html: string }
  /** An outgoing webhook: `body` is the JSON text that is signed and sent byte for byte. */
  | { kind: "webhook"; body: string }
  | { kind: "slack"; text: string; body: string }
  | { kind: "discord"; text: string; body: string }
  | { kind: "ntfy"; title: string; text: string; priority: 1 | 2 | 3 | 4 | 5; tags: string[]; click?: string }
  | { kind: "apprise"; title: string; text: string; type: "info" | "success" | "warning" | "failure" };

export type MessageKind = Message["kind"];

/** What a person reads of a message, for `explain` and the page. */
export function readableText(message: Message): string {
  switch (message.kind) {
    case "telegram":
    case "slack":
    case "discord":
      return message.text;
    case "email":
      return `${message.subject}\n\n${message.text}`;
    case "webhook":
      return message.body;
    case "ntfy":
    case "apprise":
      return `${message.title}\n\n${message.text}`;
  }
}

/** `rich` is the message as designed; `plain` is unformatted text that no vendor has a reason to refuse. */
export type MessageForm = "rich" | "plain";

export interface RenderOptions {
  form: MessageForm;
  /** IANA name, e.g. `Europe/Zurich`; times of the message are shown in it. Default UTC. */
  timeZone: string;
  /** Present for outgoing webhooks: what the body carries, besides the text. */
  data?: WebhookData;
}

/** The content of an outgoing webhook, under `data`; `type` is `alert`, `digest` or `notice`. */
export interface WebhookData {
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
  /** Good news only (all of it is resolved): nothing that should ring. */
  silent: boolean;
}
