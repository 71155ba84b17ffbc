import type { Destination } from "../core/rules.ts";
import { Secret } from "../core/secret.ts";
import { field, httpUrl, listOf, secretly } from "../ground/shape/field.ts";
import { readInternalHost } from "./http/address-policy.ts";

/** Hosts and ranges inside the network that may be reached. Default none. */
export const allowInternal = listOf(
  field(readInternalHost, { type: "string", examples: ["hooks.lan", "10.0.0.0/8"] }),
  "[10.0.0.0/8]",
)
  .optional()
  .describe("host names, addresses or ranges (`10.0.0.0/8`) that may be internal");

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
