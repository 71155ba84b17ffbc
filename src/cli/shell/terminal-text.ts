import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { graphemesOf } from "../../ground/text/graphemes.ts";

/**
 * Text of strangers for a terminal: what could move the cursor, change colours, reorder or hide text is shown as its
 * code instead. Line breaks and tabs become spaces, since one value is one cell or one line.
 */
export function terminalText(text: string): string {
  return text.replace(/[\t\n\r\u2028\u2029]+/g, " ").replace(unsafeCharacters, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xff ? `\\u{${code.toString(16)}}` : `\\x${code.toString(16).padStart(2, "0")}`;
  });
}

/** Text that may have several lines: each is made safe on its own. */
export function terminalLines(text: string): string {
  return text.split("\n").map(terminalText).join("\n");
}

/**
 * C0 and C1 controls, bidirectional overrides and isolates, zero-width characters that hide differences, lone
 * surrogates.
 */
const unsafeCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|\p{Cs}/gu;

/** Cuts text to at most `width` columns, ending in `…` when something was left out. Never splits a character. */
export function fitText(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  return width < 1 ? "" : `${firstColumns(text, width - 1)}…`;
}

/**
 * Lines of at most `width` columns, broken between words. A word that is wider is broken between characters, without its
 * style, or with `keepsWords` stands on a line of its own: an address that is to be copied.
 */
export function wrapText(text: string, width: number, { keepsWords = false } = {}): string[] {
  const lines: string[] = [];
  // The width is added up: measuring a long line again at each of its words takes seconds.
  let used = 0;
  for (const word of text.split(" ")) {
    const wordWidth = stringWidth(word);
    if (lines.length > 0 && used + 1 + wordWidth <= width) {
      lines.push(`${lines.pop()} ${word}`);
      used += 1 + wordWidth;
      continue;
    }
    const pieces = keepsWords || wordWidth <= width ? [word] : breakWord(stripVTControlCharacters(word), width);
    lines.push(...pieces);
    used = stringWidth(pieces.at(-1) ?? "");
  }
  return lines;
}

/** Each piece has at least one character. */
function breakWord(word: string, width: number): string[] {
  const pieces: string[] = [];
  for (let rest = word; rest !== ""; ) {
    const [first] = graphemesOf(rest);
    const piece = firstColumns(rest, width) || (first?.segment ?? rest);
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces;
}

/** As much as fits into this many columns. */
function firstColumns(text: string, width: number): string {
  let taken = "";
  let used = 0;
  for (const { segment } of graphemesOf(text)) {
    used += stringWidth(segment);
    if (used > width) break;
    taken += segment;
  }
  return taken;
}

/**
 * Text whose further lines begin under its beginning, `indent` columns from the left. Nothing is cut, and without a width nothing
 * is broken.
 */
export function hangText(text: string, width: number | undefined, indent: number): string {
  if (width === undefined || width < indent + leastHanging) return text;
  return wrapText(text, width - indent, { keepsWords: true }).join(`\n${" ".repeat(indent)}`);
}

/** Columns below which hanging would leave a ladder of single words; the terminal breaks the line itself then. */
const leastHanging = 16;
