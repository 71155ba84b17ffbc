import { z } from "zod";
import { readJson } from "../../src/ground/text/read-json.ts";

/** The kinds that Tocsin sends. Offsets and lengths count UTF-16 units. */
const entity = z.strictObject({
  type: z.enum(["bold", "italic", "code", "pre", "text_link", "blockquote", "date_time"]),
  offset: z.int().min(0),
  length: z.int().min(0),
  url: z.string().optional(),
  unix_time: z.int().optional(),
  date_time_format: z.string().optional(),
});
export type Entity = z.infer<typeof entity>;

const captionFields = {
  caption: z.string().default(""),
  caption_entities: z.array(entity).default([]),
  show_caption_above_media: z.boolean().default(false),
};
/** The parameters that Tocsin sends: no markup (`parse_mode`), and only photos that come with the request. */
const parametersSchema = z.strictObject({
  chat_id: z.coerce.string().optional(),
  message_id: z.coerce.number().optional(),
  message_thread_id: z.int().optional(),
  user_id: z.int().optional(),
  text: z.string().default(""),
  entities: z.array(entity).default([]),
  ...captionFields,
  media: z
    .strictObject({ type: z.literal("photo"), media: z.string().regex(/^attach:\/\/[\w-]{1,64}$/), ...captionFields })
    .optional(),
  disable_notification: z.boolean().default(false),
  link_preview_options: z.strictObject({ is_disabled: z.boolean() }).optional(),
  reply_parameters: z
    .strictObject({ message_id: z.int(), allow_sending_without_reply: z.boolean().default(false) })
    .optional(),
  offset: z.int().min(1).optional(),
  limit: z.int().min(1).max(100).default(100),
  timeout: z.int().min(0).max(50).default(0),
});
export type Parameters = z.infer<typeof parametersSchema>;

/** From JSON, or from a form with JSON in its fields. `given`: as received, without files. @throws Refusal */
export async function readParameters(request: Request) {
  const isForm = request.headers.get("content-type")?.startsWith("multipart/form-data") === true;
  const fields = isForm ? [...(await request.formData())] : [];
  const files = new Map(fields.flatMap(([name, value]) => (value instanceof File ? [[name, value] as const] : [])));
  const texts = fields.filter(([name]) => !files.has(name)).map(([name, value]) => [name, readField(String(value))]);
  const given = isForm ? Object.fromEntries(texts) : readJson((await request.text()) || "{}");
  const { data: parameters, error } = parametersSchema.safeParse(given);
  if (error !== undefined)
    throw badRequest(`can't parse ${error.issues[0]?.path.join(".")}: ${error.issues[0]?.message}`);
  return { given: given as Record<string, unknown>, parameters, files };
}

const readField = (text: string) => (/^[[{]/.test(text) ? readJson(text) : text);

/** A refusal of the Bot API. The descriptions are Telegram's own, literal where they are known. */
export class Refusal extends Error {
  constructor(
    readonly errorCode: number,
    description: string,
    readonly parameters?: { retry_after?: number; migrate_to_chat_id?: number },
  ) {
    super(description);
  }
}

export function badRequest(description: string): Refusal {
  return new Refusal(400, `Bad Request: ${description}`);
}
