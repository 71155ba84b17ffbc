import stringWidth from "string-width";

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

/**
 * C0 and C1 controls, bidirectional overrides and isolates, zero-width characters that hide differences, lone
 * surrogates.
 */
const unsafeCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|\p{Cs}/gu;

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Cuts text to at most `width` columns, ending in `…` when something was left out. Never splits a character. */
export function fitText(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  if (width < 1) return "";
  let fitted = "";
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = used + stringWidth(segment);
    if (next > width - 1) break;
    fitted += segment;
    used = next;
  }
  return `${fitted}…`;
}

/**
 * Lines of at most `width` columns, broken between words. A word that is wider is broken between characters, or with
 * `keepsWords` stands on a line of its own: an address that is to be copied.
 */
export function wrapText(text: string, width: number, { keepsWords = false } = {}): string[] {
  const lines: string[] = [];
  let line = "";
  // Counted on: to measure a long line again at each of its words takes seconds.
  let used = 0;
  const take = (word: string) => {
    const wordWidth = stringWidth(word);
    const longer = line === "" ? wordWidth : used + 1 + wordWidth;
    if (longer <= width) {
      line = line === "" ? word : `${line} ${word}`;
      used = longer;
      return;
    }
    if (line !== "") lines.push(line);
    line = word;
    used = wordWidth;
    while (!keepsWords && used > width) {
      const piece = firstColumns(line, Math.max(1, width));
      lines.push(piece);
      line = line.slice(piece.length);
      used -= stringWidth(piece);
    }
  };
  for (const word of text.split(" ")) take(word);
  return line === "" && lines.length > 0 ? lines : [...lines, line];
}

/** As much as stands in so many columns, at least one character. */
function firstColumns(text: string, width: number): string {
  let taken = "";
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment);
    if (used > width && taken !== "") break;
    taken += segment;
  }
  return taken;
}

/**
 * Text whose further lines stand under its beginning, `indent` columns from the left. Nothing is cut, and without a
 * width nothing is broken.
 */
export function hangText(text: string, width: number | undefined, indent: number): string {
  if (width === undefined || width < indent + leastHanging) return text;
  return wrapText(text, width - indent, { keepsWords: true }).join(`\n${" ".repeat(indent)}`);
}

/** Columns below which hanging would leave a ladder of single words; the terminal breaks the line itself then. */
const leastHanging = 16;
