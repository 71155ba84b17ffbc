import type { Destination } from "../../core/rules.ts";
import type { Secret } from "../../core/secret.ts";
import { buildSecretUrl, hostOf, secretUrlOptions } from "../options.ts";
import type { Vendor } from "../vendor.ts";
import { type DiscordMessage, renderDiscord } from "./render.ts";

/** A Discord webhook: the whole address is the secret. */
export interface DiscordDestination extends Destination {
  type: "discord";
  url: Secret;
  allowInternal: string[];
}

export const discord = {
  type: "discord",
  can: { edits: true, joinsByKey: false },
  words: { otherSide: "Discord" },
  options: secretUrlOptions,
  secretOptions: ["url"],
  build: buildSecretUrl,
  recipients: ({ name }) => [name],
  addresses: ({ url }: DiscordDestination) => [`discord ${url.reveal()}`],
  shownRecipients: ({ url }: DiscordDestination) => [hostOf(url.reveal())],
  describe: ({ url }: DiscordDestination) => hostOf(url.reveal()),
  secrets: ({ url }: DiscordDestination) => [url],
  pace: { perSecond: 2, perMinute: 30 },
  concurrency: 1,
  probeProves: "connection",
  render: (document, times, { form }) => [renderDiscord(document, times, form)],
  readableText: ({ text }: DiscordMessage) => text,
  open: async (destination: DiscordDestination, options) =>
    (await import("./send.ts")).createDiscordChannel(destination, options),
} satisfies Vendor;
