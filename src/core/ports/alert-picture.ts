export type PictureTheme = "light" | "dark";

export interface AlertPictureOptions {
  /** Default `light`. */
  theme?: PictureTheme;
  /** The zone of its times, IANA name. Default UTC. */
  timeZone?: string;
  signal: AbortSignal;
  /** How long the caller waits. Drawing continues for the next caller. */
  deadlineMs: number;
}

export interface AlertPicture {
  png: Uint8Array;
  /** The picture in words: one line of at most 500 characters. */
  alt: string;
}

/**
 * `no_values`: fewer than two values of the metric are known. `no_renderer`, `no_font`: an optional package is not
 * installed. `busy`: too many pictures are being drawn. `ended`: the relay is being stopped. `failed`: drawing threw.
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

/** Draws value, limit, and the last day and week of an alert's metric. Never rejects. */
export type DrawAlertPicture = (alertId: string, options: AlertPictureOptions) => Promise<AlertPictureResult>;
