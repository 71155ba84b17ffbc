import { readJson } from "../ground/text/read-json.ts";

/** Deeper levels are not indented further, so a deeply nested body cannot grow a thousandfold. */
const deepestIndent = 32;

/** A string, one structural character, or a run of other characters, each directly after the last. */
const tokens = /\s*("[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^{}[\],:"\s]+)/gy;

/**
 * Lays JSON out, token by token as sent: all digits, the order of keys and double keys stay. A text over `maxUnits` is
 * cut after a token, and `isCut` says so. Undefined when the text is not JSON.
 */
export function printJson(text: string, maxUnits = Number.POSITIVE_INFINITY) {
  if (readJson(text) === undefined) return undefined;
  let printed = "";
  let depth = 0;
  let before = "";
  const newLine = () => `\n${"  ".repeat(Math.min(depth, deepestIndent))}`;
  for (const [, token = ""] of text.matchAll(tokens)) {
    if (printed.length > maxUnits) return { text: printed, isCut: true };
    const isEnd = token === "}" || token === "]";
    if (isEnd) depth -= 1;
    const isBegun = before === "{" || before === "[";
    if (before === "," || isBegun !== isEnd) printed += newLine();
    printed += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
    before = token;
  }
  return { text: printed, isCut: false };
}
