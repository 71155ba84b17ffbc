import type { Config } from "../../config/config.ts";
import { ConfigError, type ConfigProblem, whatOf } from "../../config/shape/problem-list.ts";
import { type Finding, ok, problem, toFinding, type Verdict, warning } from "../../core/finding.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { type RelayRun, readConfigOrPlace } from "../relay/connect-relay.ts";
import { hangText, type Output, type StyleName, terminalText } from "../shell/output.ts";
import { asTyped } from "../shell/own-command.ts";
import { checkDestinations } from "./check-destinations.ts";
import {
  checkClock,
  checkDatabase,
  checkDataFolder,
  checkLeftSecrets,
  checkLibrary,
  checkNode,
  checkSpool,
} from "./check-machine.ts";
import { checkAddress, checkRelay } from "./check-relay.ts";
import { checkAccount } from "./check-service.ts";

type Look = (run: RelayRun, config: Config) => Promise<Finding[]>;

/** A check that throws is a problem of its name. The relay comes after the things that it needs. */
const looksAt = ({ sources }: Config): Record<string, Look> => ({
  "database library": checkLibrary,
  "data folder": checkDataFolder,
  database: checkDatabase,
  spool: checkSpool,
  secrets: checkLeftSecrets,
  relay: checkRelay,
  "public URL": checkAddress,
  "alerting service": checkAccount,
  ...Object.fromEntries(
    sources.map((source): [string, Look] => [
      `alerting service of ${source.name}`,
      (run, config) => checkAccount(run, config, source),
    ]),
  ),
  clock: checkClock,
  destinations: checkDestinations,
});

/** Prints each finding as soon as it is known. Exit status 1 when one of them is a problem. */
export async function runDoctor(run: RelayRun): Promise<void> {
  const { output, context } = run;
  const findings: Finding[] = [];
  const print = async (found: Finding[]) => {
    for (const finding of found) {
      // A finding of the relay is shown once, also where a check of doctor finds it again.
      if (findings.some(({ detail, verdict }) => verdict !== "ok" && detail === finding.detail)) continue;
      findings.push(finding);
      await output.print(formatFinding(finding, output));
    }
  };

  await print([checkNode()]);
  const config = await loadConfiguration(run, print);
  for (const [name, look] of config === undefined ? [] : Object.entries(looksAt(config))) {
    await output.progress.update("looking");
    await print(await look(run, config as Config).catch((error) => [toFinding(name, error)]));
  }
  const count = (verdict: Verdict) => findings.filter((finding) => finding.verdict === verdict).length;
  const [problems, warnings] = [count("problem"), count("warning")];
  await output.result({ ok: problems === 0, problems, warnings, findings }, () => {
    const counts = `${problems === 0 ? "No problem" : countOf(problems, "problem")}, ${countOf(warnings, "warning")}.`;
    if (problems > 0) return `\n${output.style("red", counts)}\n`;
    return `\n${warnings > 0 ? output.style("yellow", counts) : output.style("green", "All is well.")}\n`;
  });
  if (problems > 0) context.setExitStatus(1);
}

const check = "configuration";

export function describeConfiguration({ configFile, rules, warnings }: Config): Finding[] {
  const { destinations, routes } = rules;
  const counts = `${countOf(destinations.length, "destination")}, ${countOf(routes.length, "route")}`;
  return [
    ok(check, `${configFile ?? "environment variables"}: ${counts}`),
    ...warnings.map((one) => warning(check, placeOf(one), one.instead)),
  ];
}

const placeOf = (problem: ConfigProblem): string => `${problem.where}: ${whatOf(problem)}`;

/** Undefined where not even the address of the relay can be read. */
async function loadConfiguration({ context }: RelayRun, print: (found: Finding[]) => Promise<void>) {
  const describe = (mistakes: readonly ConfigProblem[]) =>
    mistakes.map((one) => problem(check, placeOf(one), one.instead));
  try {
    const { config, mistakes } = await readConfigOrPlace(context);
    await print(mistakes.length === 0 ? describeConfiguration(config) : describe(mistakes));
    return config;
  } catch (error) {
    await print(error instanceof ConfigError ? describe(error.problems) : [toFinding(check, error)]);
    return undefined;
  }
}

const symbols: Record<Verdict, readonly [StyleName, string]> = {
  ok: ["green", "✓"],
  problem: ["red", "✗"],
  warning: ["yellow", "!"],
  skipped: ["dim", "–"],
};

export function formatFinding({ check, verdict, detail, mend }: Finding, output: Output): string {
  const head = terminalText(check);
  const words = hangText(`${head}: ${terminalText(detail)}`, output.width, 2);
  const line = `${output.style(...symbols[verdict])} ${words.replace(head, () => output.style("bold", head))}\n`;
  return mend === undefined
    ? line
    : `${line}    → ${hangText(terminalText(asTyped(mend, output.ownCommand)), output.width, 6)}\n`;
}
