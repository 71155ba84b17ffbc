import type { Block, Document, Inline } from "../../core/message.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { clip } from "../../ground/text/graphemes.ts";

/** A text is shortened to N units, then a list or a table of fields to N / 20 rows. */
const unitsPerRow = 20;
/** No text gets shorter. From there on only rows are dropped. */
const shortestUnits = 24;

/**
 * Cuts the document's long texts as little as `fits` allows, all to the same length. Each cut says how much is missing.
 * Our own text (heading, notes, links, times) is never cut, so even the shortest version may not fit.
 */
export function fitDocument(document: Document, fits: (candidate: Document) => boolean): Document {
  if (fits(document)) return document;
  let tooLong = longestText(document);
  let fitting = 0;
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2);
    if (fits(shorten(document, middle))) fitting = middle;
    else tooLong = middle;
  }
  return shorten(document, fitting);
}

/** The written form of the fitted document. A document that fits at once is written once. */
export function writeFitting<T>(
  document: Document,
  write: (candidate: Document) => T,
  fits: (written: T) => boolean,
): T {
  const whole = write(document);
  if (fits(whole)) return whole;
  return write(fitDocument(document, (candidate) => fits(write(candidate))));
}

function shorten(document: Document, units: number): Document {
  return { ...document, blocks: document.blocks.flatMap((block) => shortenBlock(block, units)) };
}

function shortenBlock(block: Block, units: number): Block[] {
  const most = Math.max(1, Math.ceil(units / unitsPerRow));
  switch (block.kind) {
    case "heading":
    case "note":
      return [block];
    case "paragraph":
      return [block.quoted ? { ...block, inlines: shortenInlines(block.inlines, units) } : block];
    case "fields": {
      const rows = block.rows.slice(0, most).map((row) => ({ ...row, value: shortenInlines(row.value, units) }));
      return [{ ...block, rows }, ...leftOut(block.rows.length - most, "field")];
    }
    case "list": {
      const items = block.items.slice(0, most).map((item) => shortenInlines(item, units));
      return [{ ...block, items }, ...leftOut(block.items.length - most, "line")];
    }
    case "code":
      return [{ ...block, text: shortenText(block.text, units) }];
  }
}

function shortenInlines(inlines: Inline[], units: number): Inline[] {
  return inlines.map((inline) => {
    if (inline.kind === "time" || inline.kind === "link") return inline;
    return { ...inline, text: shortenText(inline.text, units) };
  });
}

function shortenText(text: string, units: number): string {
  const length = Math.max(units, shortestUnits);
  if (text.length <= length) return text;
  const kept = clip(text, length).trimEnd();
  return `${kept}… [${groupThousands(text.length - kept.length)} characters cut]`;
}

function leftOut(rows: number, what: string): Block[] {
  const text = `${rows} more ${what}${rows === 1 ? "" : "s"} left out here`;
  return rows <= 0 ? [] : [{ kind: "note", inlines: [{ kind: "text", text }] }];
}

function longestText(document: Document): number {
  const texts = document.blocks.flatMap(textsOf);
  const rows = Math.max(...document.blocks.map(rowsOf), 1);
  return texts.reduce((longest, text) => Math.max(longest, text.length), rows * unitsPerRow) + 1;
}

function textsOf(block: Block): string[] {
  switch (block.kind) {
    case "heading":
    case "note":
    case "paragraph":
      return block.inlines.map(textOf);
    case "fields":
      return block.rows.flatMap((row) => row.value.map(textOf));
    case "list":
      return block.items.flatMap((item) => item.map(textOf));
    case "code":
      return [block.text];
  }
}

function rowsOf(block: Block): number {
  if (block.kind === "fields") return block.rows.length;
  return block.kind === "list" ? block.items.length : 1;
}

function textOf(inline: Inline): string {
  return inline.kind === "time" ? "" : inline.text;
}
