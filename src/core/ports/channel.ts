import type { ChannelType, Outcome } from "../delivery.ts";
import type { Message } from "../message.ts";
import type { Illustration } from "./illustration.ts";

/** Conditions that end a call, or keep it from leaving. */
export interface CallBounds {
  /** Ends the call. It is aborted after the answer as well. The outcome says whether anything had left. */
  signal: AbortSignal;
  /**
   * Asked after all waits of a call, right before its contents leave: the process may have been suspended while it connected.
   * False: another relay may deliver the message meanwhile, so nothing leaves, and the outcome is as for a call that was ended
   * before. May abort `signal`. Absent: the call may leave.
   */
  mayCall?(): boolean;
}

export interface SendContext extends CallBounds {
  /** Chat id, mailbox, or the destination's name: the delivery's recipient after all moves. */
  recipient: string;
  /** UUIDv7 of the delivery, or of the digest. Each repeat has the same. */
  deliveryId: string;
  /** Id of the message's alert. For a digest: of its newest alert. */
  alertId: string;
  /** When the alert was accepted, epoch milliseconds. */
  receivedAt: number;
  /** Groups the messages of one alert key in a mailbox, where updates refer to it. */
  threadKey: string;
  /** The vendor's id of the earlier message that this one answers. */
  replyTo?: string;
  /** No sound, even if the destination's settings ask for one. */
  silent: boolean;
  mayCall(): boolean;
}

/** What a vendor can do with messages. The plan of a delivery asks for these and not for the vendor. */
export interface Capabilities {
  /** A message can be changed afterwards. Its channel has `edit`. */
  edits: boolean;
  /**
   * An edit also changes the notification on a phone, without a sound. An alert that is over thus needs no second message.
   * Default false.
   */
  editsInSight?: boolean;
  /** A message can answer an earlier one, which its reader then sees too. Without this each message must be complete. */
  answers: boolean;
  /** Messages have a second form, `plain`. A refused message is sent once more in that form. */
  plainForm: boolean;
  /**
   * The vendor joins all calls of one alert key (an incident that is triggered and resolved). Each alert is a call of its own,
   * never part of a digest.
   */
  joinsByKey: boolean;
  /**
   * How messages can show a picture. `added`: to a sent message, so the channel has `illustrate`. `linked`: the message has its
   * address, and the reader's program fetches it. `inline`: the channel waits for the picture and sends it with the text.
   * Default: none.
   */
  pictures?: "added" | "linked" | "inline";
  /** A program reads the messages, so nothing is held back unless a route says so. Default false. */
  informsPrograms?: boolean;
  /** What messages carry besides the text: nothing, the facts of each alert, or also the sender's payload. */
  carries?: "facts" | "payload";
}

/**
 * The calls to one destination. They are independent: pacing, waiting and repeating belong to the engine. No method throws for
 * a failure of the other side or the network: it is an `Outcome`. No outcome holds a secret.
 */
export interface ChannelCalls<M extends Message = Message> {
  /**
   * Loads libraries that the first call needs, before its slot of the pace is counted. Otherwise two calls that wait for the
   * same library would leave together. Absent: nothing to load, or no pace to keep.
   */
  prepare?(): Promise<unknown>;
  send(message: M, context: SendContext): Promise<Outcome>;
  /** Replaces the text of the message `ref`. Absent where the vendor cannot. `message is not modified` counts as sent. */
  edit?(ref: string, message: M, context: SendContext): Promise<Outcome>;
  /**
   * Adds a picture, and its line where there is room, to the message `ref`. All of its text `message` stays. Absent where the
   * vendor cannot. Never uses a connection that a text could wait for.
   */
  illustrate?(ref: string, message: M, illustration: Illustration, context: SendContext): Promise<Outcome>;
  /** Whether this message can have a picture. Absent: every message can. */
  holdsPicture?(message: M): boolean;
  /** Tests whether delivery could work now, without sending anything to people. */
  probe(recipient: string, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

export interface Channel extends ChannelCalls {
  readonly type: ChannelType;
  readonly can: Capabilities;
}
