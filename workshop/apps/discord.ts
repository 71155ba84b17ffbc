import { z } from "zod";
import type { Board, Posted } from "./board.ts";
import { jsonOf, type UploadedFile, type VendorAnswer, type VendorRequest } from "./vendor-request.ts";

/** https://docs.discord.com/developers/resources/message#embed-object-embed-limits ; what it does not know it ignores. */
const address = z.string().max(2_048);
const picture = z.object({ url: address });
const embed = z.object({
  title: z.string().max(256).optional(),
  description: z.string().max(4_096).optional(),
  url: address.optional(),
  color: z.int().min(0).max(0xffffff).optional(),
  timestamp: z.iso.datetime({ offset: true }).optional(),
  author: z.object({ name: z.string().min(1).max(256), url: address.optional() }).optional(),
  footer: z.object({ text: z.string().max(2_048) }).optional(),
  image: picture.optional(),
  thumbnail: picture.optional(),
  fields: z
    .array(
      z.object({
        name: z.string().min(1).max(256),
        value: z.string().min(1).max(1_024),
        inline: z.boolean().optional(),
      }),
    )
    .max(25)
    .optional(),
});
const message = z.object({
  content: z.string().max(2_000).nullish(),
  embeds: z.array(embed).max(10).nullish(),
  flags: z.int().optional(),
  allowed_mentions: z.object({ parse: z.array(z.enum(["roles", "users", "everyone"])).optional() }).nullish(),
  attachments: z.array(z.object({ id: z.union([z.string(), z.int()]) })).nullish(),
});
const embedUnitsInAll = 6_000;
/** `SUPPRESS_NOTIFICATIONS` */
const silentFlag = 1 << 12;

type DiscordPayload = z.infer<typeof message>;
export type DiscordEmbed = z.infer<typeof embed>;

export interface DiscordContent {
  content: string;
  embeds: DiscordEmbed[];
  files: UploadedFile[];
  silent: boolean;
  /** Whom mentions in the text reach: nobody when none of `roles`, `users`, `everyone` is in it. */
  pings: string[];
}

/**
 * Answers as a webhook of API version 10 does, with its codes. Other versions are refused, for they count time otherwise.
 * @param webhook `<id>/<token>`
 */
export async function answerDiscord(
  request: VendorRequest,
  webhook: string,
  board: Board<DiscordContent>,
): Promise<VendorAnswer> {
  const { url, method } = request;
  const [, asked, messageId] =
    /^\/api\/v10\/webhooks\/([^/]+\/[^/]+)(?:\/messages\/([^/]+))?$/.exec(url.pathname) ?? [];
  if (asked !== webhook) return refuse(404, 10015, "Unknown Webhook");
  const [id = ""] = webhook.split("/");
  if (messageId === undefined && method === "GET") {
    return { status: 200, body: { id, type: 1, name: "Tocsin", channel_id: "1" } };
  }
  const former = board.posted().find((posted) => posted.id === messageId);
  if (messageId !== undefined && former === undefined) return refuse(404, 10008, "Unknown Message");
  if (former !== undefined && method === "DELETE") {
    board.remove(former.id);
    return { status: 204 };
  }
  if (former !== undefined && method === "GET") return { status: 200, body: describe(former) };
  if (method !== (former === undefined ? "POST" : "PATCH")) return refuse(405, 0, "405: Method Not Allowed");

  const given = await readParts(request);
  if (given === undefined) return refuse(400, 50109, "The request body contains invalid JSON.");
  const read = message.safeParse(given.payload);
  if (!read.success) return invalidForm(read.error.issues.map(({ path, message: words }) => ({ path, words })));
  const content = merge(former?.content, read.data, given.files);
  if (content.content === "" && content.embeds.length === 0 && content.files.length === 0) {
    return refuse(400, 50006, "Cannot send an empty message");
  }
  const fault = faultOf(content);
  if (fault !== undefined) return invalidForm([fault]);
  const posted = former === undefined ? board.add(content) : board.edit(former.id, content);
  if (posted === undefined) return refuse(404, 10008, "Unknown Message");
  const answers = former !== undefined || url.searchParams.get("wait") === "true";
  return answers ? { status: 200, body: describe(posted) } : { status: 204 };
}

function refuse(status: number, code: number, words: string, more: Record<string, unknown> = {}): VendorAnswer {
  return { status, body: { message: words, code, ...more } };
}

/** Discord names each field that is wrong by its path. */
function invalidForm(faults: { path: readonly PropertyKey[]; words: string }[]): VendorAnswer {
  const errors: Record<string, unknown> = {};
  for (const { path, words } of faults) {
    let place = errors;
    for (const step of path) {
      place[String(step)] ??= {};
      place = place[String(step)] as Record<string, unknown>;
    }
    place._errors = [{ code: "BASE_TYPE_BAD_LENGTH", message: words }];
  }
  return refuse(400, 50035, "Invalid Form Body", { errors });
}

/** JSON, or a form with `payload_json` and files. */
async function readParts({
  contentType,
  body,
}: VendorRequest): Promise<{ payload: unknown; files: UploadedFile[] } | undefined> {
  if (!contentType.startsWith("multipart/form-data")) {
    const payload = contentType.startsWith("application/json") ? jsonOf(body.toString()) : undefined;
    return payload === undefined ? undefined : { payload, files: [] };
  }
  const headers = { "content-type": contentType };
  const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => undefined);
  if (form === undefined) return undefined;
  const json = form.get("payload_json");
  const payload = json === null ? {} : jsonOf(typeof json === "string" ? json : await json.text());
  if (payload === undefined) return undefined;
  const files: UploadedFile[] = [];
  for (const [name, file] of form) {
    if (typeof file === "string" || name === "payload_json") continue;
    files.push({ name: file.name, type: file.type, bytes: Buffer.from(await file.arrayBuffer()) });
  }
  return { payload, files };
}

/** What an edit does not name stays as it was; of the files it keeps those that its `attachments` name. */
function merge(former: DiscordContent | undefined, payload: DiscordPayload, files: UploadedFile[]): DiscordContent {
  const { content, embeds, flags, attachments, allowed_mentions: mentions } = payload;
  const kept =
    former === undefined || attachments === undefined
      ? (former?.files ?? [])
      : former.files.filter((_, index) => attachments?.some(({ id }) => String(id) === String(index)));
  return {
    content: content === undefined ? (former?.content ?? "") : (content ?? ""),
    embeds: embeds === undefined ? (former?.embeds ?? []) : (embeds ?? []),
    files: [...kept, ...files],
    silent: former?.silent ?? ((flags ?? 0) & silentFlag) !== 0,
    pings: mentions?.parse ?? (mentions == null ? ["roles", "users", "everyone"] : []),
  };
}

function faultOf({ embeds, files }: DiscordContent): { path: string[]; words: string } | undefined {
  const units = embeds.reduce((sum, one) => sum + unitsOf(one), 0);
  if (units > embedUnitsInAll) {
    return { path: ["embeds"], words: `Embed size exceeds maximum size of ${embedUnitsInAll}` };
  }
  const index = embeds.findIndex(({ image, thumbnail }) =>
    [image, thumbnail].some((shown) => shown !== undefined && !isShowable(shown.url, files)),
  );
  if (index === -1) return undefined;
  return { path: ["embeds", String(index), "image", "url"], words: "Not a well formed URL." };
}

function unitsOf({ title = "", description = "", author, footer, fields = [] }: DiscordEmbed): number {
  const texts = [title, description, author?.name ?? "", footer?.text ?? ""];
  return [...texts, ...fields.flatMap(({ name, value }) => [name, value])].join("").length;
}

function isShowable(url: string, files: readonly UploadedFile[]): boolean {
  const [, name] = /^attachment:\/\/(.+)$/.exec(url) ?? [];
  return name === undefined ? /^https?:\/\//.test(url) : files.some((file) => file.name === name);
}

function describe({ id, content, at, edits }: Posted<DiscordContent>): Record<string, unknown> {
  return {
    id,
    type: 0,
    content: content.content,
    embeds: content.embeds,
    attachments: content.files.map(({ name, type, bytes }, index) => ({
      id: String(index),
      filename: name,
      content_type: type,
      size: bytes.length,
    })),
    timestamp: new Date(at).toISOString(),
    edited_timestamp: edits.length === 0 ? null : new Date(edits.at(-1)?.at ?? at).toISOString(),
    flags: content.silent ? silentFlag : 0,
  };
}
