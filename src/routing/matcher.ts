import type { Matcher } from "../core/rules.ts";
import { compileCondition } from "./condition.ts";
import { compileField, type MatchInput } from "./field-values.ts";

/** `reason`: every condition that held, or the first that did not. */
export interface MatchResult {
  matched: boolean;
  reason: string;
}

export type Match = (input: MatchInput) => MatchResult;

/** All matchers must hold; none match everything. Throws `invalid_request` for a field or pattern that cannot be read. */
export function compileMatchers(matchers: Matcher[]): Match {
  const compiled = matchers.map(({ field, condition }) => ({
    field,
    read: compileField(field),
    check: compileCondition(condition),
  }));

  return (input) => {
    const held: string[] = [];
    for (const { field, read, check } of compiled) {
      const verdict = check(read(input));
      const reason = `${field} ${verdict.words}`;
      if (!verdict.holds) return { matched: false, reason };
      held.push(reason);
    }
    return { matched: true, reason: held.length > 0 ? held.join("; ") : "it takes every alert" };
  };
}
