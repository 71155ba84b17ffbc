import type { Now, Random } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Secret } from "../../src/core/secret.ts";

/** Forms a notification can take; the interface documents none. */
export const notificationShapes = ["flat", "nested", "text", "form", "batch", "minimal"] as const;
export type NotificationShape = (typeof notificationShapes)[number];

const defaults = {
  /** Divides every waiting time and runs the market's clock faster. */
  speed: 1,
  /** Any free one. */
  port: 0,
  /** On any other address the control interface asks for the key and the page does not show it. */
  host: "127.0.0.1",
  metricCount: 50_000,
  /** How often due work is looked for, in milliseconds of the wall's clock; 0: only `tick()` does it. */
  tickMs: 50,
  /** How many alerts to fire at once as soon as the first account has an output that is notified. */
  stormCount: 0,
  telegramApiRoot: "https://api.telegram.org",
  /** Requests per route and key in a minute before 429. */
  requestsPerMinute: 6000,
  /** A notification's attempts; 1 is no retry. */
  deliveryAttempts: 8,
  /** How long one attempt may take, milliseconds of the wall's clock. */
  deliveryTimeoutMs: 10_000,
  /** Attempts under way at once for each output of each account. */
  deliveryConcurrency: 16,
  /** Unit of every Unix timestamp; the interface does not say it. */
  timestampUnit: "seconds" as "seconds" | "milliseconds",
  /** Number of the first page of metrics; the interface does not say it. */
  firstPage: 1 as 0 | 1,
};

export interface ServiceSandboxOptions extends Partial<typeof defaults> {
  now: Now;
  random: Random;
  /** Folder of the one state file; created with mode 0700. Absent: nothing survives. */
  dataDir?: string;
  /** Names the catalogue and the market. A kept state keeps its own. Default 1. */
  seed?: number;
  /** The first account's API key. Default: the kept one, or a new random one. */
  key?: string;
  /** Notifies `messengerChannelId` by this bot. Absent: the messenger output is kept, and not notified. */
  botToken?: Secret;
  /** Default: the kept one, or `flat`. */
  shape?: NotificationShape;
}

export type Settings = ServiceSandboxOptions & typeof defaults;

/**
 * Fills in the defaults. Throws `AppError` "usage" for a number that makes no sense, or a key that no header can carry.
 */
export function settleOptions(options: ServiceSandboxOptions): Settings {
  // An explicit `undefined` must not hide a default.
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings: Settings = { ...options, ...defaults, ...given };
  refuseOutside("speed", settings.speed, 0.01, 1000);
  refuseOutside("metrics", settings.metricCount, 100, 1_000_000);
  refuseOutside("storm", settings.stormCount, 0, 100_000);
  refuseOutside("port", settings.port, 0, 65_535);
  refuseUnsendable(settings.key);
  return settings;
}

function refuseOutside(name: string, value: number, least: number, most: number): void {
  if (value >= least && value <= most) return;
  throw new AppError("usage", `The sandbox's ${name} is ${value}`, {
    hint: `Give a number from ${least} to ${most}`,
  });
}

/** The key is the value of a header, and `tocsin` itself refuses to send another one. */
function refuseUnsendable(key: string | undefined): void {
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return;
  const what = key === "" ? "is empty" : "holds a space or a character that a header cannot carry";
  throw new AppError("usage", `The sandbox's key ${what}`, {
    hint: "Give letters, digits and hyphens, or leave --key out to have one made up",
  });
}
