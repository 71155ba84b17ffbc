import type { Translation } from "./alert.ts";
import type { ChannelType, Outcome } from "./delivery.ts";
import type { Message } from "./message.ts";

/** Epoch milliseconds now. Injected everywhere, so that tests move time by hand. */
export type Now = () => number;

/** Uniform in [0, 1). Injected; used for jitter only. */
export type Random = () => number;

export interface SendContext {
  /** Chat id, mailbox, or the destination's name: the delivery's recipient, after every move that was followed. */
  recipient: string;
  /** UUIDv7 of the delivery (of the digest, for a digest); the same for every repeat of it. */
  deliveryId: string;
  /** Id of the alert that is told, or of the newest of a digest. */
  alertId: string;
  /** When the alert was accepted, epoch milliseconds. */
  receivedAt: number;
  /** Groups messages of one alert key in a mailbox: updates refer to it. */
  threadKey: string;
  /** The vendor's id of an earlier message that this one answers. */
  replyTo?: string;
  /** Deliver without a sound, beyond what the destination asks for. */
  silent: boolean;
  /** Ends the call. Whether anything had left is told by the outcome. */
  signal: AbortSignal;
}

/**
 * One destination's way out. Calls are independent; pacing, waiting and repeating belong to the engine.
 * No method throws for what the other side or the network does: that is an `Outcome`. No outcome holds a secret.
 */
export interface Channel {
  readonly type: ChannelType;
  send(message: Message, context: SendContext): Promise<Outcome>;
  /** Replaces the text of the message `ref`. Absent where the vendor cannot. `message is not modified` counts as sent. */
  edit?(ref: string, message: Message, context: SendContext): Promise<Outcome>;
  /** Asks, without sending anything to people, whether delivery could work now. */
  probe(recipient: string, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

/** A body as it was stored. */
export interface StoredBody {
  body: Uint8Array;
  contentType?: string;
}

export type BodyReading =
  /** One translation for each alert of the body, in its order. */
  | { kind: "read"; translations: Translation[] }
  /** Reading it threw, took too long, or needed too much memory. `reason` is for people, at most 300 characters. */
  | { kind: "unreadable"; reason: string }
  /** It was not read: the relay is being stopped, or no thread for reading can be had. Nothing is known of the body. */
  | { kind: "not_read"; reason: string };

/** Reads bodies where that can be stopped: one that never ends, or eats the memory, costs itself and nothing else. */
export interface BodyReader {
  /**
   * One reading for each body, in their order. Never rejects.
   * @param signal ends the wait: what has no reading by then is `not_read`.
   */
  read(bodies: StoredBody[], signal?: AbortSignal): Promise<BodyReading[]>;
}

/**
 * Remembers outside the process which alerts are being read. When the process dies of one, the next start knows which they
 * were and does not begin with them.
 */
export interface ReadingJournal {
  /** Positions of the alerts that were being read when the last process ended. */
  readonly interrupted: readonly number[];
  /** These are being read from now on, and no others. None: nobody is. Never throws. */
  write(alertSeqs: readonly number[]): void;
}
