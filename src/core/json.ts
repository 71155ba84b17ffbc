/** A number that keeps its digits. A JavaScript number would change `1.10` and `123456789012345678901`. */
export class JsonNumber {
  /** @param text as in the body, e.g. `"1.10"` or `"6.02e23"` */
  constructor(readonly text: string) {}

  /** The nearest JavaScript number, for comparisons. */
  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  /** Used by `JSON.stringify`, which loses digits beyond a double's precision. */
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
/** Characters that JSON escapes. All surrogates are among them, though only lone ones need it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const escaped = /["\\\u0000-\u001f\ud800-\udfff]/;
/** In a longer text the test costs as much as `JSON.stringify`. */
const shortText = 200;

/** Like `JSON.stringify` without indentation, but a `JsonNumber` keeps its digits. */
export function writeJson(value: unknown): string {
  if (typeof value === "string") return writeText(value);
  if (typeof value !== "object" || value === null || value instanceof Date)
    return isWritable(value) ? (JSON.stringify(value) ?? "null") : "null";
  if (value instanceof JsonNumber) return jsonNumber.test(value.text) ? value.text : writeText(value.text);
  return Array.isArray(value) ? writeArray(value) : writeObject(value as Record<string, unknown>);
}

/** Most names and values are short and need no escape. `JSON.stringify` for each of them would cost more than all the rest. */
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
