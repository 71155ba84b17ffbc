import type { AlertPicture, AlertPictureOptions } from "./alert-picture.ts";

/** A picture for a message about an alert, of at most a few hundred kilobytes, and its description. */
export interface Illustration extends AlertPicture {
  /** One line of text under the message's own. Absent: none. */
  line?: string;
}

/** A picture after the deadline is useless. An aborted `signal` means that nobody waits for it any more. */
export type IllustrateOptions = Required<Pick<AlertPictureOptions, "timeZone" | "signal" | "deadlineMs">>;

/** Draws the picture for an alert. An exception counts as `none`, which is the reason in words that follow "no picture:". */
export type Illustrate = (alertId: string, options: IllustrateOptions) => Promise<Illustration | { none: string }>;
