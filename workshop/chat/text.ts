import { badRequest, type Entity, type Parameters } from "./parameters.ts";

export interface FormattedText {
  text: string;
  entities: Entity[];
}

/** @throws Refusal */
export function readText(content: FormattedText): FormattedText {
  if (content.text === "") throw badRequest("message text is empty");
  return check(content, 4096, "message is too long");
}

/** It may be empty. @throws Refusal */
export function readCaption({ caption: text, caption_entities: entities }: CaptionParameters): FormattedText {
  return text === "" ? { text, entities: [] } : check({ text, entities }, 1024, "message caption is too long");
}
type CaptionParameters = Pick<Parameters, "caption" | "caption_entities">;

function check(content: FormattedText, mostUnits: number, tooLong: string): FormattedText {
  const { text, entities } = content;
  if (!text.isWellFormed()) throw badRequest("strings must be encoded in UTF-8");
  const wrong = entities.find((entity) => !fits(entity, text));
  if (wrong !== undefined) throw badRequest(`can't parse entities: wrong entity ${JSON.stringify(wrong)}`);
  if (text.trim() === "") throw badRequest("text must be non-empty");
  if (text.length > mostUnits) throw badRequest(tooLong);
  return content;
}

/** An entity must be inside the text and must not begin or end within a surrogate pair. Its link must be valid. */
function fits({ type, offset, length, url = "", ...instant }: Entity, text: string): boolean {
  if (length === 0) return true;
  const end = offset + length;
  if (end > text.length || splitsPair(text, offset) || splitsPair(text, end)) return false;
  if (type === "text_link") return isLink(url);
  if (type !== "date_time") return true;
  return instant.unix_time !== undefined && /^(r|w?[dD]?[tT]?)$/.test(instant.date_time_format ?? "");
}

/** Telegram's rule: http, https or tg, and a host with a dot, so `http://localhost/` is refused. */
function isLink(url: string): boolean {
  if (/^tg:\/\//i.test(url)) return true;
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return (protocol === "http:" || protocol === "https:") && (hostname.includes(".") || hostname.startsWith("["));
}

function splitsPair(text: string, offset: number): boolean {
  return /[\uD800-\uDBFF]/.test(text[offset - 1] ?? "") && /[\uDC00-\uDFFF]/.test(text[offset] ?? "");
}
