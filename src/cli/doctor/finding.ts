/**
 * `ok`: as it should be. `warning`: works, but perhaps not as meant. `problem`: costs alerts or will. `skipped`: could not
 * be asked.
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
