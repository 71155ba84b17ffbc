import type { Outcome } from "../../core/delivery.ts";
import type { ChannelCalls } from "../../core/ports/channel.ts";
import type { Illustration } from "../../core/ports/illustration.ts";
import { parseRetryAfter } from "../../ground/net/retry-after.ts";
import { RecentMap } from "../../ground/recent-map.ts";
import { clip } from "../../ground/text/graphemes.ts";
import {
  type AnswerContext,
  createClassify,
  describeAnswer,
  jsonObjectOf,
  rateLimited,
  rejected,
} from "../http/classify.ts";
import type { Answer } from "../http/exchange.ts";
import { createHttpClient, type HttpChannelOptions, parseDestinationUrl } from "../http/http-client.ts";
import { writeMultipart } from "../http/multipart.ts";
import { secretsOfUrl } from "../http/redact.ts";
import type { DiscordMessage } from "./render.ts";
import type { DiscordDestination } from "./vendor.ts";

/** `SUPPRESS_NOTIFICATIONS`: no push and no sound. */
const silentFlag = 1 << 12;

/** `wait=true` makes Discord answer with the stored message's id, which edits need. */
export function createDiscordChannel(
  destination: DiscordDestination,
  options: HttpChannelOptions,
): ChannelCalls<DiscordMessage> {
  const given = parseDestinationUrl(destination.url.reveal(), destination);
  const webhook = pinVersion(given);
  const clientOptions = {
    ...options,
    allowInternal: destination.allowInternal,
    secrets: [...secretsOfUrl(given), ...secretsOfUrl(webhook)],
  };
  const http = createHttpClient(clientOptions);
  /** Pictures have their own connections, so a slow picture never blocks the warm connection of a text. */
  const pictures = createHttpClient(clientOptions);
  /** The latest messages with a picture. A restart forgets them. */
  const illustrated = new RecentMap<string, true>(1_000);
  const headers = { "content-type": "application/json" };

  return {
    send: async (message, context) => {
      const body = context.silent ? silenced(message.body) : message.body;
      return http.call({ url: executeUrl(webhook), method: "POST", headers, body }, classifyDiscord, context);
    },
    edit: async (ref, message, context) => {
      const body = replacing(illustrated.has(ref) ? withPicture(message.body) : message.body);
      return http.call({ url: messageUrl(webhook, ref), method: "PATCH", headers, body }, classifyDiscordEdit, context);
    },
    illustrate: async (ref, message, illustration, context) => {
      const { contentType, body } = await writePicture(message, illustration);
      const headers = { "content-type": contentType };
      const request = { url: messageUrl(webhook, ref), method: "PATCH" as const, headers, body };
      const outcome = await pictures.call(request, classifyDiscordEdit, context);
      if (outcome.kind === "sent") illustrated.set(ref, true);
      // A repeated edit changes nothing, so an edit is never ambiguous.
      return outcome.kind === "ambiguous" ? { ...outcome, kind: "retry" } : outcome;
    },
    probe: (_recipient, signal) => http.ask({ url: webhook, method: "GET", headers: {} }, classifyDiscordProbe, signal),
    close: async () => {
      await Promise.all([http.close(), pictures.close()]);
    },
  };
}

/** Source: Discord's documentation of webhooks, rate limits and JSON error codes. */
export const classifyDiscord = createClassify({
  taken({ status }, body) {
    if (status === 204) return { kind: "sent" };
    return typeof body?.id === "string" ? { kind: "sent", ref: body.id } : "the message with its id";
  },
  refused({ answer, status, body, context, detail }) {
    if (status === 404) return rejected("destination", "gone", detail);
    if (status === 429)
      return rateLimited(detail, waitOf(answer, context), body?.global === true ? "account" : "destination");
    if (status !== 400) return undefined;
    if (body?.code === 50006) return rejected("message", "empty_text", detail);
    if (!forumCodes.has(body?.code)) return undefined;
    const hint = `${detail}. A forum channel needs ?thread_id=… in the webhook's address`;
    return rejected("destination", "address_invalid", hint);
  },
});

/** Like `classifyDiscord`. A gone target concerns this message only, which can be sent as a new one. */
export function classifyDiscordEdit(answer: Answer, context: AnswerContext): Outcome {
  const code = jsonObjectOf(answer)?.code;
  // 10008: unknown message. 30046: too many edits of a message that is older than an hour.
  if (answer.status >= 400 && (code === 10008 || code === 30046)) {
    return rejected("message", "edit_target_gone", describeAnswer(answer, context));
  }
  return classifyDiscord(answer, context);
}

/** Unknown Webhook, Invalid Webhook Token. */
const goneCodes = new Set([10015, 50027]);

function classifyDiscordProbe(answer: Answer, context: AnswerContext): Outcome {
  const outcome = classifyDiscord(answer, context);
  if (outcome.kind === "sent") return { kind: "sent", note: "the webhook exists" };
  if (outcome.kind !== "rejected" || outcome.scope !== "destination") return outcome;
  // Servers that imitate Discord may lack this question. Any other answer says nothing about messages.
  const isGone = goneCodes.has(Number(jsonObjectOf(answer)?.code));
  return isGone ? outcome : { ...outcome, scope: "message" };
}

/** A forum or media channel wants a thread, or refuses the given one. */
const forumCodes = new Set<unknown>([220001, 220002, 220003, 220004]);

/** Discord names the wait in three places. The longest counts. Cloudflare's own 429 has only the header. */
function waitOf(answer: Answer, context: AnswerContext): number | undefined {
  const seconds = jsonObjectOf(answer)?.retry_after;
  const waits = [
    typeof seconds === "number" && seconds >= 0 ? Math.ceil(seconds * 1_000) : undefined,
    parseRetryAfter(answer.headers["retry-after"], context.nowMs),
    parseRetryAfter(answer.headers["x-ratelimit-reset-after"], context.nowMs),
  ].filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** Without a version, or below version 8, Discord counts `retry_after` in milliseconds. */
function pinVersion(url: URL): URL {
  const pinned = new URL(url.href);
  pinned.pathname = url.pathname.replace(/^\/api\/(?:v\d+\/)?webhooks\//, "/api/v10/webhooks/");
  return pinned;
}

/** Keeps the `thread_id` of the configured address. */
function executeUrl(webhook: URL): URL {
  const url = new URL(webhook.href);
  url.searchParams.set("wait", "true");
  return url;
}

function messageUrl(webhook: URL, ref: string): URL {
  const url = new URL(webhook.href);
  url.pathname = `${webhook.pathname.replace(/(?<!\/)\/+$/, "")}/messages/${encodeURIComponent(ref)}`;
  url.searchParams.delete("wait");
  return url;
}

function silenced(body: string): string {
  const message = JSON.parse(body) as { flags?: number };
  return JSON.stringify({ ...message, flags: (message.flags ?? 0) | silentFlag });
}

const pictureName = "chart.png";
/** Discord's limits for an embed's footer and an attachment's description. */
const maxFooterUnits = 2048;
const maxAltUnits = 1024;

interface Body {
  content?: string;
  embeds?: Record<string, unknown>[];
}

/** Adds the picture to the embed, below its text. A message without an embed shows the picture separately. */
function withPicture(body: string, line?: string): string {
  const message = JSON.parse(body) as Body;
  const [first, ...others] = message.embeds ?? [];
  if (first === undefined) return body;
  const footer = line === undefined ? {} : { footer: { text: clip(line, maxFooterUnits) } };
  const shown = { ...first, image: { url: `attachment://${pictureName}` }, ...footer };
  return JSON.stringify({ ...message, embeds: [shown, ...others] });
}

function writePicture({ body }: DiscordMessage, { png, alt, line }: Illustration) {
  const attachments = [{ id: 0, filename: pictureName, description: clip(alt, maxAltUnits) }];
  const message = { ...(JSON.parse(replacing(withPicture(body, line))) as object), attachments };
  const file = { name: "files[0]", filename: pictureName, contentType: "image/png", bytes: png };
  return writeMultipart({ payload_json: JSON.stringify(message) }, file);
}

/** Discord keeps fields that an edit does not name. Both places of text are therefore named. */
function replacing(body: string): string {
  return JSON.stringify({ content: "", embeds: [], ...(JSON.parse(body) as object) });
}
