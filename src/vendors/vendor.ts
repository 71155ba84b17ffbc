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
 * All there is to know of one vendor: its folder holds it, a line in `index.ts` registers it. Other rooms ask what a
 * vendor can do, never which one it is.
 *
 * Reading this must stay cheap, since every command does: libraries and whatever sends are imported by `open`.
 */
export interface Vendor {
  /** The destination's `type:` in the configuration, the kind of its messages, and the channel in page and API. */
  readonly type: ChannelType;
  readonly can: Capabilities;
  readonly words: VendorWords;

  /** The options of a destination besides those that all have. */
  readonly options: z.ZodRawShape;
  /** What the environment makes without a file, and what destinations of the file take from it. */
  environment?(env: EnvReader): FromEnvironment;
  /**
   * What a destination takes from the environment where the file leaves it out. Asked with what could be read even when
   * other options have mistakes, so that all are reported in one run. `undefined` after a refusal.
   */
  complete?(options: object, context: BuildContext): object | undefined;
  /** The vendor's own part of a destination; `undefined` after a refusal. */
  build(options: object, context: BuildContext): object | undefined;

  /** One delivery goes to each. Default: the destination's name, which stands for an address that holds secrets. */
  recipients?(destination: Destination): string[];
  /** Several recipients of one destination are independent of each other, as mailboxes are. Default false. */
  readonly hasSeveralRecipients?: boolean;
  /** Where people are reached, so that two destinations that share one are noticed. May hold secrets. */
  addresses(destination: Destination): string[];
  /** What the page shows of where it goes; no secret. */
  shownRecipients(destination: Destination): string[];
  /** Where it goes in a few words, for `check`; no secret. */
  describe(destination: Destination): string;
  /** What a good probe has shown, for `doctor`. Default: the probe's note. */
  describeProbe?(destination: Destination, note: string | undefined): string;
  /** All that no log, error or page may show. */
  secrets(destination: Destination): (Secret | undefined)[];

  /**
   * What it shares with other destinations: refused credentials stop all of them. Absent: it stands alone. No secret.
   */
  account?(destination: Destination): string;
  /**
   * What its pace is about, e.g. one chat; destinations that share it share the pace. Default: its name and the
   * recipient.
   */
  paceKey?(destination: Destination, recipient: string): string;
  /** What the vendor bears for one chat or webhook, and so the default. */
  readonly pace: Pace;
  /** Calls that may be in flight to one destination. Default 1, which keeps the order of a chat. */
  readonly concurrency?: number;
  /** Settings of delivery that it has for itself; the others are those of all. */
  settings?(settings: DeliverySettings): Partial<VendorSettings>;
  /** A message there makes a sound that wakes somebody. Default: it does. */
  makesSound?(destination: Destination): boolean;
  /** What a probe's yes proves: a delivery would work, the account is accepted, or only that somebody answers. */
  readonly probeProves: "delivery" | "account" | "connection";

  /** One message, or the parts of a long one. Pure, and never empty. */
  render(document: Document, times: TimeFormat, options: RenderOptions): Message[];
  /** What a person reads of a message. */
  readableText(message: Message): string;
  /** @throws AppError `config_invalid` for a destination that cannot be used. */
  open(destination: Destination, options: ChannelOptions): Promise<ChannelCalls>;
}

/** What every channel is given. */
export interface ChannelOptions extends HttpChannelOptions {
  /** For channels that bring the pictures of their messages themselves. Default: there are none. */
  drawPicture?: DrawAlertPicture;
}

export interface VendorWords {
  /** The name of the other side within a sentence: "the mail server". */
  otherSide: string;
  /** Why a message did not arrive, where that is said otherwise than for all. */
  reasons?: Partial<Record<ReasonCode, string>>;
  /** What people can do about it, where that is said otherwise: one clause. */
  repairs?: Partial<Record<ReasonCode, string>>;
}

export interface VendorSettings extends Pick<DeliverySettings, "schedule" | "ambiguous" | "sendTimeoutMs"> {
  /** For all destinations of one account together. */
  accountPace: Pace;
}

/** Reads environment variables; what is wrong with one is reported under its name, and it counts as not set. */
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
  /** What `environment` has made for this vendor. */
  shared: object;
  /** A variable of the environment was refused, so that its lack needs no second word. */
  wasRefused(variable: string): boolean;
  /** @param at the path of the option below the destination; empty for the destination itself */
  refuse(at: string[], refusal: Refusal, part?: "key" | "value"): void;
}

/** Hosts and ranges inside the network that may be reached. Default none. */
export const allowInternal = optional(
  listOf(field(readInternalHost, { type: "string", examples: ["hooks.lan", "10.0.0.0/8"] }), "[10.0.0.0/8]"),
  "host names, addresses or ranges (`10.0.0.0/8`) that may be internal",
);

/** For people: addresses may hold secrets in path and query, so only the host is shown. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "(no address)";
}

/** A destination whose whole address is the secret, as those of incoming webhooks are. */
export interface SecretUrlDestination extends Destination {
  url: Secret;
  allowInternal: string[];
}

/** What the vendors of such destinations have in common. */
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
