/** For light or dark surroundings. */
export type PictureTheme = "light" | "dark";

export interface AlertPictureOptions {
  /** Default `light`. */
  theme?: PictureTheme;
  /** IANA name for the times in it; default UTC. */
  timeZone?: string;
  signal: AbortSignal;
  /** How long a caller waits, in milliseconds. The drawing continues after that, for the next caller. */
  deadlineMs: number;
}

export interface AlertPicture {
  png: Uint8Array;
  /** What is to be seen, in words: one line of at most 500 characters. */
  alt: string;
}

/**
 * `unknown_alert`: there is none with this id. `no_values`: no two values are known of what it is about. `no_renderer`,
 * `no_font`: an optional package is not installed. `busy`: too many are being drawn. `late`: it took too long. `ended`:
 * the relay is being stopped. `failed`: it could not be drawn.
 */
export type NoAlertPicture =
  | "unknown_alert"
  | "no_values"
  | "no_renderer"
  | "no_font"
  | "busy"
  | "late"
  | "ended"
  | "failed";

export type AlertPictureResult = AlertPicture | { none: NoAlertPicture };

/** The picture of an alert: value, limit, the last day and week of its metric. Never rejects. */
export type DrawAlertPicture = (alertId: string, options: AlertPictureOptions) => Promise<AlertPictureResult>;
