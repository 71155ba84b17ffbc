import { badRequest } from "./refusal.ts";
import type { Parameters } from "./request-parameters.ts";
import type { Entity, FormattedText } from "./world.ts";

const rawTextLimitBytes = 1 << 15;
const textLimit = 4096;
const captionLimit = 1024;

/** Kinds that a sender may set; others are found by the vendor itself and are ignored when sent. */
const settableTypes = new Set([
  "bold",
  "italic",
  "underline",
  "strikethrough",
  "spoiler",
  "code",
  "pre",
  "text_link",
  "blockquote",
  "expandable_blockquote",
  "date_time",
]);

/**
 * The text of a message as it will be shown, from `text` with `entities`, or a refusal. Tocsin sends no markup, so any
 * `parse_mode` is refused.
 */
export function readFormattedText(parameters: Parameters): FormattedText {
  const raw = parameters.text("text") ?? "";
  if (raw === "") throw badRequest("message text is empty");
  if (Buffer.byteLength(raw) > rawTextLimitBytes) throw badRequest("text is too long");
  return checkFormatted(withEntities(raw, parameters, "entities"), textLimit, "message is too long");
}

/** The same from `caption` with `caption_entities`; it may be empty. */
export function readCaption(parameters: Parameters): FormattedText {
  const raw = parameters.text("caption") ?? "";
  if (raw === "") return { text: "", entities: [] };
  return checkFormatted(withEntities(raw, parameters, "caption_entities"), captionLimit, "message caption is too long");
}

function checkFormatted(formatted: FormattedText, limit: number, tooLong: string): FormattedText {
  if (/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(formatted.text)) {
    throw badRequest("strings must be encoded in UTF-8");
  }
  checkEntities(formatted);
  if (formatted.text.trim() === "") throw badRequest("text must be non-empty");
  if (formatted.text.length > limit) throw badRequest(tooLong);
  return formatted;
}

function withEntities(text: string, parameters: Parameters, name: string): FormattedText {
  if ((parameters.text("parse_mode") ?? "") !== "") throw badRequest("unsupported parse_mode");
  return { text, entities: readEntities(parameters.json(name)) };
}

function readEntities(value: unknown): Entity[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw badRequest("can't parse entities: Expected an Array of MessageEntity");
  return value.filter(isEntity).filter(({ type }) => settableTypes.has(type));
}

function isEntity(value: unknown): value is Entity {
  if (typeof value !== "object" || value === null) {
    throw badRequest("can't parse entities: Expected an Object of MessageEntity");
  }
  const { type, offset, length } = value as Record<string, unknown>;
  if (typeof type !== "string" || !Number.isInteger(offset) || !Number.isInteger(length)) {
    throw badRequest("can't parse entities: Can't find a field of MessageEntity");
  }
  return true;
}

/** Offsets inside the text and never inside a surrogate pair; links that can be opened. */
function checkEntities({ text, entities }: FormattedText): void {
  for (const entity of entities) {
    const end = entity.offset + entity.length;
    if (entity.offset < 0 || entity.offset > 1_000_000) {
      throw badRequest(`receive an entity with incorrect offset ${entity.offset}`);
    }
    if (entity.length < 0 || entity.length > 1_000_000) {
      throw badRequest(`receive an entity with incorrect length ${entity.length}`);
    }
    if (entity.length === 0) continue;
    if (entity.offset > text.length) {
      throw badRequest(`entity begins after the end of the text at UTF-16 offset ${entity.offset}`);
    }
    if (splitsPair(text, entity.offset)) {
      throw badRequest(`entity begins in a middle of a UTF-16 symbol at byte offset ${byteAfter(text, entity.offset)}`);
    }
    if (end > text.length) {
      throw badRequest(
        `entity beginning at UTF-16 offset ${entity.offset} ends after the end of the text at UTF-16 offset ${end}`,
      );
    }
    if (splitsPair(text, end)) {
      throw badRequest(
        `entity beginning at UTF-16 offset ${entity.offset} ends in a middle of a UTF-16 symbol at byte offset ${byteAfter(text, end)}`,
      );
    }
    checkDetails(entity);
  }
}

function checkDetails(entity: Entity): void {
  if (entity.type === "text_link" && !isLink(entity.url ?? "")) {
    throw badRequest(`entity URL '${entity.url ?? ""}' is invalid: Wrong HTTP URL`);
  }
  if (entity.type !== "date_time") return;
  const format = entity.date_time_format ?? "";
  if (!Number.isInteger(entity.unix_time) || !/^(r|w?[dD]?[tT]?)$/.test(format)) {
    throw badRequest("can't parse entities: Wrong date_time entity");
  }
}

/** Like the vendor's: http, https, tg or ton, and a host with a dot in it, so `http://localhost/` is refused. */
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
