import type { Now, Random } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Secret } from "../../src/core/secret.ts";

/** Forms a notification can take; the interface documents none. */
export const notificationShapes = ["flat", "nested", "text", "form", "batch", "minimal"] as const;
export type NotificationShape = (typeof notificationShapes)[number];

export interface ServiceSandboxOptions {
  now: Now;
  random: Random;
  /** Folder of the one state file; created with mode 0700. Absent: nothing survives. */
  dataDir?: string;
  /** Names the catalogue and the market. A kept state keeps its own. Default 1. */
  seed?: number;
  /** Divides every waiting time and runs the market's clock faster. Default 1. */
  speed?: number;
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. On any other address the control interface asks for the key and the page does not show it. */
  host?: string;
  /** The first account's API key. Default: the kept one, or a new random one. */
  key?: string;
  /** Default 50,000. */
  metricCount?: number;
  /** How often due work is looked for, in milliseconds of the wall's clock; 0: only `tick()` does it. Default 50. */
  tickMs?: number;
  /** Notifies `messengerChannelId` by this bot. Absent: the messenger output is kept, and not notified. */
  botToken?: Secret;
  /** Default `https://api.telegram.org`. */
  telegramApiRoot?: string;
  /** How many alerts to fire at once as soon as the first account has an output that is notified. Default 0. */
  stormCount?: number;
  /** Default: the kept one, or `flat`. */
  shape?: NotificationShape;
  /** Requests per route and key in a minute before 429. Default 6,000. */
  requestsPerMinute?: number;
  /** A notification's attempts; 1 is no retry. Default 8. */
  deliveryAttempts?: number;
  /** How long one attempt may take, milliseconds of the wall's clock. Default 10,000. */
  deliveryTimeoutMs?: number;
  /** Attempts under way at once for each output of each account. Default 16. */
  deliveryConcurrency?: number;
  /** Unit of every Unix timestamp; the interface does not say it. Default seconds. */
  timestampUnit?: TimestampUnit;
  /** Number of the first page of metrics; the interface does not say it. Default 1. */
  firstPage?: 0 | 1;
}

export type TimestampUnit = "seconds" | "milliseconds";

/** Those whose absence means something: nothing kept, what was kept, no bot. */
type OptionalSetting = "dataDir" | "key" | "seed" | "shape" | "botToken";

export type Settings = Required<Omit<ServiceSandboxOptions, OptionalSetting>> &
  Pick<ServiceSandboxOptions, OptionalSetting>;

/**
 * Fills in the defaults. Throws `AppError` "usage" for a number that makes no sense, or a key that no header can carry.
 */
export function settleOptions(options: ServiceSandboxOptions): Settings {
  const settings: Settings = {
    speed: 1,
    port: 0,
    host: "127.0.0.1",
    metricCount: 50_000,
    tickMs: 50,
    stormCount: 0,
    telegramApiRoot: "https://api.telegram.org",
    requestsPerMinute: 6000,
    deliveryAttempts: 8,
    deliveryTimeoutMs: 10_000,
    deliveryConcurrency: 16,
    timestampUnit: "seconds",
    firstPage: 1,
    ...withoutAbsent(options),
  };
  refuseOutside("speed", settings.speed, 0.01, 1000);
  refuseOutside("metrics", settings.metricCount, 100, 1_000_000);
  refuseOutside("storm", settings.stormCount, 0, 100_000);
  refuseOutside("port", settings.port, 0, 65_535);
  refuseUnsendable(settings.key);
  return settings;
}

/** An explicit `undefined` must not hide a default. */
function withoutAbsent(options: ServiceSandboxOptions): ServiceSandboxOptions {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as unknown as ServiceSandboxOptions;
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
