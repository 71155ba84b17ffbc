import { type SecretUrlDestination, secretUrlVendor, type Vendor } from "../vendor.ts";
import { renderSlack, type SlackMessage } from "./render.ts";

export type SlackDestination = SecretUrlDestination & { type: "slack" };

export const slack = {
  ...secretUrlVendor("slack"),
  can: { edits: false, answers: false, plainForm: true, joinsByKey: false, pictures: "linked" },
  words: { otherSide: "Slack" },
  // https://docs.slack.dev/apis/web-api/rate-limits : one a second for each incoming webhook.
  pace: { perSecond: 1 },
  render: (document, times, options) => [renderSlack(document, times, options)],
  readableText: ({ text }: SlackMessage) => text,
  open: async (destination: SlackDestination, options) =>
    (await import("./send.ts")).createSlackChannel(destination, options),
} satisfies Vendor;
