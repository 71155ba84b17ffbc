import type { Config } from "../../config/config.ts";
import { ConfigError } from "../../config/shape/problem-list.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { countOf } from "../shell/amounts.ts";
import type { Output } from "../shell/output.ts";
import { hangText, terminalText } from "../shell/terminal-text.ts";
import { checkDataFolder } from "./check-data-folder.ts";
import { checkDatabase, checkLeftSecrets, checkSpool } from "./check-database.ts";
import { checkDestinations } from "./check-destinations.ts";
import { checkRelay } from "./check-relay.ts";
import { checkService } from "./check-service.ts";
import { type Finding, toFinding, type Verdict } from "./finding.ts";

type Check = (run: RelayRun, config: Config) => Promise<Finding[]>;

const checks: readonly Check[] = [
  checkDataFolder,
  checkDatabase,
  checkSpool,
  checkLeftSecrets,
  checkRelay,
  checkService,
  checkDestinations,
];

/** Each finding is printed as soon as it is known. Exit status 1 when one of them is a problem. */
export async function runDoctor(run: RelayRun): Promise<void> {
  const { output, context } = run;
  const findings: Finding[] = [];
  const print = async (found: Finding[]) => {
    findings.push(...found);
    for (const finding of found) await output.print(formatFinding(finding, output));
  };

  await print([checkNode(process.versions.node)]);
  await print(await checkLibrary());
  const { config, found } = await readConfiguration(run);
  await print(found);
  if (config !== undefined) {
    for (const check of checks) {
      await output.progress.update("looking");
      await print(await check(run, config));
    }
  }
  const count = (verdict: Verdict) => findings.filter((finding) => finding.verdict === verdict).length;
  const problems = count("problem");
  const summary = { problems, warnings: count("warning") };
  await output.result({ ok: problems === 0, ...summary, findings }, () => `\n${summarize(summary, output)}\n`);
  if (problems > 0) context.setExitStatus(1);
}

/** Silent where all is well: it is a fault of an installation or of a change of Node. */
async function checkLibrary(): Promise<Finding[]> {
  try {
    const { requireDatabaseLibrary } = await import("../../store/sqlite/open-database.ts");
    requireDatabaseLibrary();
    return [];
  } catch (error) {
    return [toFinding("database library", error)];
  }
}

/** What a configuration without mistakes holds, and what in it is perhaps not meant so. */
export function describeConfiguration({ configFile, rules, warnings }: Config): Finding[] {
  const check = "configuration";
  const from = configFile ?? "environment variables";
  const { destinations, routes } = rules;
  const detail = `${from}: ${countOf(destinations.length, "destination")}, ${countOf(routes.length, "route")}`;
  return [
    { check, verdict: "ok", detail },
    ...warnings.map(({ where, path, message, instead }): Finding => {
      const what = path === undefined ? message : `${path}: ${message}`;
      return { check, verdict: "warning", detail: `${where}: ${what}`, mend: instead };
    }),
  ];
}

async function readConfiguration({ context }: RelayRun): Promise<{ config?: Config; found: Finding[] }> {
  const { loadConfig } = await import("../../config/load-config.ts");
  const check = "configuration";
  try {
    const config = loadConfig({ env: context.env, cwd: context.cwd });
    return { config, found: describeConfiguration(config) };
  } catch (error) {
    if (!(error instanceof ConfigError)) return { found: [toFinding(check, error)] };
    return {
      found: error.problems.map(({ where, path, message, instead }) => ({
        check,
        verdict: "problem",
        detail: `${where}: ${path === undefined || path === where ? message : `${path}: ${message}`}`,
        mend: instead,
      })),
    };
  }
}

export function formatFinding({ check, verdict, detail, mend }: Finding, output: Output): string {
  const head = terminalText(check);
  const words = hangText(`${head}: ${terminalText(detail)}`, output.width, 2);
  const line = `${symbolOf(verdict, output)} ${words.replace(head, () => output.style("bold", head))}\n`;
  return mend === undefined ? line : `${line}    → ${hangText(terminalText(output.asTyped(mend)), output.width, 6)}\n`;
}

function symbolOf(verdict: Verdict, { style }: Output): string {
  switch (verdict) {
    case "ok":
      return style("green", "✓");
    case "problem":
      return style("red", "✗");
    case "warning":
      return style("yellow", "!");
    case "skipped":
      return style("dim", "–");
    default:
      return verdict satisfies never;
  }
}

function summarize({ problems, warnings }: { problems: number; warnings: number }, { style }: Output): string {
  if (problems > 0) return style("red", `${countOf(problems, "problem")}, ${countOf(warnings, "warning")}.`);
  return warnings > 0
    ? style("yellow", `No problem, ${countOf(warnings, "warning")}.`)
    : style("green", "All is well.");
}

const least = { major: 20, minor: 19 };

/** `engines` in package.json says the same. */
function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isEnough = major > least.major || (major === least.major && minor >= least.minor);
  if (isEnough) return { check: "Node", verdict: "ok", detail: version };
  return {
    check: "Node",
    verdict: "problem",
    detail: `${version} is older than ${least.major}.${least.minor}`,
    mend: "install a current long-term release of Node",
  };
}
