import { badRequest, type Refusal } from "./refusal.ts";
import type { Entity, FormattedText } from "./world.ts";

const entityTypeOfTag: Readonly<Record<string, string>> = {
  b: "bold",
  strong: "bold",
  i: "italic",
  em: "italic",
  u: "underline",
  ins: "underline",
  s: "strikethrough",
  strike: "strikethrough",
  del: "strikethrough",
  code: "code",
  pre: "pre",
  a: "text_link",
  blockquote: "blockquote",
  span: "spoiler",
  "tg-spoiler": "spoiler",
  "tg-time": "date_time",
};

const characterOfName: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' };

interface OpenTag {
  name: string;
  offset: number;
  attributes: Map<string, string>;
}

/** Reads `parse_mode: "HTML"` and refuses what the vendor refuses: unknown, unclosed and crossed tags. */
export function parseHtml(input: string): FormattedText {
  const open: OpenTag[] = [];
  const entities: Entity[] = [];
  let text = "";
  let at = 0;

  while (at < input.length) {
    const character = input[at] ?? "";
    if (character === "&") {
      const reference = readReference(input, at);
      text += reference.text;
      at = reference.next;
    } else if (character !== "<") {
      text += character;
      at++;
    } else if (input[at + 1] === "/") {
      const end = readEndTag(input, at, open.at(-1));
      const tag = open.pop();
      if (tag !== undefined) addEntity(entities, tag, text.length);
      at = end;
    } else {
      const start = readStartTag(input, at, text.length);
      open.push(start.tag);
      at = start.next;
    }
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined) {
    throw unparsable(`Can't find end tag corresponding to start tag "${unclosed.name}"`);
  }
  return { text, entities: entities.sort((a, b) => a.offset - b.offset || b.length - a.length) };
}

function readReference(input: string, at: number): { text: string; next: number } {
  const match = /^&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(lt|gt|amp|quot));/i.exec(input.slice(at, at + 12));
  if (match === null) return { text: "&", next: at + 1 };
  const [whole, decimal, hexadecimal, name] = match;
  if (name !== undefined) return { text: characterOfName[name.toLowerCase()] ?? "&", next: at + whole.length };
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "0", 16) : Number(decimal);
  const valid = code > 0 && code <= 0x10ffff;
  return valid ? { text: String.fromCodePoint(code), next: at + whole.length } : { text: "&", next: at + 1 };
}

function readEndTag(input: string, at: number, expected: OpenTag | undefined): number {
  const offset = byteOffset(input, at);
  if (expected === undefined) throw unparsable(`Unexpected end tag at byte offset ${offset}`);
  const match = /^<\/([^\s>]*)\s*(>?)/.exec(input.slice(at));
  const name = (match?.[1] ?? "").toLowerCase();
  if (match === null || match[2] !== ">") throw unparsable(`Unclosed end tag at byte offset ${offset}`);
  if (name !== "" && name !== expected.name) {
    throw unparsable(`Unmatched end tag at byte offset ${offset}, expected "</${expected.name}>", found "</${name}>"`);
  }
  return at + match[0].length;
}

function readStartTag(input: string, at: number, textOffset: number): { tag: OpenTag; next: number } {
  const offset = byteOffset(input, at);
  const name = (/^<([^\s>]*)/.exec(input.slice(at))?.[1] ?? "").toLowerCase();
  let next = at + 1 + name.length;
  if (next >= input.length) throw unparsable(`Unclosed start tag at byte offset ${offset}`);
  if (!Object.hasOwn(entityTypeOfTag, name)) {
    throw unparsable(`Unsupported start tag "${name}" at byte offset ${offset}`);
  }
  const attributes = new Map<string, string>();
  for (;;) {
    const rest = input.slice(next);
    const end = /^\s*>/.exec(rest);
    if (end !== null) return { tag: tagOf(name, attributes, textOffset, offset), next: next + end[0].length };
    const attribute = /^\s*([^\s=>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9.-]+)))?/.exec(rest);
    if (attribute === null || attribute[0].length === rest.length) {
      throw unparsable(`Unclosed start tag "${name}" at byte offset ${offset}`);
    }
    const value = attribute[2] ?? attribute[3] ?? attribute[4] ?? "";
    attributes.set((attribute[1] ?? "").toLowerCase(), decodeReferences(value));
    next += attribute[0].length;
  }
}

function tagOf(name: string, attributes: Map<string, string>, offset: number, byte: number): OpenTag {
  if (name === "span" && attributes.get("class") !== "tg-spoiler") {
    throw unparsable(`Tag "span" must have class "tg-spoiler" at byte offset ${byte}`);
  }
  return { name, offset, attributes };
}

function addEntity(entities: Entity[], tag: OpenTag, endOffset: number): void {
  const length = endOffset - tag.offset;
  const type = entityTypeOfTag[tag.name];
  if (length === 0 || type === undefined) return;
  const entity: Entity = { type, offset: tag.offset, length };
  if (type === "text_link") {
    const url = tag.attributes.get("href");
    // A link without an address is shown as its text.
    if (url === undefined || url === "") return;
    entity.url = url;
  }
  if (type === "date_time") {
    entity.unix_time = Number(tag.attributes.get("unix"));
    entity.date_time_format = tag.attributes.get("format") ?? "";
  }
  if (type === "blockquote" && tag.attributes.has("expandable")) entity.type = "expandable_blockquote";
  entities.push(entity);
}

function decodeReferences(value: string): string {
  let text = "";
  for (let at = 0; at < value.length; ) {
    const step = value[at] === "&" ? readReference(value, at) : { text: value[at] ?? "", next: at + 1 };
    text += step.text;
    at = step.next;
  }
  return text;
}

function byteOffset(input: string, at: number): number {
  return Buffer.byteLength(input.slice(0, at));
}

function unparsable(why: string): Refusal {
  return badRequest(`can't parse entities: ${why}`);
}
