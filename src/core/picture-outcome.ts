import type { DeliveryState } from "./delivery.ts";

/**
 * What became of a message's picture.
 * - `joined`: the message shows it
 * - `linked`: the message has its address, not fetched yet
 * - `fetched`: a reader's program has fetched it
 * - `not_drawn`: nothing to show, or drawing failed
 * - `too_long`: the text is longer than the vendor allows with a picture
 * - `many`: too many messages or pictures at the time
 * - `late`: not ready in time, or no room between the texts
 * - `refused`: by the vendor
 * - `stopped`: the relay ended meanwhile
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
  /** `joined`: between the ends of the text's and the picture's call. `fetched`: from making the message to the first fetch. */
  afterMs?: number;
  /** How many times it was `fetched`: once by each phone. */
  times?: number;
  /** Why there is no picture, for people. Holds no secret. */
  reason?: string;
}

export interface PicturedMessage {
  destination: string;
  /** The delivery's id, or the alert's where the message has the picture's address. */
  id: string;
}

export interface PictureNotes {
  note(message: PicturedMessage, outcome: PictureOutcome): void;
  /** Undefined where the message is not among the latest of its destination, or could have no picture. */
  find(message: PicturedMessage): PictureOutcome | undefined;
}

export type PictureOf = (
  delivery: { id: string; destination: string; state: DeliveryState },
  alertId: string,
) => PictureOutcome | undefined;
