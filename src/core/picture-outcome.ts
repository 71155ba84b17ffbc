import type { DeliveryState } from "./delivery.ts";

/**
 * What became of the picture of one message. `joined`; `linked`: the message has its address, which nobody has fetched yet;
 * `fetched`; or why there is none: `not_drawn` there is nothing to show, or it could not be drawn; `too_long` the text is
 * longer than the vendor's bound for one with a picture; `many` too many messages or pictures at the time; `late` not
 * ready, or no room between the texts, in time; `refused` the vendor did not take it; `stopped` the relay ended meanwhile.
 */
export const pictureResults = [
  "joined",
  "linked",
  "fetched",
  "not_drawn",
  "too_long",
  "many",
  "late",
  "refused",
  "stopped",
] as const;
export type PictureResult = (typeof pictureResults)[number];

export interface PictureOutcome {
  result: PictureResult;
  /**
   * Milliseconds. For `joined`: from the end of the text's call to the end of the picture's. For `fetched`: from when the message
   * was written to the first time.
   */
  afterMs?: number;
  /** How often it was `fetched`: each phone does so for itself. */
  times?: number;
  /** Why there is none, for people; holds no secret. */
  reason?: string;
}

/** One message. */
export interface PicturedMessage {
  destination: string;
  /** The delivery's; the alert's, where the message is composed with the picture's address. */
  id: string;
}

/** Where outcomes are noted, and read by pages. */
export interface PictureNotes {
  note(message: PicturedMessage, outcome: PictureOutcome): void;
  /** What is known of a message, if it is among the latest of its destination that might have had a picture; else undefined. */
  find(message: PicturedMessage): PictureOutcome | undefined;
}

/** What became of the picture of a delivery's message, for pages and API. */
export type PictureOf = (
  delivery: { id: string; destination: string; state: DeliveryState },
  alertId: string,
) => PictureOutcome | undefined;
