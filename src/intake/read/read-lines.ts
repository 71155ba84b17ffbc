import type { JsonObject } from "../../core/json.ts";

const maxLines = 200;

/**
 * The `Name: value` and `name = value` lines of a plain text as an object, for finding facts in it; the text itself is
 * shown whole all the same. A name is one to four words at the line's beginning.
 */
export function readLines(text: string): JsonObject {
  const pairs = Object.create(null) as JsonObject;
  for (const line of text.split("\n", maxLines)) {
    const match =
      /^[^\p{L}\n]{0,8}(\p{L}[\w-]{0,30}(?: [\w-]{1,20}){0,3})\s{0,10}[:=]\s{0,10}(\S.{0,500})$/u.exec(
        line.slice(0, 600),
      );
    if (match === null) continue;
    const [, name = "", value = ""] = match;
    // "https://…" is no pair, and the first mention is the one that counts.
    if (!value.startsWith("//") && pairs[name] === undefined) pairs[name] = value.trim();
  }
  return pairs;
}
