/**
 * What became of the picture of one message. `joined`; or why there is none: `not_drawn` there is nothing to show, or it
 * could not be drawn; `too_long` the text is longer than the vendor's bound for one with a picture; `many` too many
 * messages or pictures at the time; `late` not ready, or no room beside the texts, in time; `refused` the vendor did not
 * take it; `stopped` the relay ended meanwhile.
 */
export const pictureResults = ["joined", "not_drawn", "too_long", "many", "late", "refused", "stopped"] as const;
export type PictureResult = (typeof pictureResults)[number];

export interface PictureOutcome {
  result: PictureResult;
  /** From the end of the text's call to the picture's, milliseconds; of `joined`. */
  afterMs?: number;
  /** Why there is none, for people; holds no secret. */
  reason?: string;
}
