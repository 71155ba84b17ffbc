import type { ExplainedDelivery } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";

/** The word for no destination, where none is called so. */
const nobody = "nobody";

/** How what would be reached differs from what was expected, for one alert of the body. */
export interface Difference {
  item: number;
  missing: string[];
  unexpected: string[];
}

/**
 * The destinations that `--expect` names.
 * @throws AppError `usage` for one that is not configured: a slip, which no alert could ever meet.
 */
export function readExpected(names: readonly string[], configured: readonly string[]): string[] {
  if (names.length === 1 && names[0] === nobody && !configured.includes(nobody)) return [];
  const unknown = names.find((name) => !configured.includes(name));
  if (unknown === undefined) return [...new Set(names)];
  throw new AppError("usage", `--expect: there is no destination ${unknown} in the configuration`, {
    hint: configured.length === 0 ? "it has no destinations" : suggestOrList(unknown, configured),
  });
}

/** What is held until quiet hours end is reached too, only later; what is muted is not. Undefined: as expected. */
export function compareExpected(
  expected: readonly string[],
  item: number,
  deliveries: readonly Pick<ExplainedDelivery, "destination" | "state">[],
): Difference | undefined {
  const reached = deliveries.filter(({ state }) => state !== "muted").map(({ destination }) => destination);
  const missing = expected.filter((name) => !reached.includes(name));
  const unexpected = reached.filter((name) => !expected.includes(name));
  return missing.length + unexpected.length === 0 ? undefined : { item, missing, unexpected };
}

/** `expected desk, ops; missing: ops; not expected: mail` */
export function describeDifference(expected: readonly string[], { missing, unexpected }: Difference): string {
  const parts = Object.entries({ missing, "not expected": unexpected }).flatMap(([what, names]) =>
    names.length === 0 ? [] : [`; ${what}: ${names.join(", ")}`],
  );
  return `expected ${expected.join(", ") || nobody}${parts.join("")}`;
}
