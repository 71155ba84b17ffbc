import type { Child, FC } from "hono/jsx";
import { z } from "zod";
import { readJson } from "../../src/ground/text/read-json.ts";
import { Instant, Picture, WebLink } from "../board/views.tsx";
import { sizeOfPng } from "../chat/world.ts";
import { type App, type AppDeps, isJson, Messages, type Posted, reply } from "./app.ts";

/** https://docs.discord.com/developers/resources/message#embed-object-embed-limits . Discord ignores unknown names. */
const embed = z.object({
  title: z.string().max(256).optional(),
  description: z.string().max(4_096).optional(),
  color: z.int().min(0).max(0xffffff).optional(),
  footer: z.object({ text: z.string().max(2_048) }).optional(),
  image: z.object({ url: z.string().max(2_048) }).optional(),
});
const attachment = z.object({
  id: z.coerce.string(),
  filename: z.string().optional(),
  description: z.string().max(1_024).optional(),
});
const message = z.object({
  content: z.string().max(2_000).optional(),
  embeds: z.array(embed).max(10).optional(),
  flags: z.int().optional(),
  allowed_mentions: z.object({ parse: z.array(z.enum(["roles", "users", "everyone"])).optional() }).optional(),
  attachments: z.array(attachment).optional(),
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

/** A webhook of API version 10: other versions have other units of time. @param options.webhook `<id>/<token>` */
export function createDiscord(
  { webhook, channel }: { webhook: string; channel: string },
  deps: AppDeps,
): App<DiscordContent> {
  const idOf = (number: number) => String(700_000_000_000_000_100n + BigInt(number));
  const messages = new Messages<DiscordContent>(deps, idOf);
  return {
    ...{ name: "discord", title: "Discord", place: `#${channel}`, messages },
    owns: (path) => path.startsWith("/api/"),
    answer: (request) => answerDiscord(request, webhook, messages),
    limits: [
      { atMost: 5, spanMs: 2_000 },
      { atMost: 30, spanMs: 60_000 },
    ],
    askToWait: (seconds) => ({ message: "You are being rate limited.", retry_after: seconds, global: false }),
    gone: () => refuse(404, 10015, "Unknown Webhook"),
    view: (content) => <ContentView {...content} />,
    marks: ({ flags, pings }) => [
      ...((flags & silentFlag) === 0 ? [] : ["silent"]),
      ...(pings.length > 0 ? [`mentions ping ${pings.join(", ")}`] : []),
    ],
  };
}

async function answerDiscord(request: Request, webhook: string, messages: Messages<DiscordContent>): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const { method } = request;
  const [, asked, messageId] = /^\/api\/v10\/webhooks\/([^/]+\/[^/]+)(?:\/messages\/([^/]+))?$/.exec(pathname) ?? [];
  if (asked !== webhook) return refuse(404, 10015, "Unknown Webhook");
  const [id = ""] = webhook.split("/");
  if (messageId === undefined && method === "GET") return reply(200, { id, type: 1, name: "alerts" });
  const former = messages.posted.find((posted) => posted.id === messageId);
  if (messageId !== undefined && former === undefined) return refuse(404, 10008, "Unknown Message");
  if (method !== (former === undefined ? "POST" : "PATCH")) return refuse(405, 0, "405: Method Not Allowed");

  const form = isJson(request) ? undefined : await request.formData().catch(() => undefined);
  const payload = readJson(form === undefined ? await request.text() : String(form.get("payload_json")));
  if (payload === undefined) return refuse(400, 50109, "The request body contains invalid JSON.");
  const read = message.safeParse(payload);
  if (!read.success) return invalidForm(read.error.issues[0]?.path, read.error.issues[0]?.message);
  const attachments = await attachmentsAfter(former?.content.attachments ?? [], read.data.attachments, form);
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
  const isAnswered = former !== undefined || searchParams.get("wait") === "true";
  return isAnswered ? reply(200, describe(posted)) : new Response(null, { status: 204 });
}

function refuse(status: number, code: number, words: string, more: Record<string, unknown> = {}): Response {
  return reply(status, { message: words, code, ...more });
}

/** Discord names the wrong field by its path. */
function invalidForm(path: readonly PropertyKey[] = [], words = ""): Response {
  const fault: object = { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: words }] };
  const errors = path.reduceRight((inner, step) => ({ [String(step)]: inner }), fault);
  return refuse(400, 50035, "Invalid Form Body", { errors });
}

/** Keeps only the attachments that the edit names. A new one is named by its file's number. Undefined: unknown name. */
async function attachmentsAfter(
  former: Attachment[],
  named: z.infer<typeof message>["attachments"],
  form: FormData | undefined,
): Promise<Attachment[] | undefined> {
  if (named === undefined) return form === undefined ? former : undefined;
  const after = named.map(async ({ id, filename, description }) => {
    const file = form?.get(`files[${id}]`);
    if (!(file instanceof File)) return former.find((one) => one.id === id);
    const png = new Uint8Array(await file.arrayBuffer());
    if (file.name !== filename || file.type !== "image/png" || sizeOfPng(png).width === 0) return undefined;
    return { id: `8${former.length}${id}`, filename, description, size: png.length, png };
  });
  const attachments = await Promise.all(after);
  return attachments.every((one) => one !== undefined) ? attachments : undefined;
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
