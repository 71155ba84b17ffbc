/**
 * `npm run bench:relays`: what one to three relays on one PostgreSQL bear, beside one on SQLite and beside graphile-worker on the
 * same server. `--help` says the rest; docs/measurements.md says how to read it.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { compare, type Report, tellFailure } from "./harness/bench.ts";
import { startDriver } from "./harness/drive.ts";
import { describeMachine, memoryFileSystemOf, syncCost } from "./harness/machine.ts";
import { cleanUp } from "./harness/processes.ts";
import { type Run, replaceTable, showReport, toMarkdown } from "./harness/report.ts";
import { spreadOf } from "./harness/statistics.ts";
import { relays } from "./scenarios/relays.ts";

const documentPath = "docs/measurements.md";
/** Not where `npm run bench` has its own, which it takes all together. */
const runsFolder = "bench/runs/relays";

const help = `npm run bench:relays -- [options]

Starts a PostgreSQL of its own, measures one, two and three relays on it beside one on SQLite and beside as many processes of
graphile-worker, in turn, prints one table, writes it to ${documentPath} and the figures to a file of ${runsFolder}.
All share all cores, the load among them; the machine should do nothing else meanwhile. Some five minutes a round.

  --quick         one relay, once, for a moment: shows that it runs; nothing is written
  --rounds N      rounds of each row; default 3
  --json FILE     where the figures are written. Default: a new file of ${runsFolder}
  --from FILE     measures nothing: writes what this file of figures holds to ${documentPath}
  --against DIR   measures another built checkout of Tocsin in turn; ${documentPath} stays, figures go to --json alone
  --folder DIR    where data is written meanwhile; it has to be a disk. Default: this checkout
  --help

  npm run bench:relays -- --rounds 5
  npm run bench:relays -- --from ${runsFolder}/2026-11-24T0210.json
`;

/** @throws with what is wrong and what to write instead */
function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      json: { type: "string" },
      from: { type: "string" },
      against: { type: "string" },
      folder: { type: "string", default: "." },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds ${values.rounds} is no number from 1 on`);
  if (process.platform !== "linux") throw new Error("the bench reads /proc: it runs on Linux alone");
  if (!existsSync(values.folder)) throw new Error(`there is no folder ${values.folder}`);
  for (const checkout of [".", ...(values.against === undefined ? [] : [values.against])])
    if (!existsSync(join(checkout, "dist/main.js")))
      throw new Error(`${resolve(checkout)} is not built: run \`npm run build\` there`);
  const kind = memoryFileSystemOf(values.folder);
  if (kind !== undefined && !values.quick)
    throw new Error(`${resolve(values.folder)} is on a ${kind}, where a sync costs nothing: name a folder on a disk`);
  return { ...values, rounds };
}

async function run({ quick, rounds, folder, against, ...options }: ReturnType<typeof readOptions>): Promise<boolean> {
  const startedAt = new Date();
  const report: Report = { rows: [], notes: [], errors: [], failures: [] };
  const sync = spreadOf(Array.from({ length: 5 }, () => syncCost(folder).p50));
  const machine = { ...describeMachine(), alertmanager: undefined };
  const driver = startDriver("anywhere");
  const { name } = relays;
  try {
    await relays.run({
      rounds,
      quick,
      driver,
      root: resolve(folder),
      checkouts: [
        { name: "Tocsin", folder: "." },
        ...(against === undefined ? [] : [{ name: `Tocsin in ${against}`, folder: against }]),
      ],
      compare: (comparison) => compare(report, name, { rounds, ...comparison }),
    });
  } catch (error) {
    tellFailure(report, name, name, error);
  }
  await driver.end();
  const seconds = (Date.now() - startedAt.getTime()) / 1000;
  const result: Run = {
    machine,
    sync,
    startedAt: startedAt.toISOString(),
    seconds,
    rounds,
    scenarios: [name],
    report,
  };
  console.log(showReport(result));
  const isKept = !quick && against === undefined;
  const json = options.json ?? (isKept ? join(runsFolder, nameOf(startedAt)) : undefined);
  if (json !== undefined) {
    mkdirSync(dirname(json), { recursive: true });
    writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
  }
  if (isKept) writeDocument(result);
  return report.errors.length + report.failures.length === 0;
}

/** By the minute of UTC. */
const nameOf = (at: Date) => `${at.toISOString().slice(0, 16).replace(":", "")}.json`;

function writeDocument(run: Run): void {
  const document = readFileSync(documentPath, "utf8");
  writeFileSync(documentPath, replaceTable(document, toMarkdown(run), "bench:relays"));
}

async function main(): Promise<void> {
  if (process.argv.includes("--help")) return console.log(help);
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions();
  } catch (error) {
    console.error(`error: ${(error as Error).message}`);
    process.exitCode = 2;
    return;
  }
  if (options.from !== undefined) return writeDocument(JSON.parse(readFileSync(options.from, "utf8")) as Run);
  if (!(await run(options))) process.exitCode = 1;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    cleanUp();
    process.exit(130);
  });
}

try {
  await main();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  cleanUp();
}
