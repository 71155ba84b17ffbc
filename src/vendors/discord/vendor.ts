import { type SecretUrlDestination, secretUrlVendor, type Vendor } from "../vendor.ts";
import { type DiscordMessage, renderDiscord } from "./render.ts";

export type DiscordDestination = SecretUrlDestination & { type: "discord" };

export const discord = {
  ...secretUrlVendor("discord"),
  can: { edits: true, answers: false, plainForm: true, joinsByKey: false, pictures: "added" },
  words: { otherSide: "Discord" },
  pace: { perSecond: 2, perMinute: 30 },
  probeProves: "account",
  render: (document, times, { form }) => [renderDiscord(document, times, form)],
  readableText: ({ text }: DiscordMessage) => text,
  open: async (destination: DiscordDestination, options) =>
    (await import("./send.ts")).createDiscordChannel(destination, options),
} satisfies Vendor;
