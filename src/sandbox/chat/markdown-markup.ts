import { badRequest, type Refusal } from "./refusal.ts";
import type { Entity, FormattedText } from "./world.ts";

const typeOfMarker: Readonly<Record<string, string>> = {
  "*": "bold",
  _: "italic",
  __: "underline",
  "~": "strikethrough",
  "||": "spoiler",
};
const nameOfType: Readonly<Record<string, string>> = {
  bold: "Bold",
  italic: "Italic",
  underline: "Underline",
  strikethrough: "Strikethrough",
  spoiler: "Spoiler",
  text_link: "TextUrl",
  code: "Code",
  pre: "Pre",
};
const reserved = new Set("_*[]()~`>#+-=|{}.!");

interface OpenEntity {
  type: string;
  marker: string;
  offset: number;
  byteOffset: number;
}

/** What has been read so far; every step below moves `at` on when it finds its own. */
interface Reading {
  readonly input: string;
  at: number;
  text: string;
  readonly open: OpenEntity[];
  readonly entities: Entity[];
  quoteOffset?: number;
}

const steps = [readQuoteMark, readEscape, readCode, readLinkStart, readLinkEnd, readMarker];

/**
 * Reads `parse_mode: "MarkdownV2"` and refuses what the vendor refuses: reserved characters and entities without an
 * end.
 */
export function parseMarkdownV2(input: string): FormattedText {
  const reading: Reading = { input, at: 0, text: "", open: [], entities: [] };
  while (reading.at < input.length) {
    if (steps.some((step) => step(reading))) continue;
    const character = input[reading.at] ?? "";
    if (reserved.has(character)) {
      throw unparsable(`Character '${character}' is reserved and must be escaped with the preceding '\\'`);
    }
    reading.text += character;
    reading.at++;
  }
  closeQuote(reading);
  const unclosed = reading.open.at(-1);
  if (unclosed !== undefined) throw endless(unclosed.type, unclosed.byteOffset);
  const entities = reading.entities.sort((a, b) => a.offset - b.offset || b.length - a.length);
  return { text: reading.text, entities };
}

function readQuoteMark(reading: Reading): boolean {
  const { input, at } = reading;
  if (at > 0 && input[at - 1] !== "\n") return false;
  if (input[at] !== ">") {
    closeQuote(reading);
    return false;
  }
  reading.quoteOffset ??= reading.text.length;
  reading.at++;
  return true;
}

/** The line break that ends a quotation is not part of it. */
function closeQuote(reading: Reading): void {
  if (reading.quoteOffset === undefined) return;
  const end = reading.text.length - (reading.text.endsWith("\n") ? 1 : 0);
  addEntity(reading, { type: "blockquote", offset: reading.quoteOffset, length: end - reading.quoteOffset });
  reading.quoteOffset = undefined;
}

function readEscape(reading: Reading): boolean {
  const next = reading.input[reading.at + 1];
  if (reading.input[reading.at] !== "\\" || !isEscapable(next)) return false;
  reading.text += next;
  reading.at += 2;
  return true;
}

function readCode(reading: Reading): boolean {
  const { input, at } = reading;
  if (input[at] !== "`") return false;
  const fence = input.startsWith("```", at) ? "```" : "`";
  const type = fence === "`" ? "code" : "pre";
  const code = readUntil(input, at + fence.length, fence);
  if (code === undefined) throw endless(type, byteOffset(input, at));
  const language = type === "pre" ? /^([^\s`]+)\n/.exec(code.text)?.[1] : undefined;
  const shown = type === "pre" ? code.text.replace(/^[^\s`]*\n/, "") : code.text;
  addEntity(reading, {
    type,
    offset: reading.text.length,
    length: shown.length,
    ...(language === undefined ? {} : { language }),
  });
  reading.text += shown;
  reading.at = code.next;
  return true;
}

function readLinkStart(reading: Reading): boolean {
  if (reading.input[reading.at] !== "[") return false;
  openEntity(reading, "text_link", "[");
  return true;
}

/** Brackets without an address show what they hold. */
function readLinkEnd(reading: Reading): boolean {
  const { input, at, open } = reading;
  const entity = open.at(-1);
  if (input[at] !== "]" || entity?.marker !== "[") return false;
  open.pop();
  reading.at++;
  if (input[reading.at] !== "(") return true;
  const url = readUntil(input, reading.at + 1, ")");
  if (url === undefined) {
    throw unparsable(`Can't find end of a URL at byte offset ${byteOffset(input, reading.at + 1)}`);
  }
  const length = reading.text.length - entity.offset;
  if (url.text !== "") addEntity(reading, { type: "text_link", offset: entity.offset, length, url: url.text });
  reading.at = url.next;
  return true;
}

function readMarker(reading: Reading): boolean {
  const innermost = reading.open.at(-1);
  const marker = markerAt(reading.input, reading.at, innermost);
  if (marker === undefined) return false;
  if (innermost?.marker !== marker) {
    openEntity(reading, typeOfMarker[marker] ?? "", marker);
    return true;
  }
  reading.open.pop();
  const { type, offset } = innermost;
  addEntity(reading, { type, offset, length: reading.text.length - offset });
  reading.at += marker.length;
  return true;
}

function openEntity(reading: Reading, type: string, marker: string): void {
  const { input, at, text, open } = reading;
  open.push({ type, marker, offset: text.length, byteOffset: byteOffset(input, at) });
  reading.at += marker.length;
}

function addEntity(reading: Reading, entity: Entity): void {
  if (entity.length > 0) reading.entities.push(entity);
}

/** Any ASCII character up to `~` may be escaped. */
function isEscapable(character: string | undefined): boolean {
  return character !== undefined && character > "\u0000" && character < "\u007f";
}

/** Two underscores are one marker, except where they end an italic first. */
function markerAt(input: string, at: number, innermost: OpenEntity | undefined): string | undefined {
  const two = input.slice(at, at + 2);
  if (two === "||") return two;
  if (two === "__" && innermost?.marker !== "_") return two;
  const one = input[at] ?? "";
  return one === "*" || one === "_" || one === "~" ? one : undefined;
}

/** The text up to the end mark, without its escapes, or `undefined` when there is no end mark. */
function readUntil(input: string, from: number, end: string): { text: string; next: number } | undefined {
  let text = "";
  for (let at = from; at < input.length; at++) {
    if (input.startsWith(end, at)) return { text, next: at + end.length };
    if (input[at] === "\\" && isEscapable(input[at + 1])) at++;
    text += input[at] ?? "";
  }
  return undefined;
}

function byteOffset(input: string, at: number): number {
  return Buffer.byteLength(input.slice(0, at));
}

function endless(type: string, byte: number): Refusal {
  return unparsable(`Can't find end of ${nameOfType[type] ?? type} entity at byte offset ${byte}`);
}

function unparsable(why: string): Refusal {
  return badRequest(`can't parse entities: ${why}`);
}
