/**
 * `npm run bench`: what Tocsin bears, against its peers in turn, on this machine. `--help` says the rest;
 * docs/measurements.md says how to read it.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Bench, compare, type Report, tellFailure } from "./harness/bench.ts";
import { startDriver } from "./harness/drive.ts";
import { describeMachine, memoryFileSystemOf, syncCost } from "./harness/machine.ts";
import { canPin, cleanUp, stepAside } from "./harness/processes.ts";
import { say } from "./harness/progress.ts";
import { joinRuns, mergeRuns, type Run, replaceTable, showReport, toMarkdown } from "./harness/report.ts";
import { spreadOf } from "./harness/statistics.ts";
import { within } from "./harness/within.ts";
import { scenarios } from "./scenarios/index.ts";

const documentPath = "docs/measurements.md";

/** For all of a quick run. */
const quickSeconds = 100;

const help = `npm run bench -- [options]

Measures Tocsin beside its peers, in turn, prints one table and writes it to ${documentPath}. The server has one
core and everything else another; the machine should do nothing else meanwhile.
About twelve minutes; with --rounds 2 about ten.

  --quick         about a minute: shows that everything runs; the figures mean little, docs/measurements.md stays.
                  What has no time in ${quickSeconds} s is named and left out, which is no failure
  --only NAMES    of these, with commas between them; docs/measurements.md stays
  --rounds N      rounds of each row; default 3
  --json FILE     writes the figures, too
  --from FILES    measures nothing: writes what these files of --json hold, with commas between them, to
                  ${documentPath}; of a row that several have, the last
  --across FILES  measures nothing: as --from, of whole runs at several times; each figure with the least and the most of
                  all of them
  --against DIR   measures another built checkout of Tocsin in turn; docs/measurements.md stays
  --floor FILE    a program that does the least a durable relay has to, measured beside relaying to a webhook
  --folder DIR    where data is written meanwhile; it has to be a disk. Default: this checkout
  --cache DIR     keeps the log of a million alerts there for the next run
  --help

${scenarios.map(({ name, what }) => `  ${name.padEnd(16)}${what}`).join("\n")}

What fails is marked and leaves the others their figures; the exit code is 1 then.

  npm run bench -- --only relay-webhook,latency-webhook --rounds 5
  npm run bench -- --json all.json; npm run bench -- --only growth --json growth.json
  npm run bench -- --from all.json,growth.json
`;

/** @throws with what is wrong and what to write instead */
function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
      json: { type: "string" },
      from: { type: "string" },
      across: { type: "string" },
      against: { type: "string" },
      floor: { type: "string" },
      folder: { type: "string", default: "." },
      cache: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds ${values.rounds} is no number from 1 on`);
  const known = scenarios.map(({ name }) => name);
  const only = values.only?.split(",");
  const unknown = only?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0) throw new Error(`--only: ${unknown.join(", ")} is none of ${known.join(", ")}`);
  if (process.platform !== "linux") throw new Error("the bench reads /proc: it runs on Linux alone");
  const missing = [values.folder, values.against ?? "."].find((folder) => !existsSync(folder));
  if (missing !== undefined) throw new Error(`there is no folder ${missing}`);
  if (values.floor !== undefined && !existsSync(values.floor)) throw new Error(`there is no file ${values.floor}`);
  for (const checkout of [".", ...(values.against === undefined ? [] : [values.against])]) {
    if (existsSync(join(checkout, "dist/main.js"))) continue;
    throw new Error(`${resolve(checkout)} is not built: run \`npm run build\` there`);
  }
  const kind = memoryFileSystemOf(values.folder);
  if (kind !== undefined && !values.quick) {
    const why = "where a sync costs nothing and every figure would be too good";
    throw new Error(`${resolve(values.folder)} is on a ${kind}, ${why}: name a folder on a disk with --folder`);
  }
  return { ...values, rounds, chosen: scenarios.filter(({ name }) => only?.includes(name) ?? true) };
}

async function run(options: ReturnType<typeof readOptions>): Promise<boolean> {
  const { quick, rounds, chosen, against } = options;
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
  const secondsLeft = () => (quick ? quickSeconds - performance.now() / 1000 : Number.POSITIVE_INFINITY);
  for (const { name, what, run } of chosen) {
    say(`${name}: ${what}`);
    const bench: Bench = {
      rounds,
      quick,
      driver,
      root: resolve(options.folder),
      cache: options.cache,
      floor: options.floor && resolve(options.floor),
      checkouts: [
        { name: "Tocsin", folder: "." },
        ...(against === undefined ? [] : [{ name: `Tocsin in ${against}`, folder: against }]),
      ],
      compare: (comparison) => compare(report, name, { rounds, secondsLeft, ...comparison }),
    };
    try {
      // Each run in it has its own limit, too.
      await within(Math.min(1_200, secondsLeft()), () => run(bench));
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
  if (!quick && options.only === undefined && against === undefined) writeDocument(result);
  if (quick) return report.failures.every(({ isLate }) => isLate);
  return report.errors.length + report.failures.length === 0;
}

function writeDocument(run: Run): void {
  writeFileSync(documentPath, replaceTable(readFileSync(documentPath, "utf8"), toMarkdown(run)));
}

/** @returns whether all that was measured came to its end, and nothing was lost */
function combine(files: string, intoOne: (runs: [Run, ...Run[]]) => Run): boolean {
  const [first, ...later] = files.split(",").map((file) => JSON.parse(readFileSync(file, "utf8")) as Run);
  if (first === undefined) return false;
  const combined = intoOne([first, ...later]);
  console.log(showReport(combined));
  writeDocument(combined);
  return combined.report.errors.length + combined.report.failures.length === 0;
}

async function measureOrCombine(options: ReturnType<typeof readOptions>): Promise<boolean> {
  const order = scenarios.map(({ name }) => name);
  if (options.across !== undefined) return combine(options.across, joinRuns);
  if (options.from !== undefined) return combine(options.from, (runs) => mergeRuns(runs, order));
  return run(options);
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
  let options: ReturnType<typeof readOptions> | undefined;
  try {
    options = readOptions();
  } catch (error) {
    console.error(`error: ${(error as Error).message}`);
    process.exitCode = 2;
  }
  try {
    if (options !== undefined) {
      if (!(await measureOrCombine(options))) process.exitCode = 1;
    }
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    cleanUp();
  }
}
