import type { AlertPicture, AlertPictureOptions } from "./alert-picture.ts";

/** What goes with the text of a message about an alert: a picture of at most a few hundred kilobytes, and what it shows. */
export interface Illustration extends AlertPicture {
  /** One line of text to stand under the message's own. Absent: there is none. */
  line?: string;
}

/** What is not there by the deadline is of no use. With `signal`, nobody waits for it any more. */
export type IllustrateOptions = Required<Pick<AlertPictureOptions, "timeZone" | "signal" | "deadlineMs">>;

/**
 * Draws what goes with an alert. What it throws counts as `none`; that says why there is no picture, in words that "no
 * picture:" precedes.
 */
export type Illustrate = (alertId: string, options: IllustrateOptions) => Promise<Illustration | { none: string }>;
