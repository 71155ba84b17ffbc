import type { Child, FC } from "hono/jsx";
import { z } from "zod";
import { readJson } from "../../src/ground/text/read-json.ts";
import { Instant, Picture, WebLink } from "../board/views.tsx";
import { sizeOfPng } from "../chat/world.ts";
import { type App, isJson, type Messages, type Posted, type VendorAnswer, type VendorRequest } from "./app.ts";

/** https://docs.discord.com/developers/resources/message#embed-object-embed-limits . Discord ignores unknown names. */
const embed = z.object({
  title: z.string().max(256).optional(),
  description: z.string().max(4_096).optional(),
  color: z.int().min(0).max(0xffffff).optional(),
  footer: z.object({ text: z.string().max(2_048) }).optional(),
  image: z.object({ url: z.string().max(2_048) }).optional(),
});
const message = z.object({
  content: z.string().max(2_000).optional(),
  embeds: z.array(embed).max(10).optional(),
  flags: z.int().optional(),
  allowed_mentions: z.object({ parse: z.array(z.enum(["roles", "users", "everyone"])).optional() }).optional(),
  attachments: z
    .array(
      z.object({
        id: z.coerce.string(),
        filename: z.string().optional(),
        description: z.string().max(1_024).optional(),
      }),
    )
    .optional(),
});
const embedUnitsInAll = 6_000;
/** `SUPPRESS_NOTIFICATIONS` */
const silentFlag = 1 << 12;

export interface DiscordContent {
  content: string;
  embeds: z.infer<typeof embed>[];
  attachments: Attachment[];
  flags: number;
  /** The mentions that reach somebody: none unless `roles`, `users` or `everyone` is in it. */
  pings: string[];
}

interface Attachment {
  id: string;
  filename: string;
  description?: string;
  size: number;
  png: Uint8Array;
}

/** @param options.webhook `<id>/<token>` */
export function createDiscord(options: { webhook: string; channel: string }): App<DiscordContent> {
  return {
    name: "discord",
    title: "Discord",
    place: `#${options.channel}`,
    owns: (path) => path.startsWith("/api/"),
    answer: (request, messages) => answerDiscord(request, options.webhook, messages),
    limits: [
      { atMost: 5, spanMs: 2_000 },
      { atMost: 30, spanMs: 60_000 },
    ],
    askToWait: (seconds) => ({ message: "You are being rate limited.", retry_after: seconds, global: false }),
    gone: refuse(404, 10015, "Unknown Webhook"),
    idOf: (number) => String(700_000_000_000_000_100n + BigInt(number)),
    view: (content) => <ContentView {...content} />,
    marks: ({ flags, pings }) => [
      ...((flags & silentFlag) === 0 ? [] : ["silent"]),
      ...(pings.length > 0 ? [`mentions ping ${pings.join(", ")}`] : []),
    ],
  };
}

/** Answers as a webhook of API version 10. Other versions are refused, as their times have other units. */
export async function answerDiscord(
  request: VendorRequest,
  webhook: string,
  messages: Messages<DiscordContent>,
): Promise<VendorAnswer> {
  const { url, method } = request;
  const [, asked, messageId] =
    /^\/api\/v10\/webhooks\/([^/]+\/[^/]+)(?:\/messages\/([^/]+))?$/.exec(url.pathname) ?? [];
  if (asked !== webhook) return refuse(404, 10015, "Unknown Webhook");
  const [id = ""] = webhook.split("/");
  if (messageId === undefined && method === "GET") return { status: 200, body: { id, type: 1, name: "alerts" } };
  const former = messages.posted.find((posted) => posted.id === messageId);
  if (messageId !== undefined && former === undefined) return refuse(404, 10008, "Unknown Message");
  if (method !== (former === undefined ? "POST" : "PATCH")) return refuse(405, 0, "405: Method Not Allowed");

  const given = await readParts(request);
  if (given === undefined) return refuse(400, 50109, "The request body contains invalid JSON.");
  const read = message.safeParse(given.payload);
  if (!read.success) return invalidForm(read.error.issues[0]?.path, read.error.issues[0]?.message);
  const attachments = attachmentsAfter(former?.content.attachments ?? [], read.data.attachments, given.files);
  if (attachments === undefined) return invalidForm(["attachments"], "An attachment is not there");
  const { content = former?.content.content ?? "", embeds = former?.content.embeds ?? [], flags } = read.data;
  const mentions = read.data.allowed_mentions;
  const pings = mentions === undefined ? ["roles", "users", "everyone"] : (mentions.parse ?? []);
  if (content === "" && embeds.length + attachments.length === 0)
    return refuse(400, 50006, "Cannot send an empty message");
  if (embeds.reduce((sum, one) => sum + unitsOf(one), 0) > embedUnitsInAll)
    return invalidForm(["embeds"], `Embed size exceeds maximum size of ${embedUnitsInAll}`);
  const lost = embeds.findIndex(({ image }) => image !== undefined && !isShowable(image.url, attachments));
  if (lost !== -1) return invalidForm(["embeds", lost, "image", "url"], "Not a well formed URL.");
  const after = { content, embeds, attachments, flags: former?.content.flags ?? flags ?? 0, pings };
  const posted = former === undefined ? messages.add(after) : messages.edit(former, after);
  const isAnswered = former !== undefined || url.searchParams.get("wait") === "true";
  return isAnswered ? { status: 200, body: describe(posted) } : { status: 204 };
}

function refuse(status: number, code: number, words: string, more: Record<string, unknown> = {}): VendorAnswer {
  return { status, body: { message: words, code, ...more } };
}

/** Discord names the wrong field by its path. */
function invalidForm(path: readonly PropertyKey[] = [], words = ""): VendorAnswer {
  const fault: object = { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: words }] };
  const errors = path.reduceRight((inner, step) => ({ [String(step)]: inner }), fault);
  return refuse(400, 50035, "Invalid Form Body", { errors });
}

interface Upload {
  field: string;
  filename: string;
  type: string;
  bytes: Uint8Array;
}

/** JSON, or a form with `payload_json` and files. */
async function readParts(request: VendorRequest): Promise<{ payload: unknown; files: Upload[] } | undefined> {
  if (isJson(request)) {
    const payload = readJson(request.body.toString());
    return payload === undefined ? undefined : { payload, files: [] };
  }
  const headers = { "content-type": String(request.headers["content-type"]) };
  const form = await new Response(new Uint8Array(request.body), { headers }).formData().catch(() => undefined);
  const payload = readJson(String(form?.get("payload_json")));
  if (form === undefined || payload === undefined) return undefined;
  const files: Upload[] = [];
  for (const [field, file] of form) {
    if (!(file instanceof File)) continue;
    files.push({ field, filename: file.name, type: file.type, bytes: new Uint8Array(await file.arrayBuffer()) });
  }
  return { payload, files };
}

/** Keeps only the attachments that the edit names. A new one is named by its file's number. Undefined: unknown name. */
function attachmentsAfter(
  former: Attachment[],
  named: z.infer<typeof message>["attachments"],
  files: readonly Upload[],
): Attachment[] | undefined {
  if (named === undefined) return files.length === 0 ? former : undefined;
  const after = named.map(({ id, filename, description }) => {
    const file = files.find(({ field }) => field === `files[${id}]`);
    if (file === undefined) return former.find((one) => one.id === id);
    const { type, bytes } = file;
    if (file.filename !== filename || type !== "image/png" || sizeOfPng(bytes).width === 0) return undefined;
    return { id: `8${former.length}${id}`, filename, description, size: bytes.length, png: bytes };
  });
  return after.every((one) => one !== undefined) ? after : undefined;
}

function unitsOf({ title = "", description = "", footer }: z.infer<typeof embed>): number {
  return title.length + description.length + (footer?.text.length ?? 0);
}

function isShowable(url: string, attachments: readonly Attachment[]): boolean {
  const [, name] = /^attachment:\/\/(.+)$/.exec(url) ?? [];
  return name === undefined ? /^https?:\/\//.test(url) : attachments.some(({ filename }) => filename === name);
}

function describe({ id, content: { content, embeds, attachments, flags } }: Posted<DiscordContent>): object {
  const files = attachments.map(({ png: _png, ...facts }) => facts);
  return { id, type: 0, content, embeds, attachments: files, flags };
}

const ContentView: FC<DiscordContent> = ({ content, embeds, attachments }) => {
  const shown = embeds.map(({ image }) => image?.url);
  const sourceOf = (url: string) => {
    const file = attachments.find(({ filename }) => url === `attachment://${filename}`);
    return file === undefined ? url : `data:image/png;base64,${Buffer.from(file.png).toString("base64")}`;
  };
  const alone = attachments.map(({ filename }) => `attachment://${filename}`).filter((url) => !shown.includes(url));
  return (
    <>
      <Markdown text={content} />
      {embeds.map(({ title, description, color = 0x4e5058, image, footer }) => (
        <div class="embed">
          <svg class="bar" aria-hidden="true">
            <rect width="100%" height="100%" fill={`#${color.toString(16).padStart(6, "0")}`} />
          </svg>
          {title !== undefined && <h3>{title}</h3>}
          {description !== undefined && <Markdown text={description} />}
          {image !== undefined && <Picture src={sourceOf(image.url)} alt="" />}
          {footer !== undefined && <p class="quiet">{footer.text}</p>}
        </div>
      ))}
      {alone.map((url) => (
        <Picture src={sourceOf(url)} alt="" />
      ))}
    </>
  );
};

/** The part of Discord's markdown that Tocsin writes, as Discord's app shows it. hono escapes all text. */
const Markdown: FC<{ text: string }> = ({ text }) => (
  <>
    {text.split(/(```\n[\s\S]*?\n```)/).map((part) => {
      const [, code] = /^```\n([\s\S]*)\n```$/.exec(part) ?? [];
      return code === undefined ? viewLines(part) : <pre>{code}</pre>;
    })}
  </>
);

/** Adjacent lines that begin with `> ` are one quotation. */
function viewLines(text: string): Child[] {
  return text
    .split(/((?:^> .*\n?)+)/m)
    .map((part) =>
      part.startsWith("> ") ? <blockquote>{viewInline(part.replaceAll(/^> /gm, ""))}</blockquote> : viewInline(part),
    );
}

const words = String.raw`(?:\\.|[^\\])+?`;
const token = new RegExp(
  [
    String.raw`\\(?<escaped>[^\sA-Za-z0-9])`,
    "`` (?<long>.+?) ``|`(?<code>[^`]+)`",
    String.raw`\[(?<label>${words})\]\(<(?<href>[^>]+)>\)|<(?<address>https?://[^\s>]+)>`,
    "<t:(?<seconds>\\d{1,12}):(?<form>[tf])>",
    String.raw`\*\*(?<bold>${words})\*\*|\*(?<italic>${words})\*`,
  ].join("|"),
  "gs",
);

function viewInline(text: string): Child[] {
  const children: Child[] = [];
  let at = 0;
  for (const { index, 0: whole, groups = {} } of text.matchAll(token)) {
    children.push(text.slice(at, index), viewToken(groups));
    at = index + whole.length;
  }
  return [...children, text.slice(at)];
}

function viewToken(found: Record<string, string | undefined>): Child {
  const { escaped, long, code = long, label = "", href, address, seconds, form, bold, italic = "" } = found;
  if (escaped !== undefined) return escaped;
  if (code !== undefined) return <code>{code}</code>;
  if (href !== undefined) return <WebLink url={href}>{viewInline(label)}</WebLink>;
  if (address !== undefined) return <WebLink url={address}>{address}</WebLink>;
  if (seconds !== undefined)
    return <Instant at={Number(seconds) * 1000} form={form === "t" ? "time" : "date and time"} />;
  return bold === undefined ? <em>{viewInline(italic)}</em> : <strong>{viewInline(bold)}</strong>;
}
