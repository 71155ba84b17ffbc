import type { Entity, FormattedText } from "./entity.ts";
import { badRequest, type Refusal } from "./refusal.ts";

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

/** Reads `parse_mode: "MarkdownV2"` and refuses what the vendor refuses: reserved characters and entities without an end. */
export function parseMarkdownV2(input: string): FormattedText {
  const open: OpenEntity[] = [];
  const entities: Entity[] = [];
  let text = "";
  let at = 0;
  let quoteOffset: number | undefined;

  const byteAt = (position: number) => Buffer.byteLength(input.slice(0, position));
  const close = (entity: OpenEntity, extra: Partial<Entity> = {}) => {
    const length = text.length - entity.offset;
    if (length > 0) entities.push({ type: entity.type, offset: entity.offset, length, ...extra });
  };
  const closeQuote = () => {
    if (quoteOffset === undefined) return;
    const length = text.length - quoteOffset;
    if (length > 0) entities.push({ type: "blockquote", offset: quoteOffset, length });
    quoteOffset = undefined;
  };

  while (at < input.length) {
    const character = input[at] ?? "";
    const lineStarts = at === 0 || input[at - 1] === "\n";
    if (lineStarts && character === ">") {
      quoteOffset ??= text.length;
      at++;
      continue;
    }
    if (lineStarts) closeQuote();
    if (character === "\\" && isEscapable(input[at + 1])) {
      text += input[at + 1];
      at += 2;
      continue;
    }
    if (character === "`") {
      const code = readCode(input, at, byteAt(at));
      if (code.text.length > 0) {
        entities.push({ type: code.type, offset: text.length, length: code.text.length, ...code.extra });
      }
      text += code.text;
      at = code.next;
      continue;
    }
    if (character === "[") {
      open.push({ type: "text_link", marker: "[", offset: text.length, byteOffset: byteAt(at) });
      at++;
      continue;
    }
    if (character === "]" && open.at(-1)?.marker === "[") {
      const entity = open.pop() as OpenEntity;
      const url = readUrl(input, at + 1);
      if (url.url !== "") close(entity, { url: url.url });
      at = url.next;
      continue;
    }
    const marker = markerAt(input, at, open.at(-1));
    if (marker !== undefined) {
      const innermost = open.at(-1);
      if (innermost?.marker === marker) {
        open.pop();
        close(innermost);
      } else {
        const type = typeOfMarker[marker] ?? "";
        open.push({ type, marker, offset: text.length, byteOffset: byteAt(at) });
      }
      at += marker.length;
      continue;
    }
    if (reserved.has(character)) {
      throw unparsable(`Character '${character}' is reserved and must be escaped with the preceding '\\'`);
    }
    text += character;
    at++;
  }
  closeQuote();
  const unclosed = open.at(-1);
  if (unclosed !== undefined) throw endless(unclosed.type, unclosed.byteOffset);
  return { text, entities: entities.sort((a, b) => a.offset - b.offset || b.length - a.length) };
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

function readCode(input: string, at: number, byteOffset: number) {
  const fence = input.startsWith("```", at) ? "```" : "`";
  const type = fence === "`" ? "code" : "pre";
  let text = "";
  let next = at + fence.length;
  while (!input.startsWith(fence, next)) {
    if (next >= input.length) throw endless(type, byteOffset);
    if (input[next] === "\\" && isEscapable(input[next + 1])) next++;
    text += input[next] ?? "";
    next++;
  }
  next += fence.length;
  const language = type === "pre" ? /^([^\s`]+)\n/.exec(text)?.[1] : undefined;
  if (language !== undefined) {
    return { type, text: text.slice(language.length + 1), next, extra: { language } };
  }
  return { type, text: type === "pre" ? text.replace(/^\n/, "") : text, next, extra: {} };
}

function readUrl(input: string, at: number): { url: string; next: number } {
  if (input[at] !== "(") return { url: "", next: at };
  let url = "";
  let next = at + 1;
  while (input[next] !== ")") {
    if (next >= input.length) {
      throw unparsable(`Can't find end of a URL at byte offset ${Buffer.byteLength(input.slice(0, at + 1))}`);
    }
    if (input[next] === "\\" && isEscapable(input[next + 1])) next++;
    url += input[next] ?? "";
    next++;
  }
  return { url, next: next + 1 };
}

function endless(type: string, byteOffset: number): Refusal {
  return unparsable(`Can't find end of ${nameOfType[type] ?? type} entity at byte offset ${byteOffset}`);
}

function unparsable(why: string): Refusal {
  return badRequest(`can't parse entities: ${why}`);
}
