import type { JsonObject } from "../../core/json.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { decodeText } from "./decode-text.ts";

/** As for names in JSON. */
const maxFields = 10_000;
const maxParts = 200;
/** How far the head of a part is read. */
const maxHeadLength = 4096;

export interface ReadForm {
  fields: JsonObject;
  /** Set when the form has more fields than are read. */
  note?: string;
}

/**
 * Reads a URL-encoded form as an object of strings. Undefined for other texts. The header alone is no evidence, since
 * `curl -d` calls everything a form: the text must begin with `name=`. Without the header it also needs a second pair
 * and no raw white space. Values of a repeated name are joined by line breaks.
 */
export function readForm(text: string, contentType: string | undefined): ReadForm | undefined {
  const saysForm = /^\s*application\/x-www-form-urlencoded/i.test(contentType ?? "");
  const body = text.trim();
  if (!/^[\w.\-[\]%+$]{1,100}=/.test(body)) return undefined;
  if (!saysForm && (/\s/.test(body) || !/^[^&]*&[\w.\-[\]%+$]{1,100}=/.test(body))) return undefined;
  const fields = Object.create(null) as JsonObject;
  const end = endOfFields(body);
  for (const [name, value] of new URLSearchParams(body.slice(0, end))) addField(fields, name, value);
  if (end === body.length) return { fields };
  return {
    fields,
    note: `the form has more than ${groupThousands(maxFields)} fields, and only these are read`,
  };
}

function endOfFields(body: string): number {
  let end = -1;
  for (let count = 0; count < maxFields; count += 1) {
    end = body.indexOf("&", end + 1);
    if (end === -1) return body.length;
  }
  return end;
}

/**
 * Reads a `multipart/form-data` body (RFC 7578) as an object of strings. Undefined for other bodies. The boundary is
 * read from the body, since proxies lose the header's. A file gives its name and size, and its text if it is one.
 */
export function readMultipart(bytes: Uint8Array): ReadForm | undefined {
  if (bytes[0] !== 0x2d || bytes[1] !== 0x2d) return undefined;
  // One character for each byte: positions are then bytes, and each part keeps its character set.
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const boundary = /^--[^\r\n]{1,70}(?=\r?\n)/.exec(raw)?.[0];
  if (boundary === undefined || !/content-disposition:\s*form-data/i.test(raw.slice(0, maxHeadLength))) {
    return undefined;
  }
  const fields = Object.create(null) as JsonObject;
  const parts = raw.split(boundary, maxParts + 2).slice(1);
  for (const part of parts.slice(0, maxParts)) readPart(part, fields);
  if (Object.keys(fields).length === 0) return undefined;
  // Two dashes follow the last boundary.
  const hasMore = parts[maxParts]?.startsWith("--") === false;
  return hasMore ? { fields, note: `the form has more than ${maxParts} parts, and only these are read` } : { fields };
}

function readPart(part: string, fields: JsonObject): void {
  const gap = /\r?\n\r?\n/.exec(part.slice(0, maxHeadLength));
  if (gap === null) return;
  const head = part.slice(0, gap.index);
  const content = Buffer.from(withoutLineEnd(part.slice(gap.index + gap[0].length)), "latin1");
  const name = parameter(head, "name") ?? "part";
  const file = parameter(head, "filename");
  const type = /^content-type:\s*([^\r\n]+)/im.exec(head)?.[1];
  const decoded = decodeText(content, type);
  const size = countOf(content.length, "byte");
  if (decoded.kind === "binary") addField(fields, name, `file ${file ?? "without a name"} (${decoded.what}, ${size})`);
  else if (file === undefined) addField(fields, name, decoded.text);
  else addField(fields, name, `file ${file} (${size}):\n${decoded.text}`);
}

function withoutLineEnd(content: string): string {
  if (!content.endsWith("\n")) return content;
  return content.slice(0, content.endsWith("\r\n") ? -2 : -1);
}

const parameters = { name: /[;\s]name="([^"\r\n]{0,200})"/i, filename: /[;\s]filename="([^"\r\n]{0,200})"/i };

function parameter(head: string, name: keyof typeof parameters): string | undefined {
  const value = parameters[name].exec(head)?.[1];
  return value === undefined ? undefined : Buffer.from(value, "latin1").toString("utf8");
}

function addField(fields: JsonObject, name: string, value: string): void {
  const earlier = fields[name];
  fields[name] = typeof earlier === "string" ? `${earlier}\n${value}` : value;
}
