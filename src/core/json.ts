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

/**
 * As `JSON.stringify` without indentation, except that a `JsonNumber` keeps its digits: an amount beyond the
 * precision of a double passes through unchanged. `undefined` and functions are left out of objects and are null in
 * arrays.
 */
export function writeJson(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof JsonNumber) {
    return jsonNumber.test(value.text) ? value.text : JSON.stringify(value.text);
  }
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  if (typeof value === "object" && value !== null && !(value instanceof Date)) {
    let members = "";
    for (const [name, member] of Object.entries(value)) {
      if (!isWritable(member)) continue;
      members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${writeJson(member)}`;
    }
    return `{${members}}`;
  }
  return isWritable(value) ? (JSON.stringify(value) ?? "null") : "null";
}

function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol" && typeof value !== "bigint";
}
