/** For a light or a dark background. */
export type PictureTheme = "light" | "dark";

export interface AlertPictureOptions {
  /** Default `light`. */
  theme?: PictureTheme;
  /** IANA name of the zone for its times. Default UTC. */
  timeZone?: string;
  signal: AbortSignal;
  /** The longest wait of the caller, milliseconds. The drawing continues for the next caller. */
  deadlineMs: number;
}

export interface AlertPicture {
  png: Uint8Array;
  /** The picture's content in words: one line of at most 500 characters. */
  alt: string;
}

/**
 * `unknown_alert`: no alert has this id. `no_values`: fewer than two values of the metric are known. `no_renderer`, `no_font`:
 * an optional package is not installed. `busy`: too many pictures are being drawn. `late`: drawing took too long. `ended`: the
 * relay is being stopped. `failed`: drawing failed.
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

/** Draws the picture of an alert: value, limit, the last day and week of its metric. Never rejects. */
export type DrawAlertPicture = (alertId: string, options: AlertPictureOptions) => Promise<AlertPictureResult>;
