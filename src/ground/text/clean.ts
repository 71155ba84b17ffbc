import { cut } from "./graphemes.ts";
import { pictureOf } from "./plain-text.ts";

/**
 * What a sender wrote, made safe to stand next to our own words: nothing invisible, nothing that turns or overprints
 * other lines, and nothing that a vendor removes by itself. A vendor that removes a character moves every Telegram
 * entity behind it (tdlib, `clean_input_string`: CR, U+2028 to U+202E, U+030A, U+0333, U+033F; other controls become
 * spaces).
 */

const lineBreaks = /\r\n?|[\u0085\u2028\u2029]/g;
const loneSurrogates = /\p{Cs}/gu;
/** Without line breaks and tabs. */
const controls = /[^\P{Cc}\n\t]/gu;
/**
 * Bidirectional controls, zero-width characters, the soft hyphen, and annotation marks. Joiners stay: scripts and emoji
 * need them; and the two that `isolate` sets, where they are a pair.
 */
const invisible = /[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u2067\u206A-\u206F\uFEFF\uFFF9-\uFFFB]/g;
const [fenceStart, fenceEnd] = ["\u2068", "\u2069"];
const fenceOrWord = /[\u2068\u2069\n]|[^\s\u2068\u2069]+/g;
/** More nobody needs, and text that is nested 125 levels deep is no longer fenced (Unicode Annex 9, BD2). */
const maxFences = 16;
const ringedLetters = /\p{L}\u030A/gu;
const removedByTelegram = /\u030A|\u0333|\u033F/g;
/** No script puts more marks on one letter; towers of them paint over the lines above and below. */
const towersOfMarks = /(\p{M}{6})\p{M}+/gu;
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

/** Most texts hold nothing of what is replaced, and these two looks cost a tenth of seven replacements. */
const plainAscii = /^[\t\n\x20-\x7e]*$/;
/** All that any of the patterns above changes (six marks in a row are left, so seven), and joiners: without it a text is clean. */
const unclean =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /\u030A|\u0333|\u033F|\p{M}{7}|[\0-\b\v-\x1f\x7f-\x9f\xAD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\p{Cs}]/u;

/** Keeps line breaks (as LF) and tabs; other control characters are shown as pictures (`␀`), lone surrogates as `�`. */
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

/** A fence round something that ends on its line turns nothing outside of it; any other is dropped. */
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

/** As `cleanText`, on one line: runs of blanks become one space, runs with a line break become `lineBreak`. */
export function cleanLine(text: string, lineBreak = " "): string {
  const clean = cleanText(text).trim();
  if (!otherThanOneSpace.test(clean)) return clean;
  return clean.replace(/\s+/g, (blanks) => (blanks.includes("\n") ? lineBreak : " "));
}

const otherThanOneSpace = /[^\S ]|\s\s/;

/** What acts or hides without being seen, and all blanks. */
const blanks = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu;

/**
 * What another side answered, for a sentence of ours: on one line, nothing invisible, at most `maxUnits` UTF-16 units.
 */
export function oneLine(text: string, maxUnits: number): string {
  return cut(text.replace(blanks, " ").trim().replace(loneSurrogates, "\uFFFD"), maxUnits);
}

/** Fences text with right-to-left letters off, so that it cannot reorder what stands next to it on the line. */
export function isolate(text: string): string {
  return rightToLeft.test(text) ? `\u2068${text}\u2069` : text;
}
