import { boundaryBefore, codePointStart } from "../../ground/text/graphemes.ts";
import type { FormattedText, TelegramEntity } from "./text.ts";

/** UTF-16 units of one message. As none takes more than 3 bytes of UTF-8, the limit of 32,768 bytes is kept as well. */
export const maxMessageUnits = 4096;
/** What Telegram looks at in one message; it ignores the rest in an order of its own. */
const maxEntities = 100;
/** Room for `[99/99]` and its line break. */
const markerUnits = 8;
/** A cut at a line end may waste up to a third of a message, a cut at a space up to an eighth. */
const lineEndWithin = 1 / 3;
const spaceWithin = 1 / 8;

/** What is dropped last stands first: a lost link costs more than a lost slant. */
const importance: TelegramEntity["type"][] = [
  "text_link",
  "bold",
  "blockquote",
  "pre",
  "code",
  "date_time",
  "italic",
];

/** Half-open, in UTF-16 units. */
export interface Range {
  start: number;
  end: number;
}

/**
 * Cuts a text into ranges that follow each other without a gap, each at most `maxUnits` long. Cuts at a line end where
 * one is near, else at a space, else between two characters as a reader sees them; never within a surrogate pair. Short
 * code, links and times are kept whole.
 */
export function cutText(formatted: FormattedText, maxUnits: number): Range[] {
  const { text } = formatted;
  const whole = formatted.entities.filter(
    (entity) => keepsTogether(entity.type) && entity.length <= maxUnits / 4,
  );
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
 * One message when it fits; else several, marked `[1/3]` at the end of the first, where the title leads, and at the
 * beginning of the others. White space at the cuts is dropped, as Telegram trims it and would move the entities.
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

/** A single character longer than a message is divided between its code points. */
function cutAtCharacter(text: string, start: number, limit: number): number {
  const boundary = boundaryBefore(text, limit);
  return boundary > start ? boundary : codePointStart(text, limit);
}

/** Leading blanks of a line stay: the marker before them keeps them from being trimmed. */
function trimRange(text: string, range: Range): Range {
  const body = text.slice(range.start, range.end);
  const lead = body.length - body.replace(/^\n+/, "").length;
  const end = range.start + body.trimEnd().length;
  return { start: Math.min(range.start + lead, end), end };
}

/** An entity that spans a cut is continued in the next part. */
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
