import type { DeliveryState } from "./delivery.ts";

/**
 * The result of one message's picture. `joined`: the message shows it. `linked`: the message has its address, which nobody has
 * fetched yet. `fetched`: a reader's program has fetched it. The other results have no picture. `not_drawn`: nothing to show, or
 * drawing failed. `too_long`: the text is longer than the vendor allows with a picture. `many`: too many messages or pictures at
 * the time. `late`: not ready in time, or no room between the texts. `refused`: the vendor did not take it. `stopped`: the relay
 * ended meanwhile.
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
   * Milliseconds. For `joined`: from the end of the text's call to the end of the picture's. For `fetched`: from writing the
   * message to the first fetch.
   */
  afterMs?: number;
  /** How often the picture was `fetched`: each phone does so for itself. */
  times?: number;
  /** Why there is no picture, for people. Holds no secret. */
  reason?: string;
}

export interface PicturedMessage {
  destination: string;
  /** The delivery's id. The alert's id, where the message includes the picture's address. */
  id: string;
}

/** Notes results, for pages to read. */
export interface PictureNotes {
  note(message: PicturedMessage, outcome: PictureOutcome): void;
  /** The result for a message, if it is among the latest of its destination that might have a picture. Otherwise undefined. */
  find(message: PicturedMessage): PictureOutcome | undefined;
}

/** Finds the picture's result for a delivery's message, for pages and API. */
export type PictureOf = (
  delivery: { id: string; destination: string; state: DeliveryState },
  alertId: string,
) => PictureOutcome | undefined;
