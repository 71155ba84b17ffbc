import { type Json, JsonNumber, type JsonObject } from "../../core/json.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";

/** Even a valid text is refused beyond these. */
export interface JsonLimits {
  /** Arrays and objects within each other. Default 64. */
  maxDepth: number;
  /** In all objects together, with repeated names. Default 10,000. */
  maxKeys: number;
  /** Values of every kind, with lists and objects. Each takes some 100 bytes. Default 100,000. */
  maxValues: number;
}

export const defaultJsonLimits: JsonLimits = { maxDepth: 64, maxKeys: 10_000, maxValues: 100_000 };

export type ParsedJson =
  | { ok: true; value: Json }
  | {
      ok: false;
      /** In words for people, without the place. */
      message: string;
      /** Counted from 1. */
      line: number;
      /** Counted from 1, in UTF-16 units. */
      column: number;
      /** Index in the text. */
      offset: number;
      /** The values before the fault, inside their open containers. Absent when there are none. */
      partial?: Json;
    };

/**
 * Reads JSON (RFC 8259) in one pass without recursion, so neither depth nor length of a hostile text hurts. Within the limits it
 * accepts the same texts as `JSON.parse`. Numbers keep their digits (`JsonNumber`), and objects have no prototype. Never throws.
 */
export function parseJson(text: string, limits: JsonLimits = defaultJsonLimits): ParsedJson {
  const reader = new JsonReader(text, limits);
  if (reader.read()) return { ok: true, value: reader.root as Json };
  return {
    ok: false,
    message: reader.problem,
    ...placeOf(text, reader.at),
    offset: reader.at,
    partial: reader.root,
  };
}

function placeOf(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  for (let next = text.indexOf("\n"); next !== -1 && next < offset; next = text.indexOf("\n", lineStart)) {
    line += 1;
    lineStart = next + 1;
  }
  return { line, column: offset - lineStart + 1 };
}

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const plus = 0x2b;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * One pass over one text. `stack` has the open containers. Each is added to its parent when it opens, so that values before a
 * fault are in place. `fresh`: no member was read since the opening bracket. Every method returns false once `problem` is set.
 */
class JsonReader {
  root: Json | undefined;
  problem = "";
  at = 0;
  private readonly stack: (Json[] | JsonObject)[] = [];
  private key = "";
  private fresh = false;
  private keys = 0;
  private values = 0;
  private string = "";

  constructor(
    readonly text: string,
    readonly limits: JsonLimits,
  ) {}

  read(): boolean {
    this.skipSpace();
    if (!this.readValue()) return false;
    for (let top = this.stack.at(-1); top !== undefined; top = this.stack.at(-1)) {
      const isList = Array.isArray(top);
      const end = isList ? closeBracket : closeBrace;
      this.skipSpace();
      if (this.text.charCodeAt(this.at) === end) this.close();
      else if (!this.fresh && !this.skipComma(end)) return false;
      else if (!(isList ? this.readValue() : this.readMember())) return false;
    }
    this.skipSpace();
    return this.at === this.text.length || this.fail("there is more text after the end of the JSON");
  }

  private skipComma(end: number): boolean {
    const closing = end === closeBracket ? "]" : "}";
    if (this.text.charCodeAt(this.at) !== comma) return this.fail(`expected "," or "${closing}"`);
    this.at += 1;
    this.skipSpace();
    return this.text.charCodeAt(this.at) !== end || this.fail(`a "," stands before "${closing}"`);
  }

  private readMember(): boolean {
    if (this.text.charCodeAt(this.at) !== quote) return this.fail("expected a name in double quotes");
    if (this.keys === this.limits.maxKeys) {
      return this.fail(`it has more than ${groupThousands(this.limits.maxKeys)} names`, true);
    }
    this.keys += 1;
    if (!this.readString()) return false;
    this.key = this.string;
    this.skipSpace();
    if (this.text.charCodeAt(this.at) !== colon) return this.fail('expected ":" after a name');
    this.at += 1;
    this.skipSpace();
    return this.readValue();
  }

  private readValue(): boolean {
    this.values += 1;
    if (this.values > this.limits.maxValues) {
      return this.fail(`it has more than ${groupThousands(this.limits.maxValues)} values`, true);
    }
    const code = this.text.charCodeAt(this.at);
    if (code === quote) return this.readString() && this.put(this.string);
    if (code === openBrace) return this.open(Object.create(null) as JsonObject);
    if (code === openBracket) return this.open([]);
    if (code === minus || isDigit(code)) return this.readNumber();
    if (this.text.startsWith("true", this.at)) return this.skip(4) && this.put(true);
    if (this.text.startsWith("false", this.at)) return this.skip(5) && this.put(false);
    if (this.text.startsWith("null", this.at)) return this.skip(4) && this.put(null);
    return this.fail("expected a value");
  }

  private open(container: Json[] | JsonObject): boolean {
    if (this.stack.length === this.limits.maxDepth) {
      return this.fail(`it is nested more than ${this.limits.maxDepth} levels deep`, true);
    }
    this.put(container);
    this.stack.push(container);
    this.fresh = true;
    return this.skip(1);
  }

  private close(): void {
    this.stack.pop();
    this.fresh = false;
    this.at += 1;
  }

  private put(value: Json): boolean {
    const top = this.stack.at(-1);
    if (top === undefined) this.root = value;
    else if (Array.isArray(top)) top.push(value);
    else top[this.key] = value;
    this.fresh = false;
    return true;
  }

  private readNumber(): boolean {
    const start = this.at;
    if (this.text.charCodeAt(this.at) === minus) this.at += 1;
    if (this.text.charCodeAt(this.at) === zero) this.at += 1;
    else if (!this.skipDigits()) return false;
    if (this.text.charCodeAt(this.at) === dot && !(this.skip(1) && this.skipDigits())) return false;
    if ((this.text.charCodeAt(this.at) | 0x20) === 0x65) {
      this.at += 1;
      const sign = this.text.charCodeAt(this.at);
      if (sign === minus || sign === plus) this.at += 1;
      if (!this.skipDigits()) return false;
    }
    return this.put(new JsonNumber(this.text.slice(start, this.at)));
  }

  private skipDigits(): boolean {
    const start = this.at;
    while (isDigit(this.text.charCodeAt(this.at))) this.at += 1;
    return this.at > start || this.fail("expected a digit");
  }

  private readString(): boolean {
    const { text } = this;
    const start = this.at;
    let isEscaped = false;
    for (let index = start + 1; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code === quote) {
        this.at = index + 1;
        // Joining a text of escapes piece by piece would take fifty times its size in memory.
        if (isEscaped) this.string = JSON.parse(text.slice(start, this.at)) as string;
        else this.string = text.slice(start + 1, index);
        return true;
      }
      if (code < 0x20) {
        this.at = index;
        return this.fail("a string holds a raw line break or control character");
      }
      if (code === backslash) {
        isEscaped = true;
        const length = lengthOfEscape(text, index);
        if (length === undefined) {
          this.at = index;
          return this.fail("a string holds an escape that JSON does not know");
        }
        index += length - 1;
      }
    }
    this.at = text.length;
    return this.fail("it ends inside a string");
  }

  private skip(length: number): true {
    this.at += length;
    return true;
  }

  private skipSpace(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.at += 1;
    }
  }

  /** `whole`: nothing is added to the message. Otherwise the text at the place is. */
  private fail(message: string, whole = false): false {
    const ended = this.at >= this.text.length && !message.startsWith("it ends");
    this.problem = ended && !whole ? `it ends too early (${message})` : message;
    return false;
  }
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}

/** Undefined: no escape of JSON. */
function lengthOfEscape(text: string, at: number): number | undefined {
  const letter = text[at + 1];
  if (letter === "u") return /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6)) ? 6 : undefined;
  return letter !== undefined && '"\\/bfnrt'.includes(letter) ? 2 : undefined;
}
