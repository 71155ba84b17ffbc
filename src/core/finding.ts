import { AppError } from "./errors.ts";

/** `warning`: works, but perhaps not as meant. `problem`: costs alerts, now or later. `skipped`: could not be checked. */
export type Verdict = "ok" | "warning" | "problem" | "skipped";

/** The result of one check, without secrets. */
export interface Finding {
  /** The thing that was checked, e.g. `destination trading-desk`. */
  check: string;
  verdict: Verdict;
  detail: string;
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

/** Turns a failed check into a problem. Rethrows an interruption and errors of the program. */
export function toFinding(check: string, error: unknown): Finding {
  if (!(error instanceof AppError) || error.code === "cancelled") throw error;
  return problem(check, error.message, error.hint);
}
