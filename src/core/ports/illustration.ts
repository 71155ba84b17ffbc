import type { AlertPicture, AlertPictureOptions } from "./alert-picture.ts";

/** An alert's picture, of a few hundred kilobytes at most, with its description. */
export interface Illustration extends AlertPicture {
  /** A line of text under the message's own. Absent: none. */
  line?: string;
}

/** A picture after the deadline is useless. `signal` is aborted when nobody waits for it any more. */
export type IllustrateOptions = Required<Pick<AlertPictureOptions, "timeZone" | "signal" | "deadlineMs">>;

/** Draws the picture of an alert. An exception counts as `none`: the reason, in words that follow "no picture:". */
export type Illustrate = (alertId: string, options: IllustrateOptions) => Promise<Illustration | { none: string }>;
