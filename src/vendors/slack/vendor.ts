import type { Destination } from "../../core/rules.ts";
import type { Secret } from "../../core/secret.ts";
import { buildSecretUrl, hostOf, secretUrlOptions } from "../options.ts";
import type { Vendor } from "../vendor.ts";
import { renderSlack, type SlackMessage } from "./render.ts";

/** A Slack incoming webhook: the whole address is the secret. */
export interface SlackDestination extends Destination {
  type: "slack";
  url: Secret;
  allowInternal: string[];
}

export const slack = {
  type: "slack",
  can: { edits: false, joinsByKey: false },
  words: { otherSide: "Slack" },
  options: secretUrlOptions,
  secretOptions: ["url"],
  build: buildSecretUrl,
  recipients: ({ name }) => [name],
  addresses: ({ url }: SlackDestination) => [`slack ${url.reveal()}`],
  shownRecipients: ({ url }: SlackDestination) => [hostOf(url.reveal())],
  describe: ({ url }: SlackDestination) => hostOf(url.reveal()),
  secrets: ({ url }: SlackDestination) => [url],
  // https://docs.slack.dev/apis/web-api/rate-limits : one a second for each incoming webhook.
  pace: { perSecond: 1 },
  concurrency: 1,
  probeProves: "connection",
  render: (document, times, { form }) => [renderSlack(document, times, form)],
  readableText: ({ text }: SlackMessage) => text,
  open: async (destination: SlackDestination, options) =>
    (await import("./send.ts")).createSlackChannel(destination, options),
} satisfies Vendor;
