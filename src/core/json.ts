/**
 * JSON as the relay keeps it: like the values of `JSON.parse`, except that a number stays the text it was sent as.
 *
 * A price of `1.10` or an amount of `123456789012345678901` must reach a reader digit for digit, and a
 * JavaScript number cannot do that.
 */
export class JsonNumber {
  /** The number's digits as they stood in the body, e.g. `"1.10"` or `"6.02e23"`. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The nearest JavaScript number, for comparisons. */
  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  /** Lets `JSON.stringify` show the value; the digits beyond a double's precision are lost there. */
  toJSON(): number {
    return Number(this.text);
  }
}

/** Objects have a null prototype, so `__proto__` and `constructor` are plain keys. */
export interface JsonObject {
  [key: string]: Json;
}

export type Json = null | boolean | string | JsonNumber | Json[] | JsonObject;

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

const jsonNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
/** What JSON does not write as it is; lone surrogates among it, so pairs as well. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const escaped = /["\\\u0000-\u001f\ud800-\udfff]/;
/** To look at a longer text costs as much as to have it written. */
const shortText = 200;

/**
 * As `JSON.stringify` without indentation, except that a `JsonNumber` keeps its digits: an amount beyond the
 * precision of a double passes through unchanged. `undefined` and functions are left out of objects and are null in
 * arrays.
 */
export function writeJson(value: unknown): string {
  if (typeof value === "string") return writeText(value);
  if (typeof value !== "object" || value === null || value instanceof Date)
    return isWritable(value) ? (JSON.stringify(value) ?? "null") : "null";
  if (value instanceof JsonNumber) return jsonNumber.test(value.text) ? value.text : writeText(value.text);
  return Array.isArray(value) ? writeArray(value) : writeObject(value as Record<string, unknown>);
}

/** Most names and values are short and need no escape; to call `JSON.stringify` for each costs more than the rest. */
function writeText(text: string): string {
  return text.length < shortText && !escaped.test(text) ? `"${text}"` : JSON.stringify(text);
}

function writeArray(items: unknown[]): string {
  let written = "";
  for (const item of items) written += written === "" ? writeJson(item) : `,${writeJson(item)}`;
  return `[${written}]`;
}

function writeObject(object: Record<string, unknown>): string {
  let members = "";
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (!isWritable(member)) continue;
    members += `${members === "" ? "" : ","}${writeText(name)}:${writeJson(member)}`;
  }
  return `{${members}}`;
}

function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol" && typeof value !== "bigint";
}
