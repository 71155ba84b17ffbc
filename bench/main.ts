/** `npm run bench`: measures Tocsin and its peers on this machine. docs/measurements.md explains the figures. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Bench, compare, type Report, tellFailure } from "./harness/bench.ts";
import { startDriver } from "./harness/drive.ts";
import { describeMachine, memoryFileSystemOf, syncCost } from "./harness/machine.ts";
import { canPin, cleanUp, stepAside } from "./harness/processes.ts";
import { say } from "./harness/progress.ts";
import { mergeRuns, type Run, replaceTable, showReport, toMarkdown } from "./harness/report.ts";
import { spreadOf } from "./harness/statistics.ts";
import { within } from "./harness/within.ts";
import { scenarios } from "./scenarios/index.ts";

const documentPath = "docs/measurements.md";

const help = `npm run bench -- [options]

Measures Tocsin beside its peers, in turn, prints one table and writes it to ${documentPath}. The server has one
core and everything else another; the machine should do nothing else meanwhile. Some twenty minutes with --rounds 2.

  --only NAMES    of these, with commas between them; docs/measurements.md stays
  --rounds N      rounds of each row; default 3
  --json FILE     writes the figures, too
  --from FILES    measures nothing: writes what these files of --json hold, with commas between them, to
                  ${documentPath}; of a row that several have, the last
  --against DIR   measures another built checkout of Tocsin in turn; docs/measurements.md stays
  --floor FILE    a program that does the least a durable relay has to, measured next to relaying to a webhook
  --folder DIR    where data is written meanwhile; it has to be a disk. Default: this checkout
  --cache DIR     keeps the log of a million alerts there for the next run
  --help

${scenarios.map(({ name, what }) => `  ${name.padEnd(18)}${what}`).join("\n")}

What fails is marked and leaves the others their figures; the exit code is 1 then.

  npm run bench -- --only relay-webhook --rounds 1
  npm run bench -- --json all.json; npm run bench -- --only growth --json growth.json
  npm run bench -- --from all.json,growth.json
`;

/** @throws with the mistake and the correct form */
function readOptions() {
  const text = { type: "string" } as const;
  const options = {
    only: text,
    rounds: text,
    json: text,
    from: text,
    against: text,
    floor: text,
    folder: text,
    cache: text,
  };
  const { values } = parseArgs({ options });
  const { folder = ".", against } = values;
  const rounds = Number(values.rounds ?? 3);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds ${values.rounds} is no number from 1 on`);
  const known = scenarios.map(({ name }) => name);
  const only = values.only?.split(",");
  const unknown = only?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0) throw new Error(`--only: ${unknown.join(", ")} is none of ${known.join(", ")}`);
  if (process.platform !== "linux") throw new Error("the bench reads /proc: it runs on Linux alone");
  const checkouts: Bench["checkouts"] = [
    { name: "Tocsin", folder: "." },
    ...(against === undefined ? [] : [{ name: `Tocsin in ${against}`, folder: against }]),
  ];
  for (const path of [folder, ...(values.floor === undefined ? [] : [values.floor])])
    if (!existsSync(path)) throw new Error(`there is no ${path}`);
  for (const checkout of checkouts)
    if (!existsSync(join(checkout.folder, "dist/main.js")))
      throw new Error(`${resolve(checkout.folder)} is not built: run \`npm run build\` there`);
  const kind = memoryFileSystemOf(folder);
  if (kind !== undefined)
    throw new Error(
      `${resolve(folder)} is on a ${kind}, where a sync costs nothing: name a folder on a disk with --folder`,
    );
  return { ...values, folder, rounds, checkouts, chosen: scenarios.filter(({ name }) => only?.includes(name) ?? true) };
}

async function run(options: ReturnType<typeof readOptions>): Promise<boolean> {
  const { rounds, chosen, against, checkouts } = options;
  const startedAt = new Date();
  const report: Report = { rows: [], notes: [], errors: [], failures: [] };
  const sync = spreadOf(Array.from({ length: 5 }, () => syncCost(options.folder).p50));
  const machine = describeMachine();
  if (!canPin) {
    const text = "taskset is missing or there is one core only: server and load share what there is";
    report.notes.push({ scenario: "", text });
  }
  stepAside();
  const driver = startDriver();
  for (const { name, what, run } of chosen) {
    say(`${name}: ${what}`);
    const bench: Bench = {
      rounds,
      driver,
      root: resolve(options.folder),
      cache: options.cache,
      floor: options.floor && resolve(options.floor),
      checkouts,
      compare: (comparison) => compare(report, name, { rounds, ...comparison }),
    };
    try {
      // Each run in a scenario has its own limit too.
      await within(1_200, () => run(bench));
    } catch (error) {
      tellFailure(report, name, name, error);
    }
  }
  await driver.end();
  const seconds = (Date.now() - startedAt.getTime()) / 1000;
  const ran = chosen.map(({ name }) => name);
  const result: Run = { machine, sync, startedAt: startedAt.toISOString(), seconds, rounds, scenarios: ran, report };
  console.log(showReport(result));
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`);
  if (options.only === undefined && against === undefined) writeDocument(result);
  return report.errors.length + report.failures.length === 0;
}

function writeDocument(run: Run): void {
  writeFileSync(documentPath, replaceTable(readFileSync(documentPath, "utf8"), toMarkdown(run)));
}

/** @returns whether all measurements finished, and nothing was lost */
function combine(files: string): boolean {
  const [first, ...later] = files.split(",").map((file) => JSON.parse(readFileSync(file, "utf8")) as Run);
  if (first === undefined) return false;
  const combined = mergeRuns(
    [first, ...later],
    scenarios.map(({ name }) => name),
  );
  console.log(showReport(combined));
  writeDocument(combined);
  return combined.report.errors.length + combined.report.failures.length === 0;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    cleanUp();
    process.exit(130);
  });
}

if (process.argv.includes("--help")) {
  console.log(help);
} else {
  try {
    const options = readOptions();
    const isWell = options.from === undefined ? await run(options) : combine(options.from);
    if (!isWell) process.exitCode = 1;
  } catch (error) {
    console.error(`error: ${(error as Error).message}`);
    process.exitCode = 2;
  } finally {
    cleanUp();
  }
}
