import { z } from "zod";
import type { Destination } from "../../core/rules.ts";
import { Secret } from "../../core/secret.ts";
import { field, httpUrl, listOf, optional, secretly, text, textLike } from "../../ground/shape/field.ts";
import { Refusal, referTo } from "../../ground/shape/refusal.ts";
import { showValue } from "../../ground/shape/show-value.ts";
import { allowInternal, type BuildContext, hostOf, type Vendor } from "../vendor.ts";
import { type AppriseMessage, renderApprise } from "./render.ts";

export type AppriseDestination = Destination & { type: "apprise" } & ReturnType<typeof build>;

const options = z.object({
  server: httpUrl.describe("an Apprise API server"),
  key: optional(
    field(readAppriseKey, textLike("[-_A-Za-z0-9]{1,128}")),
    "a configuration stored on that server",
    "this or `urls` is required",
  ),
  urls: optional(
    listOf(secretly(text(referTo("APPRISE_URL"))), `["${referTo("APPRISE_URL")}"]`),
    "references to the Apprise addresses themselves",
    "",
  ),
  tag: optional(text("ops"), "selects among the stored addresses", "all"),
  allowInternal,
});

/** Apprise's own rule for keys. */
function readAppriseKey(value: unknown): string | Refusal {
  if (typeof value === "string" && /^[-_A-Za-z0-9]{1,128}$/.test(value)) return value;
  return new Refusal(`${showValue(value)} is not a configuration key`, "write letters, digits, - and _");
}

/** Requires one: `key` of a configuration on the server (`/notify/KEY`), or `urls`, which hold secrets. */
function build({ server, key, tag, urls = [], allowInternal = [] }: z.infer<typeof options>, context: BuildContext) {
  if ((key === undefined) === (urls.length === 0)) {
    const instead = "write the key of a stored configuration, or the Apprise addresses";
    context.refuse([], new Refusal("needs either key or urls", instead));
  }
  const secretUrls = urls.map((url) => new Secret(url));
  return { server, ...(key && { key }), urls: secretUrls, ...(tag && { tag }), allowInternal };
}

export const apprise = {
  type: "apprise",
  can: { edits: false, answers: false, plainForm: false, joinsByKey: false },
  words: { otherSide: "the Apprise server" },
  options: options.shape,
  build,
  addresses: ({ server, key, tag, urls }: AppriseDestination) =>
    key === undefined ? urls.map((url) => `apprise ${url.reveal()}`) : [`apprise ${server} ${key} ${tag ?? ""}`],
  shownRecipients: ({ server }: AppriseDestination) => [hostOf(server)],
  describe: ({ server }: AppriseDestination) => `Apprise at ${hostOf(server)}`,
  secrets: ({ urls }: AppriseDestination) => urls,
  pace: {},
  concurrency: 4,
  probeProves: "connection",
  render: (document, times) => [renderApprise(document, times)],
  readableText: ({ title, text }: AppriseMessage) => `${title}\n\n${text}`,
  open: async (destination: AppriseDestination, options) =>
    (await import("./send.ts")).createAppriseChannel(destination, options),
} satisfies Vendor;
