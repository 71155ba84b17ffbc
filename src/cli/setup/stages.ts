import { AppError } from "../../core/errors.ts";
import type { Finding } from "../doctor/finding.ts";
import { formatFinding } from "../doctor/run-doctor.ts";
import type { Output } from "../shell/output.ts";

/** What setup looks at before it changes anything, stage by stage. */
export interface Stages {
  /** All that was found so far. */
  readonly findings: Finding[];
  /** Says on a terminal what is looked at now. */
  begin(what: string): Promise<void>;
  /**
   * Prints what was found, a line each.
   * @throws AppError `failed` for problems, unless the run changes nothing anyway.
   */
  pass(found: Finding[]): Promise<void>;
}

export function openStages(output: Output, { dryRun = false }: { dryRun?: boolean }): Stages {
  const findings: Finding[] = [];
  return {
    findings,
    begin: (what) => output.progress.update(`looking at ${what}`),
    async pass(found) {
      findings.push(...found);
      const problems = found.filter(({ verdict }) => verdict === "problem");
      for (const finding of dryRun ? found : found.filter((finding) => !problems.includes(finding))) {
        await output.print(formatFinding(finding, output));
      }
      if (problems.length > 0 && !dryRun) throw toStop(problems);
    },
  };
}

function toStop(problems: Finding[]): AppError {
  const mends = problems.flatMap(({ check, mend }) =>
    mend === undefined ? [] : [problems.length === 1 ? mend : `${check}: ${mend}`],
  );
  const message = problems.map(({ check, detail }) => `${check}: ${detail}`).join("\n");
  return new AppError("failed", message, {
    hint: [...mends, "Nothing was changed. Run setup again when that is fixed."].join("\n"),
  });
}
