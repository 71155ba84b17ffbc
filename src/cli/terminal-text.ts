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

/** C0 and C1 controls, bidirectional overrides and isolates, zero-width characters that hide differences, lone surrogates. */
const unsafeCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|\p{Cs}/gu;

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** East Asian wide and fullwidth blocks, and emoji shown as pictures: two columns each. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** Columns that plain text (without colour codes) takes in a terminal. */
export function displayWidth(text: string): number {
  if (isPlainAscii(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Cuts text to at most `width` columns, ending in `…` when something was left out. Never splits a character. */
export function fitText(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width < 1) return "";
  let fitted = "";
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = used + graphemeWidth(segment);
    if (next > width - 1) break;
    fitted += segment;
    used = next;
  }
  return `${fitted}…`;
}

function graphemeWidth(grapheme: string): 0 | 1 | 2 {
  if (/^\p{Mark}+$/u.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

function isPlainAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}
