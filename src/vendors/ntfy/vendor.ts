import { z } from "zod";
import type { Destination } from "../../core/rules.ts";
import { Secret } from "../../core/secret.ts";
import { field, httpUrl, optional, secretly, text, textLike } from "../../ground/shape/field.ts";
import { Refusal, referTo } from "../../ground/shape/refusal.ts";
import { showValue } from "../../ground/shape/show-value.ts";
import { allowInternal, hostOf, type Vendor } from "../vendor.ts";
import { type NtfyMessage, renderNtfy } from "./render.ts";

export type NtfyDestination = Destination & { type: "ntfy" } & ReturnType<typeof build>;

const options = z.object({
  server: httpUrl.prefault("https://ntfy.sh").describe("the ntfy server"),
  topic: field(readTopic, { anyOf: [textLike("[-_A-Za-z0-9]{1,64}"), { type: "integer" }] }).describe(
    "up to 64 letters, digits, `-` and `_`; anyone who knows it can read and write it",
  ),
  token: optional(secretly(text(referTo("NTFY_TOKEN"))), "a reference to an access token"),
  allowInternal,
});

/** ntfy's own rule for topics. */
function readTopic(value: unknown): string | Refusal {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text === "string" && /^[-_A-Za-z0-9]{1,64}$/.test(text)) return text;
  return new Refusal(`${showValue(value)} is not a topic`, "write up to 64 letters, digits, - and _");
}

function build({ server, topic, token, allowInternal = [] }: z.infer<typeof options>) {
  return { server, topic, ...(token !== undefined && { token: new Secret(token) }), allowInternal };
}

export const ntfy = {
  type: "ntfy",
  can: { edits: true, editsInSight: true, answers: false, plainForm: false, joinsByKey: false, pictures: "linked" },
  words: { otherSide: "the ntfy server" },
  options: options.shape,
  build,
  addresses: ({ server, topic }: NtfyDestination) => [`ntfy ${server} ${topic}`],
  shownRecipients: ({ server }: NtfyDestination) => [hostOf(server)],
  // The topic's name is a secret: it is enough to read the topic.
  describe: ({ server }: NtfyDestination) => `a topic of ${hostOf(server)}`,
  secrets: ({ token }: NtfyDestination) => [token],
  pace: {},
  probeProves: "connection",
  render: (document, times, { picture }) => [renderNtfy(document, times, picture)],
  readableText: ({ title, text }: NtfyMessage) => `${title}\n\n${text}`,
  open: async (destination: NtfyDestination, options) =>
    (await import("./send.ts")).createNtfyChannel(destination, options),
} satisfies Vendor;
