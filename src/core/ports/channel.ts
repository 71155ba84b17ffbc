import type { ChannelType, Outcome } from "../delivery.ts";
import type { Message } from "../message.ts";
import type { Illustration } from "./illustration.ts";

/** Conditions that end a call, or keep it from leaving. */
export interface CallBounds {
  /** Ends the call. The outcome says whether anything had left. The signal is aborted after the answer as well. */
  signal: AbortSignal;
  /**
   * Asked right before a call's contents leave, as the process may have been suspended. False: another relay may have the
   * message, so nothing leaves. May abort `signal`. Absent: the call may leave.
   */
  mayCall?(): boolean;
}

export interface SendContext extends CallBounds {
  /** Chat id, mailbox, or the destination's name, after all moves. */
  recipient: string;
  /** UUIDv7 of the delivery or digest, the same for each repeat. */
  deliveryId: string;
  alertId: string;
  /** When the alert was accepted, epoch milliseconds. */
  receivedAt: number;
  /** The same for all messages of one alert key in a mailbox. */
  threadKey: string;
  /** The vendor's id of the message that this one answers. */
  replyTo?: string;
  /** No sound, even where the destination's settings ask for one. */
  silent: boolean;
  mayCall(): boolean;
}

/** What a vendor can do. The plan of a delivery asks for this, never for the vendor. */
export interface Capabilities {
  /** Messages can be changed afterwards. The channel has `edit`. */
  edits: boolean;
  /** An edit changes the notification on a phone too, so a resolved alert needs no second message. Default false. */
  editsInSight?: boolean;
  /** A message can answer an earlier one, which its reader then sees. Without this each message must be complete by itself. */
  answers: boolean;
  /** Messages have a second form, `plain`, which is tried when the first is refused. */
  plainForm: boolean;
  /** The vendor joins the calls of a key into one incident. Each alert is then a call of its own, never in a digest. */
  joinsByKey: boolean;
  /**
   * How a message gets its picture. `added`: to the sent message, by `illustrate`. `linked`: the message has an address
   * that the reader's program fetches. `inline`: the channel waits for the picture and sends both. Default: none.
   */
  pictures?: "added" | "linked" | "inline";
  /** Programs read the messages. Nothing is held back unless a route says so. Default false. */
  informsPrograms?: boolean;
  /** What a message has besides the text: nothing, the facts of each alert, or also the sender's payload. */
  carries?: "facts" | "payload";
}

/** The calls to one destination. A failure is an `Outcome`, never an exception. No outcome holds a secret. */
export interface ChannelCalls<M extends Message = Message> {
  /** Loads libraries before the first call takes its slot. Two calls that wait for a library would leave together. */
  prepare?(): Promise<unknown>;
  send(message: M, context: SendContext): Promise<Outcome>;
  /** Replaces the text of the message `ref`. Absent where the vendor cannot. */
  edit?(ref: string, message: M, context: SendContext): Promise<Outcome>;
  /** Adds a picture to the message `ref`. The text of `message` stays whole. Never uses a connection that a text waits for. */
  illustrate?(ref: string, message: M, illustration: Illustration, context: SendContext): Promise<Outcome>;
  /** Absent: every message can have a picture. */
  holdsPicture?(message: M): boolean;
  /** Tests whether delivery would work now. Sends nothing to people. */
  probe(recipient: string, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

export interface Channel extends ChannelCalls {
  readonly type: ChannelType;
  readonly can: Capabilities;
}
