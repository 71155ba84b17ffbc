/**
 * Makes a sender's text readable: well-formed Unicode, without characters that act instead of being seen. Nothing is
 * dropped silently. A control character becomes its picture (NUL is ␀). A lone surrogate, or a character that reverses
 * the reading direction, becomes �.
 */

const loneSurrogates = /\p{Surrogate}/gu;
// Embeddings, overrides and isolates can make an amount or an address look like another one.
const directionChanges = /[\u202a-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const suspicious =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/;

/** NUL becomes ␀. A control character without a picture becomes �. */
export function pictureOf(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/** Several lines: line breaks become `\n`, tabs stay, spaces at both ends go. */
export function toPlainText(text: string): string {
  if (isPlainAlready(text)) return text;
  if (!suspicious.test(text)) return text.trim();
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(loneSurrogates, "\ufffd")
    .replace(directionChanges, "\ufffd")
    .trim()
    .replace(controls, pictureOf);
}

/** For longer texts the patterns are quicker: they cost more to start and less for each character. */
const shortText = 200;

/** Whether a text is short printable ASCII, without spaces at its ends or in a row. Most values are. */
function isPlainAlready(text: string): boolean {
  if (text.length > shortText) return false;
  let isAfterSpace = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || (code === 0x20 && isAfterSpace)) return false;
    isAfterSpace = code === 0x20;
  }
  return !isAfterSpace;
}

/** One line: spaces and line breaks in a row become one space. */
export function toPlainLine(text: string): string {
  if (isPlainAlready(text)) return text;
  return toPlainText(text).replace(/\s+/g, " ").trim();
}

/** A longer text is no status, severity or kind of event. */
const maxWordLength = 200;

/** The beginning of a value that may be a few words, trimmed and in lower case. */
export function wordOf(text: string): string {
  return text.trim().slice(0, maxWordLength).toLowerCase();
}

/** `list` is separated by white space. */
export function wordsOf(list: string): readonly string[] {
  return list.trim().split(/\s+/);
}

export function wordSet(list: string): ReadonlySet<string> {
  return new Set(wordsOf(list));
}

/** Maps each word of the lists (separated by white space) to the meaning of its list. */
export function mapWords<M extends string>(meanings: Readonly<Record<M, string>>): ReadonlyMap<string, M> {
  const lists = Object.entries(meanings) as [M, string][];
  return new Map(lists.flatMap(([meaning, list]) => wordsOf(list).map((word): [string, M] => [word, meaning])));
}

/** Like `text.includes(part)`, in linear time (Knuth, Morris, Pratt). The built-in takes minutes for hostile texts. */
export function contains(text: string, part: string): boolean {
  if (part.length > text.length) return false;
  if (part.length < 8) return text.includes(part);
  const borders = bordersOf(part);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (part.charCodeAt(matched) === code) matched += 1;
    if (matched === part.length) return true;
  }
  return false;
}

/** For each beginning of `part`: the length of its longest proper beginning that is also its end. */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let length = 0;
  for (let at = 1; at < part.length; at += 1) {
    const code = part.charCodeAt(at);
    while (length > 0 && part.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
    if (part.charCodeAt(length) === code) length += 1;
    borders[at] = length;
  }
  return borders;
}

export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
