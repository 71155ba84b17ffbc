/**
 * Sender's text made fit for people: always well-formed Unicode, and without characters that act instead of being
 * seen. Nothing is dropped silently: a control character becomes its picture (NUL is shown as ␀), a lone surrogate and
 * a character that reverses the reading direction become �.
 */

const loneSurrogates = /\p{Surrogate}/gu;
// Embeddings, overrides and isolates can make an amount or an address read differently from what it is.
const directionChanges = /[\u202a-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const suspicious =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/;

function pictureOf(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/** Any text → text of several lines: line breaks are `\n`, tabs stay, no space at the ends. */
export function cleanText(text: string): string {
  if (!suspicious.test(text)) return text.trim();
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(loneSurrogates, "\ufffd")
    .replace(directionChanges, "\ufffd")
    .trim()
    .replace(controls, pictureOf);
}

/** Any text → one line: runs of spaces and line breaks become one space. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, " ").trim();
}

/** At most `limit` UTF-16 units, the last of them "…" when something was left out; never half a character. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let end = limit - 1;
  if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** Whole bytes as a person counts them: "812 bytes", "1,048,576 bytes". */
export function formatBytes(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "byte" : "bytes"}`;
}
