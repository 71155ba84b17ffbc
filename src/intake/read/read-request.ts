import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { decodeText, gzipData } from "./decode-text.ts";
import { defaultJsonLimits, type JsonLimits, type ParsedJson, parseJson } from "./parse-json.ts";
import { type ReadForm, readForm, readMultipart } from "./read-form.ts";
import { salvageJson } from "./salvage-json.ts";

export type RequestReading = ReturnType<typeof readRequest>;

export type RequestContent =
  | {
      kind: "batch";
      items: JsonObject[];
      /** The object around the list. */
      envelope?: JsonObject;
      notes: string[];
    }
  | {
      kind: "single";
      body: BodyContent;
      /** The length of a list that is too long to be split. */
      unsplit?: number;
    };

/** A body by its actual format. `notes`: guesses, in words for the page. */
export type BodyContent =
  | { format: "json"; value: Json; notes: string[] }
  /** `found`: the members that could be saved. `text`: the whole body. */
  | { format: "broken-json"; found: JsonObject | undefined; text: string; notes: string[] }
  | { format: "form"; value: JsonObject; notes: string[] }
  | { format: "text"; text: string; notes: string[] }
  | { format: "binary"; what: string; notes: string[] }
  | { format: "empty"; notes: string[] };

/** A list with more alerts stays one alert. */
const maxAlertsOfBatch = 1_000;

/** 10,000 names are too few for a thousand alerts. The body's size bounds the work as well. */
const batchLimits: JsonLimits = { ...defaultJsonLimits, maxKeys: 100_000 };

/** The body is read once, when the first question needs it. Nothing here throws. */
export function readRequest(body: Uint8Array, contentType?: string) {
  const couldBeBatch = mayBeBatch(body);
  let read: RequestContent | undefined;
  const content = () => {
    read ??= couldBeBatch
      ? splitBatch(readBody(body, contentType, batchLimits))
      : { kind: "single", body: readBody(body, contentType, defaultJsonLimits) };
    return read;
  };
  return {
    content,
    /** The length of `translateRequest`'s result. An ordinary single object costs only a search of its bytes. */
    countAlerts(): number {
      if (!couldBeBatch) return 1;
      const found = content();
      return found.kind === "batch" ? found.items.length : 1;
    },
    /** What paths look into: the JSON or the form, or the object around a batch's list. Undefined for other bodies. */
    payload(): Json | undefined {
      const found = content();
      if (found.kind === "batch") return found.envelope ?? found.items;
      return found.body.format === "json" || found.body.format === "form" ? found.body.value : undefined;
    },
  };
}

/** Asked before a batch is looked for: a body that begins with "{" and lacks `"alerts"` is one alert. */
function mayBeBatch(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (isSpace(bytes[at])) at += 1;
  if (bytes[at] !== 0x7b) return at < bytes.length;
  // Searching for the quote first would be four times as slow, as JSON has many quotes.
  return bytes.includes('alerts"') && bytes.includes('"alerts"');
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** A list of objects, or `alerts` of an object (Alertmanager, Grafana). Any other list stays one alert, with a note. */
function splitBatch(body: BodyContent): RequestContent {
  if (body.format !== "json") return { kind: "single", body };
  const envelope = isJsonObject(body.value) ? body.value : undefined;
  const list = envelope === undefined ? body.value : envelope.alerts;
  if (!Array.isArray(list)) return { kind: "single", body };
  const problem = whyNotSplit(list);
  if (problem === undefined) return { kind: "batch", items: list as JsonObject[], envelope, notes: body.notes };
  const unsplit = list.length > maxAlertsOfBatch ? list.length : undefined;
  return { kind: "single", body: { ...body, notes: [...body.notes, problem] }, unsplit };
}

function whyNotSplit(list: Json[]): string | undefined {
  if (list.length === 0) return "the list of alerts is empty";
  if (!list.every(isJsonObject)) return "the list holds more than objects, so it is sent as one alert";
  if (list.length <= maxAlertsOfBatch) return undefined;
  const count = groupThousands(list.length);
  return `${count} alerts in one request are more than ${groupThousands(maxAlertsOfBatch)}, so they are sent as one alert`;
}

const whyStillCompressed =
  "the body is compressed: it was damaged or cut off on its way, or its Content-Encoding does not say gzip";

/**
 * Finds the format of a body by its content. The header only decides in doubt: senders call JSON `text/plain`, and
 * `curl -d` calls everything a form. JSON inside a JSON string or in a form's `payload` field is unpacked.
 */
function readBody(body: Uint8Array, contentType: string | undefined, limits: JsonLimits): BodyContent {
  const multipart = readMultipart(body);
  if (multipart !== undefined) return readFields(multipart, [], limits);
  const decoded = decodeText(body, contentType);
  if (decoded.kind === "binary") {
    // The door decompresses every gzip body that its header names.
    const notes = decoded.what === gzipData ? [whyStillCompressed] : [];
    return { format: "binary", what: decoded.what, notes };
  }
  const notes = decoded.note === undefined ? [] : [decoded.note];
  return readText(decoded.text, contentType, notes, limits);
}

function readText(text: string, contentType: string | undefined, notes: string[], limits: JsonLimits): BodyContent {
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

/** `{"title": …` and `[{` begin like JSON. "[FIRING] TVL fell" and "{brackets} in a text" do not. */
function beginsLikeJson(text: string): boolean {
  return /^\s*(?:\{\s*(?:["'}]|[A-Za-z_$][\w$]*\s*:)|\[\s*[{["\]])/.test(text);
}

function readBroken(text: string, fault: Extract<ParsedJson, { ok: false }>, notes: string[]): BodyContent {
  const note = `broken JSON at line ${fault.line}, column ${fault.column}: ${fault.message}`;
  const found = salvageJson(text, fault.offset, fault.partial);
  return { format: "broken-json", found, text, notes: [...notes, note] };
}

/** Some senders encode twice: a JSON string that contains JSON. */
function unwrapString(value: Json, limits: JsonLimits): Json {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return value;
  const inner = parseJson(value, limits);
  return inner.ok ? inner.value : value;
}

const payloadFields = ["payload", "payload_json", "json", "data", "body"];

function readFields({ fields, note }: ReadForm, before: string[], limits: JsonLimits): BodyContent {
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
