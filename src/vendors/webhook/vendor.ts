import { z } from "zod";
import type { Destination } from "../../core/rules.ts";
import { Secret } from "../../core/secret.ts";
import { httpUrl, optional, secretly, text } from "../../ground/shape/field.ts";
import { Refusal, referTo } from "../../ground/shape/refusal.ts";
import { allowInternal, type BuildContext, hostOf, type Vendor } from "../vendor.ts";
import { renderWebhook, type WebhookMessage } from "./render.ts";

export type WebhookDestination = Destination & { type: "webhook" } & ReturnType<typeof build>;

const options = z.object({
  url: httpUrl.describe(
    "where to post to. For all but `webhook` a reference, since the address is the secret (Teams: with its `sig=`)",
  ),
  secret: optional(
    secretly(text(referTo("WEBHOOK_SIGNING_SECRET"))),
    "webhook only: a reference to a `whsec_…` secret; requests are signed as Standard Webhooks does",
    "unsigned",
  ),
  headers: z
    .record(z.string(), text("a header's value"))
    .optional()
    // The reader of the file refuses credentials that are not references.
    .meta({
      description: "webhook only: more headers; values with credentials are references",
      secretKeys: /auth|token|key|secret|cookie|signature|password/i,
    }),
  allowInternal,
});

/** Without a `secret` requests are unsigned. */
function build({ url, secret, headers = {}, allowInternal = [] }: z.infer<typeof options>, context: BuildContext) {
  const key = secret === undefined ? undefined : readSigningSecret(secret);
  if (key instanceof Refusal) context.refuse(["secret"], key);
  const signed = key !== undefined && !(key instanceof Refusal) && { secret: key };
  return { url, ...signed, headers: readHeaders(headers, context), allowInternal };
}

export const webhook = {
  type: "webhook",
  can: { edits: false, answers: false, plainForm: true, joinsByKey: false, informsPrograms: true, carries: "payload" },
  words: { otherSide: "the receiver" },
  options: options.shape,
  build,
  addresses: ({ url }: WebhookDestination) => [`webhook ${url}`],
  shownRecipients: ({ url }: WebhookDestination) => [hostOf(url)],
  describe: ({ url, secret }: WebhookDestination) => `${hostOf(url)}, ${secret === undefined ? "unsigned" : "signed"}`,
  secrets: ({ secret, headers }: WebhookDestination) => [secret, ...Object.values(headers)],
  pace: {},
  concurrency: 4,
  settings: ({ webhookSchedule }) => ({ schedule: webhookSchedule }),
  makesSound: () => false,
  probeProves: "connection",
  render: (document, times, { form, data }) => [renderWebhook(document, times, form, data)],
  readableText: ({ body }: WebhookMessage) => body,
  open: async (destination: WebhookDestination, options) =>
    (await import("./send.ts")).createWebhookChannel(destination, options),
} satisfies Vendor;

/** Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
function readSigningSecret(text: string): Secret | Refusal {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const bytes = encoded === undefined ? 0 : Buffer.from(encoded, "base64").length;
  if (bytes >= 24 && bytes <= 64) return new Secret(text);
  return new Refusal(
    "is not a signing secret of Standard Webhooks (it is not shown)",
    "write whsec_ and 24 to 64 bytes in base64; make one with: echo whsec_$(openssl rand -base64 32)",
  );
}

/** Headers that the channel or HTTP itself sets. */
const reservedHeaders = new Set(
  `connection content-length content-type expect host keep-alive te trailer transfer-encoding upgrade
  webhook-id webhook-signature webhook-timestamp`.split(/\s+/),
);

/** Refuses names and values that could end a header line (RFC 9110, 5.6.2 and 5.5), and reserved names. */
function readHeaders(headers: Record<string, string>, { refuse }: BuildContext): Record<string, Secret> {
  const good: Record<string, Secret> = {};
  for (const [name, value] of Object.entries(headers)) {
    const at = ["headers", name];
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      refuse(at, new Refusal("is not a header's name", "use letters, digits and -"), "key");
    else if (reservedHeaders.has(name.toLowerCase()))
      refuse(at, new Refusal("is set by Tocsin itself", "remove it"), "key");
    else if (!/^[\x20-\x7e]*$/.test(value))
      refuse(at, new Refusal("has a character that a header cannot carry", "use ASCII without line breaks"));
    else good[name] = new Secret(value);
  }
  return good;
}
