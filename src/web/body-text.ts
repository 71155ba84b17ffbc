import { readText } from "../contract/make-views.ts";
import { printJson } from "./print-json.ts";

/** A body laid out for the page. */
export interface ShownBody {
  form: "json" | "text" | "bytes" | "empty";
  text: string;
  /** The page shows the beginning; the download has all of it. */
  isCut: boolean;
}

const mostCharacters = 100_000;
const mostBytes = 4_096;

/** JSON is laid out with its digits as sent; text that holds control characters, and bytes, are shown as bytes. */
export function showBody(body: Uint8Array): ShownBody {
  if (body.length === 0) return { form: "empty", text: "", isCut: false };
  const readable = readText(body);
  if (readable === undefined || hasControls(readable)) {
    return { form: "bytes", text: dumpHex(body.subarray(0, mostBytes)), isCut: body.length > mostBytes };
  }
  const printed = printJson(readable, mostCharacters);
  const text = printed?.text ?? readable;
  return {
    form: printed === undefined ? "text" : "json",
    text: text.slice(0, mostCharacters),
    isCut: (printed?.isCut ?? false) || text.length > mostCharacters,
  };
}

/** Controls that no text has; white space and the escape character of terminal colours are fine. */
function hasControls(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 && !(code >= 0x09 && code <= 0x0d) && code !== 0x1b) return true;
  }
  return false;
}

const rowBytes = 16;

/** Bytes as offset, hexadecimal and printable ASCII, sixteen to a line. */
function dumpHex(bytes: Uint8Array): string {
  const rows: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += rowBytes) {
    const row = [...bytes.subarray(offset, offset + rowBytes)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const ascii = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    rows.push(`${offset.toString(16).padStart(8, "0")}  ${hex.padEnd(rowBytes * 3 - 1)}  ${ascii}`);
  }
  return rows.join("\n");
}
