import type { ChannelType, Outcome } from "../delivery.ts";
import type { Message } from "../message.ts";
import type { Illustration } from "./illustration.ts";

/** What ends a call, or keeps it from leaving. */
export interface CallBounds {
  /** Ends the call, and is aborted behind its answer as well. Whether anything had left is said by the outcome. */
  signal: AbortSignal;
  /**
   * Asked behind all that a call waits for, in the turn in which its contents leave: the process may have stood still while it
   * connected. False: another relay may deliver the message meanwhile, so nothing leaves and the outcome is that of a call that
   * was ended before. It may abort `signal`. Absent: always.
   */
  mayCall?(): boolean;
}

export interface SendContext extends CallBounds {
  /** Chat id, mailbox, or the destination's name: the delivery's recipient, after every move that was followed. */
  recipient: string;
  /** UUIDv7 of the delivery (of the digest, for a digest); the same for every repeat of it. */
  deliveryId: string;
  /** Id of the alert that the message is about, or of the newest of a digest. */
  alertId: string;
  /** When the alert was accepted, epoch milliseconds. */
  receivedAt: number;
  /** Groups messages of one alert key in a mailbox: updates refer to it. */
  threadKey: string;
  /** The vendor's id of an earlier message that this one answers. */
  replyTo?: string;
  /** Deliver without a sound, beyond what the destination asks for. */
  silent: boolean;
  mayCall(): boolean;
}

/** What a vendor can do with messages. The plan of a delivery asks this, and not which vendor it is. */
export interface Capabilities {
  /** A message can be changed afterwards, so its channel has `edit`. */
  edits: boolean;
  /**
   * What is edited is shown anew where its reader is notified, without a sound: the notification on a phone itself
   * changes, so an alert that is over needs no second message. Default false.
   */
  editsInSight?: boolean;
  /** A message can answer an earlier one, so its reader sees both; elsewhere each says all by itself. */
  answers: boolean;
  /** Its messages have a second form, `plain`: one that is refused is sent once more in that form. */
  plainForm: boolean;
  /**
   * The vendor itself joins all calls of one alert key (an incident that is triggered and resolved): each alert is a
   * call of its own and goes out alone, never in a digest.
   */
  joinsByKey: boolean;
  /**
   * Its messages can show a picture. `added`: to one that was sent, so its channel has `illustrate`. `linked`: by an
   * address that they are composed with and somebody else fetches. `inline`: its channel waits for the picture and brings
   * it along. Default: none.
   */
  pictures?: "added" | "linked" | "inline";
  /** A program reads its messages, so nothing is held back there unless a route says so. Default false. */
  informsPrograms?: boolean;
  /** What messages carry besides the text: nothing, the facts of each alert, or the sender's payload as well. */
  carries?: "facts" | "payload";
}

/**
 * One destination's way out. Calls are independent; pacing, waiting and repeating belong to the engine.
 * No method throws for what the other side or the network does: that is an `Outcome`. No outcome holds a secret.
 */
export interface ChannelCalls<M extends Message = Message> {
  /**
   * Loads what the first call needs. Awaited before a call's slot is counted, so that a call leaves when it was counted: of
   * two that wait for the same library both would leave together. Absent: there is nothing to load, or no pace to keep.
   */
  prepare?(): Promise<unknown>;
  send(message: M, context: SendContext): Promise<Outcome>;
  /**
   * Replaces the text of the message `ref`. Absent where the vendor cannot. `message is not modified` counts as sent.
   */
  edit?(ref: string, message: M, context: SendContext): Promise<Outcome>;
  /**
   * Adds a picture, and its line where there is room, to the message `ref`, which says `message` and goes on saying all of
   * it. Absent where the vendor cannot. Uses no connection that a text could wait for.
   */
  illustrate?(ref: string, message: M, illustration: Illustration, context: SendContext): Promise<Outcome>;
  /** Whether a message of this text can have a picture. Absent: every one can. */
  holdsPicture?(message: M): boolean;
  /** Asks, without sending anything to people, whether delivery could work now. */
  probe(recipient: string, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

export interface Channel extends ChannelCalls {
  readonly type: ChannelType;
  readonly can: Capabilities;
}
