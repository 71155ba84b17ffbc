import type { Now, Random } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Secret } from "../../src/core/secret.ts";

/** Forms of a notification. The interface documents none. */
export const notificationShapes = ["flat", "nested", "text", "form", "batch", "minimal"] as const;
export type NotificationShape = (typeof notificationShapes)[number];

const defaults = {
  /** Divides every waiting time and accelerates the market's clock. */
  speed: 1,
  /** 0: any free port. */
  port: 0,
  /** For any other address the control interface needs the key, and the page does not show it. */
  host: "127.0.0.1",
  metricCount: 50_000,
  /** The interval of looks for due work, milliseconds of the wall clock. 0: only `tick()` looks. */
  tickMs: 50,
  /** Alerts that fire at once as soon as the first account has an output for notifications. */
  stormCount: 0,
  telegramApiRoot: "https://api.telegram.org",
  /** Requests for each route and key in a minute before 429. */
  requestsPerMinute: 6000,
  /** The most attempts at once for each output of each account. */
  deliveryConcurrency: 16,
};

export interface ServiceSandboxOptions extends Partial<typeof defaults> {
  now: Now;
  random: Random;
  /** The folder of the state file, created with mode 0700. Absent: nothing is kept. */
  dataDir?: string;
  /** The first account's API key. Default: the kept one, or a new random one. */
  key?: string;
  /** The bot that notifies `messengerChannelId`. Absent: that output is stored, but not notified. */
  botToken?: Secret;
  /** Default: the kept one, or `flat`. */
  shape?: NotificationShape;
}

export type Settings = ServiceSandboxOptions & typeof defaults;

/** Throws `AppError` "usage" for a key that no header can carry. `tocsin` itself refuses other characters. */
export function settleOptions(options: ServiceSandboxOptions): Settings {
  const { key } = options;
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    const what = key === "" ? "is empty" : "holds a space or a character that a header cannot carry";
    throw new AppError("usage", `The sandbox's key ${what}`, {
      hint: "Give letters, digits and hyphens, or leave --key out to have one made up",
    });
  }
  // An explicit `undefined` must not hide a default.
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return { ...options, ...defaults, ...given };
}
