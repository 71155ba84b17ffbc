import { z } from "zod";
import { badRequest, type Parameters } from "./parameters.ts";

/** The kinds that Tocsin sends. Others are refused. Offsets and lengths count UTF-16 units. */
const entitySchema = z.object({
  type: z.enum(["bold", "italic", "code", "pre", "text_link", "blockquote", "date_time"]),
  offset: z.int(),
  length: z.int(),
  url: z.string().optional(),
  unix_time: z.int().optional(),
  date_time_format: z.string().optional(),
});
export type Entity = z.infer<typeof entitySchema>;

export interface FormattedText {
  text: string;
  entities: Entity[];
}

const mostBytes = 1 << 15;

/** From `text` with `entities`. Tocsin sends no markup, so any `parse_mode` is refused. @throws Refusal */
export function readText(parameters: Parameters): FormattedText {
  const text = parameters.text("text") ?? "";
  if (text === "") throw badRequest("message text is empty");
  if (Buffer.byteLength(text) > mostBytes) throw badRequest("text is too long");
  return check({ text, entities: readEntities(parameters, "entities") }, 4096, "message is too long");
}

/** From `caption` with `caption_entities`. It may be empty. */
export function readCaption(parameters: Parameters): FormattedText {
  const text = parameters.text("caption") ?? "";
  if (text === "") return { text, entities: [] };
  const entities = readEntities(parameters, "caption_entities");
  return check({ text, entities }, 1024, "message caption is too long");
}

function readEntities(parameters: Parameters, name: string): Entity[] {
  if ((parameters.text("parse_mode") ?? "") !== "") throw badRequest("unsupported parse_mode");
  const read = z.array(entitySchema).safeParse(parameters.json(name) ?? []);
  if (!read.success) throw badRequest(`can't parse entities: ${read.error.issues[0]?.message}`);
  return read.data;
}

function check({ text, entities }: FormattedText, mostUnits: number, tooLong: string): FormattedText {
  if (!text.isWellFormed()) throw badRequest("strings must be encoded in UTF-8");
  for (const entity of entities) checkEntity(text, entity);
  if (text.trim() === "") throw badRequest("text must be non-empty");
  if (text.length > mostUnits) throw badRequest(tooLong);
  return { text, entities };
}

/** An entity must be inside the text and must not begin or end within a surrogate pair. Its link must be valid. */
function checkEntity(text: string, entity: Entity): void {
  const { type, offset, length } = entity;
  const end = offset + length;
  if (offset < 0 || offset > 1_000_000) throw badRequest(`receive an entity with incorrect offset ${offset}`);
  if (length < 0 || length > 1_000_000) throw badRequest(`receive an entity with incorrect length ${length}`);
  if (length === 0) return;
  if (offset > text.length) throw badRequest(`entity begins after the end of the text at UTF-16 offset ${offset}`);
  const inMiddle = (at: number) => `in a middle of a UTF-16 symbol at byte offset ${byteAfter(text, at)}`;
  if (splitsPair(text, offset)) throw badRequest(`entity begins ${inMiddle(offset)}`);
  const beginning = `entity beginning at UTF-16 offset ${offset} ends`;
  if (end > text.length) throw badRequest(`${beginning} after the end of the text at UTF-16 offset ${end}`);
  if (splitsPair(text, end)) throw badRequest(`${beginning} ${inMiddle(end)}`);
  if (type === "text_link" && !isLink(entity.url ?? "")) {
    throw badRequest(`entity URL '${entity.url ?? ""}' is invalid: Wrong HTTP URL`);
  }
  const isInstant = entity.unix_time !== undefined && /^(r|w?[dD]?[tT]?)$/.test(entity.date_time_format ?? "");
  if (type === "date_time" && !isInstant) throw badRequest("can't parse entities: Wrong date_time entity");
}

/** Telegram's rule: http, https, tg or ton, and a host with a dot, so `http://localhost/` is refused. */
function isLink(url: string): boolean {
  if (/^(tg|ton):\/\//i.test(url)) return true;
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url : `http://${url}`;
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return (protocol === "http:" || protocol === "https:") && (hostname.includes(".") || hostname.startsWith("["));
}

function splitsPair(text: string, offset: number): boolean {
  return /[\uD800-\uDBFF]/.test(text[offset - 1] ?? "") && /[\uDC00-\uDFFF]/.test(text[offset] ?? "");
}

function byteAfter(text: string, offset: number): number {
  return Buffer.byteLength(text.slice(0, offset + 1));
}
