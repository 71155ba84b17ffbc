import { AppError } from "./errors.ts";

/**
 * `ok`: as it should be. `warning`: works, but perhaps not as meant. `problem`: costs alerts or will. `skipped`:
 * could not be asked.
 */
export type Verdict = "ok" | "warning" | "problem" | "skipped";

/** What one check has found. Holds no secret. */
export interface Finding {
  /** What was looked at, e.g. `destination trading-desk`. */
  check: string;
  verdict: Verdict;
  detail: string;
  /** What to do about it. */
  mend?: string;
}

const found = (verdict: Verdict) => (check: string, detail: string, mend?: string) => ({
  check,
  verdict,
  detail,
  mend,
});

export const ok = found("ok");
export const warning = found("warning");
export const problem = found("problem");
export const skipped = found("skipped");

/** What could not be asked is a problem with the words of the failure. An interruption is none. */
export function toFinding(check: string, error: unknown): Finding {
  if (!(error instanceof AppError) || error.code === "cancelled") throw error;
  return problem(check, error.message, error.hint);
}
