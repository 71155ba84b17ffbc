import { createChannel } from "../../src/vendors/index.ts";
import type { PagerdutyMessage } from "../../src/vendors/pagerduty/render.ts";
import { json, text } from "../support/vendors/http-vendor.ts";
import { type ChannelUnderTest, describeChannel, patientMs } from "./channel-suite.ts";
import { otherSideOf } from "./http-other-side.ts";
import { type HttpVendorOf, httpVendors, webhookHeader } from "./http-vendors.ts";

function describeHttp<Name extends keyof typeof httpVendors>(
  name: Name,
  edits: boolean,
  about: (vendor: HttpVendorOf<Name>) => Omit<ChannelUnderTest, "channel" | "recipient" | "close">,
): void {
  describeChannel(name, { edits }, async (answerMs) => {
    const { vendor, destination } = await httpVendors[name]();
    const limits = { connectTimeoutMs: patientMs, answerTimeoutMs: answerMs };
    const channel = await createChannel(destination, { now: Date.now, ...limits });
    return { ...about(vendor as HttpVendorOf<Name>), channel, recipient: destination.name, close: vendor.close };
  });
}

const webhookCanaries = ["canaryWebhookPathXXXXXXXX", "canaryQueryXXXXXXXX"];
const refusal = (status: number, code: string) => json(status, { error: { code, message: "No." } });

describeHttp("webhook", false, (vendor) => ({
  message: (words) => ({ kind: "webhook", body: JSON.stringify({ data: { text: words } }) }),
  longestText: "y".repeat(1_000_000),
  other: otherSideOf(vendor, () =>
    vendor.seen.map(({ body }) => (JSON.parse(body) as { data: { text: string } }).data.text),
  ),
  secrets: [vendor.secret, vendor.secret.slice(6), webhookHeader.slice(7), ...webhookCanaries],
  verdicts: {
    // The same id goes along with the repeat, and a receiver that follows the standard does its work once.
    fails: { kind: "retry", reason: "server_error" },
    // Any 2xx means taken; the body says nothing.
    takes_and_breaks_off: { kind: "sent" },
  },
}));

describeHttp("slack", false, (vendor) => ({
  message: (words) => ({ kind: "slack", text: words, body: JSON.stringify({ text: words }) }),
  longestText: "é".repeat(40_000),
  other: otherSideOf(vendor, () => vendor.seen, {
    refuses_the_account: text(403, "action_prohibited"),
    is_gone: text(404, "no_service"),
    refuses_the_message: text(400, "invalid_blocks"),
  }),
  secrets: [vendor.path, "canarySlackTokenXXXXXXXX"],
}));

describeHttp("discord", true, (vendor) => ({
  message: (words) => ({
    kind: "discord",
    text: words,
    body: JSON.stringify({ content: words, allowed_mentions: { parse: [] } }),
  }),
  longestText: "é".repeat(2_000),
  other: otherSideOf(vendor, () => vendor.messages.map(({ content }) => content), {
    asks_to_wait: json(429, { message: "You are being rate limited.", retry_after: 7.125, global: false }),
    is_gone: json(404, { message: "Unknown Webhook", code: 10015 }),
    refuses_the_message: json(400, { message: "Invalid Form Body", code: 50035 }),
  }),
  secrets: [vendor.path, "canaryDiscordTokenXXXXXXXX"],
}));

describeHttp("ntfy", true, (vendor) => ({
  message: (words) => ({ kind: "ntfy", title: "Alert", text: words, priority: 4, tags: ["warning"] }),
  longestText: "é".repeat(2_048),
  other: otherSideOf(vendor, () => vendor.shown.map(({ message }) => message), {
    refuses_the_account: json(403, { code: 40301, http: 403, error: "forbidden" }),
    refuses_the_message: json(400, { code: 40007, http: 400, error: "invalid priority parameter" }),
  }),
  secrets: [vendor.token, vendor.topic],
}));

describeHttp("apprise", false, (vendor) => ({
  message: (words) => ({ kind: "apprise", title: "Alert", text: words, type: "warning" }),
  longestText: "é".repeat(32_768),
  other: otherSideOf(vendor, () => vendor.sent.map(({ body }) => body), {
    is_gone: { status: 204 },
    fails: json(424, { error: "One or more notification could not be sent", details: [] }),
    refuses_the_message: json(400, { error: "Payload lacks minimum requirements" }),
  }),
  secrets: [vendor.key],
  verdicts: { is_gone: { kind: "rejected", scope: "destination", reason: "address_invalid" } },
}));

describeHttp("pagerduty", false, (vendor) => ({
  message: (words) =>
    ({
      kind: "pagerduty",
      event: {
        event_action: "trigger",
        dedup_key: "tocsin:a",
        client: "Tocsin",
        payload: { summary: words, source: "desk", severity: "critical", custom_details: { text: words } },
      },
    }) as PagerdutyMessage,
  longestText: "é".repeat(1_024),
  other: otherSideOf(vendor, () => vendor.seen, {
    refuses_the_account: json(400, { status: "invalid event", errors: ["Invalid routing key"] }),
    refuses_the_message: json(400, { status: "invalid event", errors: ["'payload.severity' is invalid"] }),
  }),
  secrets: [vendor.routingKey],
  // The repeat joins the same incident.
  verdicts: { fails: { kind: "retry", reason: "server_error" } },
}));

describeHttp("teams", false, (vendor) => ({
  message: (words) => ({ kind: "teams", text: words, body: cardOf(words) }),
  longestText: "é".repeat(12_000),
  other: otherSideOf(vendor, () => vendor.seen, {
    refuses_the_account: refusal(401, "DirectApiAuthorizationRequired"),
    is_gone: refusal(404, "WorkflowNotFound"),
    refuses_the_message: refusal(400, "TriggerInputSchemaMismatch"),
  }),
  secrets: [vendor.path, "canaryTeamsSignatureXXXXXXXX", "canaryWorkflow0"],
  // The 202 alone means taken.
  verdicts: { takes_and_breaks_off: { kind: "sent" } },
}));

function cardOf(words: string): string {
  const body = [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text: words }] }];
  const content = { type: "AdaptiveCard", version: "1.2", body };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return JSON.stringify({ type: "message", summary: "words", attachments: [attachment] });
}
