import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { decodeText } from "./decode-text.ts";
import { defaultJsonLimits, type JsonLimits, type ParsedJson, parseJson } from "./parse-json.ts";
import { type ReadForm, readForm } from "./read-form.ts";
import { readMultipart } from "./read-multipart.ts";
import { salvageJson } from "./salvage-json.ts";

/** A body in the shape it turned out to have. `notes`: what had to be guessed, in words for the page. */
export type Reading =
  | { format: "json"; value: Json; notes: string[] }
  /** `found`: what could be saved of it; `text`: all of it, as text. */
  | { format: "broken-json"; found: JsonObject | undefined; text: string; notes: string[] }
  | { format: "form"; value: JsonObject; notes: string[] }
  | { format: "text"; text: string; notes: string[] }
  | { format: "binary"; what: string; notes: string[] }
  | { format: "empty"; notes: string[] };

/**
 * Finds out what a body is by its content; the header only breaks ties, because senders call JSON `text/plain` and
 * everything posted by hand a form. JSON inside a JSON string or in a form's `payload` field is taken out. Never throws.
 */
export function readBody(
  body: Uint8Array,
  contentType: string | undefined,
  limits: JsonLimits = defaultJsonLimits,
): Reading {
  const multipart = readMultipart(body);
  if (multipart !== undefined) return readFields(multipart, [], limits);
  const decoded = decodeText(body, contentType);
  if (decoded.kind === "binary") return { format: "binary", what: decoded.what, notes: [] };
  const notes = decoded.note === undefined ? [] : [decoded.note];
  return readText(decoded.text, contentType, notes, limits);
}

function readText(
  text: string,
  contentType: string | undefined,
  notes: string[],
  limits: JsonLimits,
): Reading {
  if (text.trim() === "") return { format: "empty", notes };
  const saysJson = /^\s*[\w.-]+\/(?:[\w.-]+\+)?json\b/i.test(contentType ?? "");
  if (saysJson || /^\s*[{["]/.test(text)) {
    const parsed = parseJson(text, limits);
    if (parsed.ok) return { format: "json", value: unwrapString(parsed.value, limits), notes };
    if (saysJson ? /^\s*[{["]/.test(text) : beginsLikeJson(text)) return readBroken(text, parsed, notes);
  }
  const form = readForm(text, contentType);
  if (form === undefined) return { format: "text", text, notes };
  return readFields(form, notes, limits);
}

/** "[FIRING] TVL fell" and "{brackets} in a text" are no JSON; `{"title": …` and `[{` are. */
function beginsLikeJson(text: string): boolean {
  return /^\s*(?:\{\s*(?:["'}]|[A-Za-z_$][\w$]*\s*:)|\[\s*[{["\]])/.test(text);
}

function readBroken(text: string, fault: Extract<ParsedJson, { ok: false }>, notes: string[]): Reading {
  const note = `broken JSON at line ${fault.line}, column ${fault.column}: ${fault.message}`;
  const found = salvageJson(text, fault.offset, fault.partial);
  return { format: "broken-json", found, text, notes: [...notes, note] };
}

/** Some senders encode twice: the JSON is then one string that holds JSON. */
function unwrapString(value: Json, limits: JsonLimits): Json {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return value;
  const inner = parseJson(value, limits);
  return inner.ok ? inner.value : value;
}

const payloadFields = ["payload", "payload_json", "json", "data", "body"];

function readFields({ fields, note }: ReadForm, before: string[], limits: JsonLimits): Reading {
  const notes = note === undefined ? before : [...before, note];
  for (const name of payloadFields) {
    const text = fields[name];
    if (typeof text !== "string" || !/^\s*[{[]/.test(text)) continue;
    const parsed = parseJson(text, limits);
    if (!parsed.ok) {
      const fault = `the form's ${name} is broken JSON at line ${parsed.line}, column ${parsed.column}: ${parsed.message}`;
      return { format: "form", value: fields, notes: [...notes, fault] };
    }
    return { format: "json", value: addMissing(parsed.value, fields, name), notes };
  }
  return { format: "form", value: fields, notes };
}

function addMissing(value: Json, fields: JsonObject, except: string): Json {
  if (!isJsonObject(value)) return value;
  const all = Object.assign(Object.create(null) as JsonObject, value);
  for (const [name, field] of Object.entries(fields)) {
    if (name !== except && all[name] === undefined) all[name] = field;
  }
  return all;
}
