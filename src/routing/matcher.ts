import type { Matcher } from "../core/rules.ts";
import { compileCondition } from "./condition.ts";
import { compileField, type MatchInput } from "./field-values.ts";
import type { AdviseOnMissing } from "./near-path.ts";

/** `reason`: every condition that held, or the first that did not. */
export interface MatchResult {
  matched: boolean;
  reason: string;
}

export type Match = (input: MatchInput) => MatchResult;

/**
 * All matchers must hold; none match everything. Throws `invalid_request` for a field or pattern that cannot be read.
 *
 * @param adviseOnMissing asked about a field without a value that did not match; its words end the reason
 */
export function compileMatchers(matchers: Matcher[], adviseOnMissing?: AdviseOnMissing): Match {
  const compiled = matchers.map(({ field, condition }) => ({
    field,
    read: compileField(field),
    check: compileCondition(condition),
  }));

  return (input) => {
    const held: string[] = [];
    for (const { field, read, check } of compiled) {
      const values = read(input);
      const verdict = check(values);
      const reason = `${field} ${verdict.words}`;
      if (!verdict.holds) {
        const advice = values.length === 0 ? adviseOnMissing?.(field, input) : undefined;
        return { matched: false, reason: advice === undefined ? reason : `${reason}; ${advice}` };
      }
      held.push(reason);
    }
    return { matched: true, reason: held.length > 0 ? held.join("; ") : "it takes every alert" };
  };
}
