import type { Destination } from "../core/rules.ts";
import { Secret } from "../core/secret.ts";
import { field, listOf, readFlag, readHttpUrl, readNumber, readText } from "../ground/shape/field.ts";
import { readInternalHost } from "./http/address-policy.ts";

/** A text that is not empty. @param example named in a refusal */
export const text = (example: string) => field(readText(example));
/** A whole number, both ends included. */
export const whole = (least: number, most: number) => field(readNumber({ least, most, whole: true }));
/** `true` or `false`. */
export const flag = field(readFlag);
/** An http or https address. */
export const httpUrl = field(readHttpUrl);
/** Hosts and ranges inside the network that may be reached. Default none. */
export const allowInternal = listOf(readInternalHost, "[10.0.0.0/8]").optional();

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
    options: { url: httpUrl, allowInternal },
    secretOptions: ["url"],
    build: ({ url, allowInternal = [] }: { url: string; allowInternal?: string[] }) => ({
      url: new Secret(url),
      allowInternal,
    }),
    recipients: ({ name }: Destination) => [name],
    addresses: ({ url }: SecretUrlDestination) => [`${type} ${url.reveal()}`],
    shownRecipients: ({ url }: SecretUrlDestination) => [hostOf(url.reveal())],
    describe: ({ url }: SecretUrlDestination) => hostOf(url.reveal()),
    secrets: ({ url }: SecretUrlDestination) => [url],
    concurrency: 1,
    probeProves: "connection" as const,
  };
}
