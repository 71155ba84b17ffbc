import { isAscii } from "node:buffer";

export type DecodedText =
  | { kind: "text"; text: string /** What was guessed, in words. */; note?: string }
  | { kind: "binary" /** E.g. "PNG image"; "data" when unknown. */; what: string };

/**
 * Finds the character set from the bytes, since headers are often wrong. Tried in order: a byte order mark, valid
 * UTF-8, UTF-16 without its mark (every second byte is zero), the header's `charset`, Latin-1 (as Windows-1252). Bytes
 * of a known binary format, and bytes that are no text in any of these, are `binary`.
 */
export function decodeText(bytes: Uint8Array, contentType: string | undefined): DecodedText {
  const plain = decodePlain(bytes);
  if (plain !== undefined) return { kind: "text", text: plain };
  const marked = charsetOfMark(bytes);
  if (marked !== undefined) return { kind: "text", text: decode(bytes, marked) };
  const what = knownBinary(bytes);
  if (what !== undefined) return { kind: "binary", what };
  const utf16 = unmarkedUtf16(bytes);
  if (utf16 !== undefined) {
    return {
      kind: "text",
      text: decode(bytes, utf16),
      note: `read as ${utf16.toUpperCase()}, which nothing in the request says`,
    };
  }
  const utf8 = decodeStrictly(bytes, "utf-8");
  if (utf8 !== undefined)
    return isMostlyControls(utf8) ? { kind: "binary", what: "data" } : { kind: "text", text: utf8 };
  return decodeForeign(bytes, contentType);
}

/** Most bodies: ASCII that begins like JSON, without a NUL. Costs a tenth of the rest. */
function decodePlain(bytes: Uint8Array): string | undefined {
  if ((bytes[0] !== 0x7b && bytes[0] !== 0x5b) || !isAscii(bytes)) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  return text.slice(0, 64).includes("\u0000") || isMostlyControls(text) ? undefined : text;
}

function decodeForeign(bytes: Uint8Array, contentType: string | undefined): DecodedText {
  const named = /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? "")?.[1];
  const text = named === undefined ? undefined : decodeStrictly(bytes, named);
  if (text !== undefined && isReadable(text)) return { kind: "text", text };
  const damaged = decode(bytes, "utf-8");
  const faults = count(damaged, (code) => code === 0xfffd);
  const beyondAscii = count(damaged, (code) => code >= 0x80 && code < 0xfffd);
  // A cut or damaged UTF-8 text has many good sequences and few bad ones. Latin-1 hardly ever forms a good one.
  if (beyondAscii > faults) {
    const what = faults === 1 ? "one byte sequence is" : `${faults} byte sequences are`;
    return { kind: "text", text: damaged, note: `${what} not valid UTF-8 and shown as \ufffd` };
  }
  const latin1 = decode(bytes, "windows-1252");
  if (!isReadable(latin1)) return { kind: "binary", what: "data" };
  return { kind: "text", text: latin1, note: "not valid UTF-8: read as Latin-1" };
}

function isReadable(text: string): boolean {
  return !text.includes("\u0000") && !isMostlyControls(text);
}

function charsetOfMark(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return undefined;
}

function unmarkedUtf16(bytes: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  if (bytes.length < 4 || bytes.length % 2 === 1) return undefined;
  const head = bytes.subarray(0, 64);
  const zerosAt = (parity: number) =>
    head.reduce((sum, byte, at) => (at % 2 === parity && byte === 0 ? sum + 1 : sum), 0);
  const pairs = head.length / 2;
  if (zerosAt(1) > pairs * 0.8 && zerosAt(0) === 0) return "utf-16le";
  if (zerosAt(0) > pairs * 0.8 && zerosAt(1) === 0) return "utf-16be";
  return undefined;
}

export const gzipData = "gzip data";

const signatures: readonly (readonly [what: string, ...head: number[]])[] = [
  [gzipData, 0x1f, 0x8b],
  ["PNG image", 0x89, 0x50, 0x4e, 0x47],
  ["JPEG image", 0xff, 0xd8, 0xff],
  ["GIF image", 0x47, 0x49, 0x46, 0x38],
  ["ZIP archive", 0x50, 0x4b, 0x03, 0x04],
  ["PDF document", 0x25, 0x50, 0x44, 0x46, 0x2d],
  ["Zstandard data", 0x28, 0xb5, 0x2f, 0xfd],
];

function knownBinary(bytes: Uint8Array): string | undefined {
  return signatures.find(([, ...head]) => head.every((byte, at) => bytes[at] === byte))?.[0];
}

function decode(bytes: Uint8Array, charset: string): string {
  return new TextDecoder(charset).decode(bytes);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** Undefined when the bytes are invalid in the character set, or the set is unknown here. */
function decodeStrictly(bytes: Uint8Array, charset: string): string | undefined {
  try {
    if (charset === "utf-8") return strictUtf8.decode(bytes);
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isMostlyControls(text: string): boolean {
  const end = Math.min(text.length, 4096);
  let found = 0;
  for (let at = 0; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if ((code < 0x20 || code >= 0x7f) && isControl(code)) found += 1;
  }
  return found * 5 > end;
}

/** White space is allowed in a text, and the escape character of terminal colours. */
function isControl(code: number): boolean {
  if (code < 0x20) return code < 0x09 || (code > 0x0d && code !== 0x1b);
  return code >= 0x7f && code <= 0x9f;
}

/** A loop, as a pattern would make an object for each match. */
function count(text: string, counts: (code: number) => boolean): number {
  let found = 0;
  for (let at = 0; at < text.length; at += 1) if (counts(text.charCodeAt(at))) found += 1;
  return found;
}
