import { isJsonObject, type Json, JsonNumber, type JsonObject } from "../../core/json.ts";

/** How much text after the fault is searched. `maxPairs`: how many pairs are taken. */
const maxSearched = 65_536;
const maxPairs = 200;

/**
 * Saves from broken JSON what a person would still read: the part before the fault, and each `name: value` pair after
 * it, in JSON's or JavaScript's spelling. The first value of a name is kept. Undefined when nothing was found.
 */
export function salvageJson(text: string, offset: number, partial: Json | undefined): JsonObject | undefined {
  const found = Object.create(null) as JsonObject;
  if (isJsonObject(partial)) Object.assign(found, partial);
  else if (partial !== undefined) found.items = partial;
  // The pair with the fault begins before it.
  const start = Math.max(text.lastIndexOf(",", offset - 1), text.lastIndexOf("{", offset - 1), 0);
  let pairs = 0;
  for (const match of text.slice(start, start + maxSearched).matchAll(pairPattern())) {
    const name = match[1] ?? match[2] ?? match[3] ?? "";
    if (found[name] === undefined) found[name] = readPairValue(match);
    pairs += 1;
    if (pairs === maxPairs) break;
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** Linear: each alternative is bounded or begins at a quote or word. An unclosed string ends with its line. */
export function pairPattern(): RegExp {
  const name = `(?:"([^"\\\\\\n]{1,100})"|'([^'\\\\\\n]{1,100})'|(?<![\\w$])([A-Za-z_$][\\w$]{0,60}))`;
  const text = `"((?:[^"\\\\\\n]|\\\\.){0,20000})(?:"|(?=\\n)|$)|'((?:[^'\\\\\\n]|\\\\.){0,20000})(?:'|(?=\\n)|$)`;
  const bare = "(-?[0-9][0-9.]{0,60}(?:[eE][+-]?[0-9]{1,4})?)|(true|false|null)|([^\\s,{}[\\]\"':]{1,200})";
  return new RegExp(`${name}\\s{0,20}:\\s{0,20}(?:${text}|${bare})`, "g");
}

function readPairValue(match: RegExpMatchArray): Json {
  const [, , , , double, single, number, word, bare] = match;
  if (double !== undefined) return decodeEscapes(double);
  if (single !== undefined) return decodeEscapes(single);
  if (number !== undefined) return new JsonNumber(number);
  if (word !== undefined) return word === "null" ? null : word === "true";
  return bare ?? "";
}

function decodeEscapes(text: string): string {
  return text.replace(/\\(u[0-9a-fA-F]{4}|.)/g, (_, letters: string) => {
    if (letters.length === 5) return String.fromCharCode(Number.parseInt(letters.slice(1), 16));
    if (letters === "n" || letters === "r") return "\n";
    return letters === "t" ? "\t" : letters;
  });
}
