import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { defaultJsonLimits, type JsonLimits } from "./parse-json.ts";
import { type Reading, readBody } from "./read-body.ts";

/** More than this in one request is told as one alert. */
const maxAlertsOfBatch = 1_000;

/** 10,000 names are plenty for one alert and too few for a thousand; the body's 1 MiB bounds the work either way. */
const batchLimits: JsonLimits = { ...defaultJsonLimits, maxKeys: 100_000 };

/** One request as read: a batch of alerts, or one alert whatever it is. */
export type RequestReading =
  | {
      kind: "batch";
      items: JsonObject[] /** The object that held the list. */;
      envelope?: JsonObject;
      notes: string[];
    }
  | {
      kind: "single";
      reading: Reading;
      /** How many alerts the list holds, when it is too long to be split. */
      unsplit?: number;
    };

/**
 * How many alerts a request holds, always the length of what `translateRequest` makes of it. It runs before the sender
 * is answered, so an ordinary single object costs only a search of its bytes. Never throws.
 */
export function countAlerts(body: Uint8Array, contentType?: string): number {
  if (!mayBeBatch(body)) return 1;
  const request = readRequest(body, contentType);
  return request.kind === "batch" ? request.items.length : 1;
}

/**
 * Reads a request and splits a batch: a list of objects, or an object whose `alerts` is one (Alertmanager, Grafana).
 * An empty list, one that holds anything but objects, or one of more than 1,000 stays one alert, with a note.
 */
export function readRequest(body: Uint8Array, contentType: string | undefined): RequestReading {
  if (!mayBeBatch(body)) return { kind: "single", reading: readBody(body, contentType) };
  const reading = readBody(body, contentType, batchLimits);
  if (reading.format !== "json") return { kind: "single", reading };
  const envelope = isJsonObject(reading.value) ? reading.value : undefined;
  const list = envelope === undefined ? reading.value : envelope.alerts;
  if (!Array.isArray(list)) return { kind: "single", reading };
  const problem = whyNotSplit(list);
  if (problem !== undefined) {
    const unsplit = list.length > maxAlertsOfBatch ? list.length : undefined;
    return { kind: "single", reading: { ...reading, notes: [...reading.notes, problem] }, unsplit };
  }
  return { kind: "batch", items: list as JsonObject[], envelope, notes: reading.notes };
}

/**
 * The one gate before a batch is looked for, so that counting and translating cannot disagree: a body that begins with
 * "{" and does not spell `"alerts"` is one alert.
 */
function mayBeBatch(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (isSpace(bytes[at])) at += 1;
  return at < bytes.length && (bytes[at] !== 0x7b || spellsAlerts(bytes));
}

/** A quote is so frequent in JSON that a search for it first is four times as slow. */
function spellsAlerts(bytes: Buffer): boolean {
  return bytes.includes('alerts"') && bytes.includes('"alerts"');
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function whyNotSplit(list: Json[]): string | undefined {
  if (list.length === 0) return "the list of alerts is empty";
  if (!list.every(isJsonObject)) return "the list holds more than objects, so it is told as one alert";
  if (list.length <= maxAlertsOfBatch) return undefined;
  const count = list.length.toLocaleString("en");
  return `${count} alerts in one request are more than ${maxAlertsOfBatch.toLocaleString("en")}, so they are told as one alert`;
}
