import type { MatchFields } from "../contract/operations.ts";
import type { AlertOrigin, Translation } from "../core/alert.ts";
import { type Json, JsonNumber } from "../core/json.ts";
import { factFields, factReader, listPayloadNodes } from "../matching/path.ts";

const mostShown = 60;
const mostNodes = 2_000;
const longestValue = 200;

/** All that a matcher can ask this alert for, by the names to write. */
export function listMatchFields(origin: AlertOrigin, { facts, payload }: Translation): MatchFields {
  const ofFacts = factFields.flatMap((field) => {
    const value = factReader(field)({ facts, origin });
    return value === undefined ? [] : [{ field, value: shorten(value) }];
  });
  if (payload === undefined) return { facts: ofFacts, payload: [], more: 0 };
  const leaves = listPayloadNodes(payload, mostNodes).flatMap(({ path, value }) => {
    const text = textOf(value);
    return text === undefined ? [] : [{ field: path, value: shorten(text) }];
  });
  return {
    facts: ofFacts,
    payload: leaves.slice(0, mostShown),
    more: Math.max(0, leaves.length - mostShown),
  };
}

/** Lists and maps have no text of their own, and null is a missing value. */
function textOf(value: Json): string | undefined {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  return value instanceof JsonNumber ? value.text : undefined;
}

function shorten(text: string): string {
  // Spaces stay as they are, since a condition would have to have them too.
  const line = text.slice(0, 4 * longestValue).replace(/[^\S ]+/g, " ");
  return line.length > longestValue || text.length > 4 * longestValue ? `${line.slice(0, longestValue)}…` : line;
}
