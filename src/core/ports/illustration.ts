/** What goes with the text of a message about an alert. */
export interface Illustration {
  /** A picture of at most a few hundred kilobytes. */
  png: Uint8Array;
  /** What it shows, in one sentence, for people who cannot see it. */
  alt: string;
  /** One line of text to stand under the message's own. Absent: there is none. */
  line?: string;
}

export interface IllustrateOptions {
  /** IANA name for the times in it. */
  timeZone: string;
  /** What is not there by then is of no use, in milliseconds. */
  deadlineMs: number;
  /** Nobody waits for it any more. */
  signal: AbortSignal;
}

/**
 * Draws what goes with an alert. What it throws counts as `none`; that says why there is no picture, in words that "no
 * picture:" precedes.
 */
export type Illustrate = (alertId: string, options: IllustrateOptions) => Promise<Illustration | { none: string }>;
