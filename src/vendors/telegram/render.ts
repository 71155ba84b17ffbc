import type { Document, Message, MessageForm } from "../../core/message.ts";
import { boundaryBefore, codePointStart } from "../../ground/text/graphemes.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { writeFitting } from "../layout/fit.ts";
import { type LaidBlock, layOut, type Run, spellOutLink, writePlainText } from "../layout/layout.ts";

/** Longer alerts are cut, and their page shows the rest: at 20 messages a minute eight parts already delay others. */
const maxParts = 8;

export interface TelegramMessage extends Message, FormattedText {
  kind: "telegram";
}

/** One message, or the parts of a long one in reading order. The plain form has no entities. */
export function renderTelegram(document: Document, times: TimeFormat, form: MessageForm): TelegramMessage[] {
  const write = (candidate: Document): FormattedText[] => {
    const blocks = layOut(candidate, times);
    return splitTelegramText(
      form === "plain" ? { text: writePlainText(blocks), entities: [] } : writeTelegramText(blocks),
    );
  };
  const parts = writeFitting(document, write, (written) => written.length <= maxParts);
  return parts.map((part) => ({ kind: "telegram", ...part }));
}

/** The entity kinds that Tocsin sends. Offsets and lengths count UTF-16 units. */
export interface TelegramEntity {
  type: "bold" | "italic" | "code" | "pre" | "text_link" | "blockquote" | "date_time";
  offset: number;
  length: number;
  /** For `text_link`. */
  url?: string;
  /** For `date_time`: the instant in Unix seconds, and how to show it. */
  unix_time?: number;
  date_time_format?: string;
}

export interface FormattedText {
  text: string;
  /** Sorted by offset, longer ones first, within the text, and nested only as Telegram allows. */
  entities: TelegramEntity[];
}

/** Entities in place of markup: no text fails to parse. A block quotation may not hold code, links or times. */
function writeTelegramText(blocks: LaidBlock[]): FormattedText {
  let text = "";
  const entities: TelegramEntity[] = [];
  for (const block of blocks) {
    text += block.gap;
    const blockOffset = text.length;
    for (const run of block.runs.map(withReachableLink)) {
      const entity = block.quoted ? undefined : entityOf(run, text.length);
      if (entity !== undefined) entities.push(entity);
      text += run.text;
    }
    if (block.quoted) {
      entities.push({ type: "blockquote", offset: blockOffset, length: text.length - blockOffset });
    }
  }
  return { text, entities };
}

/** Telegram refuses a whole message for a link to a host without a dot (tdlib, `check_link`): `http://localhost`. */
function withReachableLink(run: Run): Run {
  if (run.style !== "link") return run;
  if (withPlainHost.test(run.href)) return run;
  const { protocol, hostname } = new URL(run.href);
  const accepted = protocol === "tg:" || hostname.includes(".") || hostname.startsWith("[");
  return accepted ? run : { style: "text", text: spellOutLink(run.text, run.href) };
}

/** A host with a dot that `new URL` leaves unchanged. */
const withPlainHost = /^https?:\/\/[a-z0-9-]+\.[a-z0-9.-]*(?:[/?#]|$)/i;

function entityOf(run: Run, offset: number): TelegramEntity | undefined {
  const place = { offset, length: run.text.length };
  switch (run.style) {
    case "text":
      return undefined;
    case "bold":
    case "italic":
    case "code":
    case "pre":
      return { type: run.style, ...place };
    case "link":
      return { type: "text_link", ...place, url: run.href };
    case "time":
      // The app shows the reader's own time. Older apps and notifications show the text.
      return {
        type: "date_time",
        ...place,
        unix_time: Math.floor(run.at / 1000),
        date_time_format: run.shown === "clock" ? "t" : "DT",
      };
  }
}

/** UTF-16 units of one message. At 3 bytes of UTF-8 a unit, Telegram's limit of 32,768 bytes is kept too. */
const maxMessageUnits = 4096;
/** Telegram reads this many entities of a message and ignores the others, in its own order. */
const maxEntities = 100;
/** Room for `[99/99]` and its line break. */
const markerUnits = 8;
/** A cut at a line end may waste up to a third of a message, a cut at a space up to an eighth. */
const lineEndWithin = 1 / 3;
const spaceWithin = 1 / 8;

/** The first kinds are dropped last: a lost link costs more than a lost slant. */
const importance: TelegramEntity["type"][] = ["text_link", "bold", "blockquote", "pre", "code", "date_time", "italic"];

/** Half-open, in UTF-16 units. */
interface Range {
  start: number;
  end: number;
}

/**
 * Cuts at a near line end, else at a space, else between visible characters. Keeps short code, links and times whole.
 */
export function cutText(formatted: FormattedText, maxUnits: number): Range[] {
  const { text } = formatted;
  const whole = formatted.entities.filter((entity) => keepsTogether(entity.type) && entity.length <= maxUnits / 4);
  const ranges: Range[] = [];
  let start = 0;
  while (text.length - start > maxUnits) {
    const end = cutBetween(text, start, start + maxUnits, whole);
    ranges.push({ start, end });
    start = end;
  }
  if (start < text.length) ranges.push({ start, end: text.length });
  return ranges;
}

/**
 * Parts are marked `[1/3]`: the first at its end, as it begins with the title, the others at their beginning. White
 * space at the cuts is dropped: Telegram would trim it and so move the entities.
 */
export function splitTelegramText(formatted: FormattedText): FormattedText[] {
  if (formatted.text.length <= maxMessageUnits) return [capEntities(formatted)];
  const bodies = cutText(formatted, maxMessageUnits - markerUnits)
    .map((range) => trimRange(formatted.text, range))
    .filter((range) => range.end > range.start);
  return bodies.map((range, index) => {
    const marker = `[${index + 1}/${bodies.length}]`;
    const body = formatted.text.slice(range.start, range.end);
    const before = index === 0 ? "" : `${marker}\n`;
    const after = index === 0 ? `\n${marker}` : "";
    return capEntities({
      text: before + body + after,
      entities: entitiesWithin(formatted.entities, range, before.length),
    });
  });
}

function cutBetween(text: string, start: number, limit: number, whole: TelegramEntity[]): number {
  const units = limit - start;
  const lineEnd = text.lastIndexOf("\n", limit - 1) + 1;
  if (lineEnd > limit - units * lineEndWithin) return lineEnd;
  const space = text.lastIndexOf(" ", limit - 1) + 1;
  const cut = space > limit - units * spaceWithin ? space : cutAtCharacter(text, start, limit);
  const divided = whole.find((entity) => entity.offset < cut && cut < entity.offset + entity.length);
  return divided !== undefined && divided.offset > start ? divided.offset : cut;
}

/** Cuts between visible characters. A character that is longer than a message is cut between its code points. */
function cutAtCharacter(text: string, start: number, limit: number): number {
  const boundary = boundaryBefore(text, limit);
  return boundary > start ? boundary : codePointStart(text, limit);
}

/** Keeps the blanks at the beginning of a line. Telegram does not trim them, as a marker precedes them. */
function trimRange(text: string, range: Range): Range {
  const body = text.slice(range.start, range.end);
  const lead = body.length - body.replace(/^\n+/, "").length;
  const end = range.start + body.trimEnd().length;
  return { start: Math.min(range.start + lead, end), end };
}

/** An entity over a cut continues in the next part. */
function entitiesWithin(entities: TelegramEntity[], range: Range, shift: number): TelegramEntity[] {
  return entities.flatMap((entity) => {
    const start = Math.max(entity.offset, range.start);
    const end = Math.min(entity.offset + entity.length, range.end);
    return end > start ? [{ ...entity, offset: start - range.start + shift, length: end - start }] : [];
  });
}

function capEntities(formatted: FormattedText): FormattedText {
  if (formatted.entities.length <= maxEntities) return formatted;
  const kept = formatted.entities
    .toSorted((one, other) => importance.indexOf(one.type) - importance.indexOf(other.type))
    .slice(0, maxEntities)
    .sort((one, other) => one.offset - other.offset);
  return { ...formatted, entities: kept };
}

function keepsTogether(type: TelegramEntity["type"]): boolean {
  return type === "code" || type === "text_link" || type === "date_time";
}
