import { readText } from "../contract/make-views.ts";
import type { RefusedDetail } from "../core/ports/refused.ts";
import { countOf } from "../ground/text/count-of.ts";
import type { Panel } from "../panels/panel.ts";
import { aside, foldOf, tableOf } from "../panels/sections.ts";
import { printJson } from "./print-json.ts";

const formWords = {
  json: "JSON, laid out; every digit as it was sent",
  text: "Text, as it was sent",
  bytes: "Bytes",
  empty: "The body was empty.",
};

/** A request as it came: its laid-out body and its headers. `whole`: where to find all of a long body. */
export function asReceived({ body, headers }: Pick<RefusedDetail, "body" | "headers">, whole: string): Panel {
  const { form, text, isCut } = showBody(body);
  return [
    aside`${{ words: formWords[form] }}`,
    form !== "empty" && { kind: "block", blockId: "body", text, isBytes: form === "bytes", canCopy: true },
    isCut && aside`This is the beginning; ${{ words: whole }} has all of it.`,
    foldOf({ summary: { words: countOf(headers.length, "header") } }, [
      tableOf(headers, { name: ([name]) => name, value: ([, value]) => value }),
    ]),
  ];
}

const mostCharacters = 100_000;
const mostBytes = 4_096;

/** Bytes, and text with control characters, are shown as bytes. `isCut`: the download has everything. */
export function showBody(body: Uint8Array): { form: keyof typeof formWords; text: string; isCut: boolean } {
  if (body.length === 0) return { form: "empty", text: "", isCut: false };
  const readable = readText(body);
  if (readable === undefined || controls.test(readable)) {
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

/** Control characters but white space and the escape character of terminal colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const controls = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

const rowBytes = 16;

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
