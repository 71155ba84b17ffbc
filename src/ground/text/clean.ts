import { cut } from "./graphemes.ts";
import { pictureOf } from "./plain-text.ts";

/**
 * Makes a sender's text safe next to our own words. Three kinds of characters go: invisible ones, those that turn or
 * overprint other text, and those that a vendor removes itself. The last would move every later Telegram entity (tdlib,
 * `clean_input_string`: CR, U+2028 to U+202E, U+030A, U+0333, U+033F; other controls become spaces).
 */

const lineBreaks = /\r\n?|[\u0085\u2028\u2029]/g;
const loneSurrogates = /\p{Cs}/gu;
/** Except line breaks and tabs. */
const controls = /[^\P{Cc}\n\t]/gu;
/** Direction marks, zero-width characters, the soft hyphen. Joiners stay (scripts, emoji), and a pair that `isolate` set. */
const invisible = /[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u2067\u206A-\u206F\uFEFF\uFFF9-\uFFFB]/g;
const [fenceStart, fenceEnd] = ["\u2068", "\u2069"];
const fenceOrWord = /[\u2068\u2069\n]|[^\s\u2068\u2069]+/g;
/** More pairs are never needed. Beyond 125 levels fences have no effect (Unicode Annex 9, BD2). */
const maxFences = 16;
const ringedLetters = /\p{L}\u030A/gu;
const removedByTelegram = /\u030A|\u0333|\u033F/g;
/** No script puts more than six marks on one letter. More would paint over other lines. */
const towersOfMarks = /(\p{M}{6})\p{M}+/gu;
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

/** Tested first: most texts need no replacement, and the two tests cost a tenth of the seven replacements. */
const plainAscii = /^[\t\n\x20-\x7e]*$/;
/** Everything that the patterns above change, and joiners. A text without any of it is clean. */
const unclean =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /\u030A|\u0333|\u033F|\p{M}{7}|[\0-\b\v-\x1f\x7f-\x9f\xAD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\p{Cs}]/u;

/** Line breaks become LF, tabs stay. Other control characters become pictures (`␀`), lone surrogates become `�`. */
export function cleanText(text: string): string {
  if (plainAscii.test(text) || !unclean.test(text)) return text;
  const clean = text
    .replace(lineBreaks, "\n")
    .replace(loneSurrogates, "\uFFFD")
    .replace(controls, pictureOf)
    .replace(invisible, "")
    .replace(ringedLetters, (letter) => letter.normalize("NFC"))
    .replace(removedByTelegram, "")
    .replace(towersOfMarks, "$1");
  return withWholeFences(clean);
}

/** Keeps pairs of fences on one line, and drops the others. */
function withWholeFences(text: string): string {
  if (!text.includes(fenceStart) && !text.includes(fenceEnd)) return text;
  const whole = new Set<number>();
  let open: { at: number; words: number }[] = [];
  let words = 0;
  for (const { 0: found, index } of text.matchAll(fenceOrWord)) {
    if (found === "\n") open = [];
    else if (found === fenceStart) open.push({ at: index, words });
    else if (found === fenceEnd) {
      const start = open.pop();
      if (start !== undefined && start.words < words && open.length < maxFences) whole.add(start.at).add(index);
    } else words += 1;
  }
  return text.replace(/[\u2068\u2069]/g, (mark, index: number) => (whole.has(index) ? mark : ""));
}

/** Like `cleanText`, on one line. Blanks in a row become one space, or `lineBreak` where a line ended. */
export function cleanLine(text: string, lineBreak = " "): string {
  const clean = cleanText(text).trim();
  if (!otherThanOneSpace.test(clean)) return clean;
  return clean.replace(/\s+/g, (blanks) => (blanks.includes("\n") ? lineBreak : " "));
}

const otherThanOneSpace = /[^\S ]|\s\s/;

/** Invisible characters and blanks. */
const blanks = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu;

/** A vendor's answer for a sentence of ours: one line, nothing invisible, at most `maxUnits` UTF-16 units. */
export function oneLine(text: string, maxUnits: number): string {
  return cut(text.replace(blanks, " ").trim().replace(loneSurrogates, "\uFFFD"), maxUnits);
}

/** Fences text with right-to-left letters, so that it does not reorder the rest of the line. */
export function isolate(text: string): string {
  return rightToLeft.test(text) ? `\u2068${text}\u2069` : text;
}
