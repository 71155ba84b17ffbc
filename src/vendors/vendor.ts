import type { z } from "zod";
import type { ChannelType, ReasonCode } from "../core/delivery.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { Document, Message, RenderOptions } from "../core/message.ts";
import type { DrawAlertPicture } from "../core/ports/alert-picture.ts";
import type { Capabilities, ChannelCalls } from "../core/ports/channel.ts";
import type { Destination, Pace } from "../core/rules.ts";
import { Secret } from "../core/secret.ts";
import { field, httpUrl, listOf, optional, secretly } from "../ground/shape/field.ts";
import type { Refusal } from "../ground/shape/refusal.ts";
import type { TimeFormat } from "../ground/time/time-format.ts";
import { readInternalHost } from "./http/address-policy.ts";
import type { HttpChannelOptions } from "./http/http-client.ts";

/**
 * One vendor, complete. Other rooms ask which abilities a vendor has, never which vendor it is. Every command reads
 * this, so only `open` imports libraries and sending code.
 */
export interface Vendor {
  /** The destination's `type:` in the configuration, and the channel in page and API. */
  readonly type: ChannelType;
  readonly can: Capabilities;
  readonly words: VendorWords;

  /** The options of a destination, without the common ones. */
  readonly options: z.ZodRawShape;
  /** The destinations that the environment makes, and the values that destinations of the file take from it. */
  environment?(env: EnvReader): FromEnvironment;
  /**
   * Adds values from the environment that the file leaves out. Undefined after a refusal. Called even when other
   * options have mistakes, so one run reports all.
   */
  complete?(options: object, context: BuildContext): object | undefined;
  /** The vendor's own part of a destination. Undefined after a refusal. */
  build(options: object, context: BuildContext): object | undefined;

  /** Each gets a delivery of its own. Default: the destination's name, as its address may hold secrets. */
  recipients?(destination: Destination): string[];
  /** Whether recipients of one destination are independent of each other, as mailboxes are. Default false. */
  readonly hasSeveralRecipients?: boolean;
  /** People's addresses, to notice that two destinations share one. May hold secrets. */
  addresses(destination: Destination): string[];
  /** The receivers as the page shows them, without secrets. */
  shownRecipients(destination: Destination): string[];
  /** The receivers in a few words for `check`, without secrets. */
  describe(destination: Destination): string;
  /** The result of a good probe for `doctor`. Default: the probe's note. */
  describeProbe?(destination: Destination, note: string | undefined): string;
  /** Texts that no log, error or page may show. */
  secrets(destination: Destination): (Secret | undefined)[];

  /** Destinations with the same account stop together when it is refused. Absent: no account. No secret. */
  account?(destination: Destination): string;
  /** Destinations with the same key share one pace, e.g. for one chat. Default: the name and the recipient. */
  paceKey?(destination: Destination, recipient: string): string;
  /** The vendor's limit for one chat or webhook, and the default. */
  readonly pace: Pace;
  /** Calls that may be in flight to one destination. Default 1, which keeps the order of a chat. */
  readonly concurrency?: number;
  /** The vendor's own delivery settings. Others are the common ones. */
  settings?(settings: DeliverySettings): Partial<VendorSettings>;
  /** Whether a message there makes a sound that wakes somebody. Default: true. */
  makesSound?(destination: Destination): boolean;
  /** A good probe proves that a delivery would work, that the account is accepted, or only that a server answers. */
  readonly probeProves: "delivery" | "account" | "connection";

  /** One message, or the parts of a long one. Pure, and never empty. */
  render(document: Document, times: TimeFormat, options: RenderOptions): Message[];
  readableText(message: Message): string;
  /** @throws AppError `config_invalid` for an unusable destination. */
  open(destination: Destination, options: ChannelOptions): Promise<ChannelCalls>;
}

export interface ChannelOptions extends HttpChannelOptions {
  /** For channels that send the picture with the message. Default: no pictures. */
  drawPicture?: DrawAlertPicture;
}

export interface VendorWords {
  /** The vendor's server within a sentence: "the mail server". */
  otherSide: string;
  /** The vendor's own words for a failure. Default: the common ones. */
  reasons?: Partial<Record<ReasonCode, string>>;
  /** The vendor's own advice for people: one clause. Default: the common one. */
  repairs?: Partial<Record<ReasonCode, string>>;
}

export interface VendorSettings extends Pick<DeliverySettings, "schedule" | "ambiguous" | "sendTimeoutMs"> {
  /** The pace of all destinations of one account together. */
  accountPace: Pace;
}

/** Reads environment variables. A wrong one is reported under its name and counts as unset. */
export interface EnvReader {
  has(name: string): boolean;
  one<T>(name: string, read: (value: unknown) => T | Refusal): T | undefined;
  /** Comma-separated, each once. */
  list(name: string, read: (value: unknown) => string | Refusal): string[];
  refuse(name: string, message: string, instead: string): void;
}

export interface FromEnvironment {
  /** For `complete`. */
  shared: object;
  destinations: { name: string; definedAt: string; own: object }[];
}

export interface BuildContext {
  /** The result of `environment` for this vendor. */
  shared: object;
  /** Whether a variable was refused. A missing value is then not reported again. */
  wasRefused(variable: string): boolean;
  /** @param at the path of the option below the destination. Empty for the destination itself */
  refuse(at: string[], refusal: Refusal, part?: "key" | "value"): void;
}

/** Internal hosts and address ranges that may be reached. Default none. */
export const allowInternal = optional(
  listOf(field(readInternalHost, { type: "string", examples: ["hooks.lan", "10.0.0.0/8"] }), "[10.0.0.0/8]"),
  "host names, addresses or ranges (`10.0.0.0/8`) that may be internal",
);

/** Path and query of an address may hold secrets. The host holds none. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "(no address)";
}

export interface SecretUrlDestination extends Destination {
  url: Secret;
  allowInternal: string[];
}

/** The common part of vendors whose destinations have a secret address. */
export function secretUrlVendor<T extends string>(type: T) {
  return {
    type,
    options: {
      url: secretly(httpUrl).describe("where to post to: a reference, since the address is the secret"),
      allowInternal,
    },
    build: ({ url, allowInternal = [] }: { url: string; allowInternal?: string[] }) => ({
      url: new Secret(url),
      allowInternal,
    }),
    addresses: ({ url }: SecretUrlDestination) => [`${type} ${url.reveal()}`],
    shownRecipients: ({ url }: SecretUrlDestination) => [hostOf(url.reveal())],
    describe: ({ url }: SecretUrlDestination) => hostOf(url.reveal()),
    secrets: ({ url }: SecretUrlDestination) => [url],
    probeProves: "connection" as const,
  };
}
