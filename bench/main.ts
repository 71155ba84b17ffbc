/** `npm run bench`: measures Tocsin and its peers on this machine. docs/measurements.md explains the figures. */
import { existsSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { runScenario, say } from "./harness/bench.ts";
import { describeMachine, syncCost } from "./harness/machine.ts";
import { cleanUp, inFolder, moveTo } from "./harness/processes.ts";
import { faultsOf, mergeRuns, type Report, type Run, replaceTable, showReport } from "./harness/report.ts";
import { spreadOf } from "./harness/statistics.ts";
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
  --help

${scenarios.map(({ name, what }) => `  ${name.padEnd(18)}${what}`).join("\n")}

What fails is marked and leaves the others their figures; the exit code is 1 then.
`;

const names = scenarios.map(({ name }) => name);
/** In memory a sync costs nothing, so figures would be too good: tmpfs and ramfs. */
const memoryFileSystems = [0x01021994, 0x858458f6];

/** @throws with the mistake and the correct form */
function readOptions() {
  const text = { type: "string" } as const;
  const options = { only: text, json: text, from: text, against: text, floor: text };
  const usual = { type: "string", default: "3" } as const;
  const { values } = parseArgs({ options: { ...options, rounds: usual, help: { type: "boolean" } } });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds ${values.rounds} is no number from 1 on`);
  const only = values.only?.split(",");
  const unknown = only?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length > 0) throw new Error(`--only: ${unknown.join(", ")} is none of ${names.join(", ")}`);
  return { ...values, rounds, chosen: scenarios.filter(({ name }) => only?.includes(name) ?? true) };
}

/** @throws with what is missing */
async function measure({ rounds, chosen, against, floor }: ReturnType<typeof readOptions>): Promise<Run> {
  if (memoryFileSystems.includes(statfsSync(".").type))
    throw new Error(`${resolve(".")} is in memory, where a sync costs nothing: the bench needs a checkout on a disk`);
  const other = against === undefined ? [] : [{ name: `Tocsin in ${against}`, folder: against }];
  const checkouts = [{ name: "Tocsin", folder: "." }, ...other];
  const unbuilt = checkouts.find(({ folder }) => !existsSync(join(folder, "dist/main.js")));
  if (unbuilt) throw new Error(`${resolve(unbuilt.folder)} is not built: run \`npm run build\` there`);
  if (floor !== undefined && !existsSync(floor)) throw new Error(`there is no ${floor}`);
  const startedAt = new Date();
  const machine = describeMachine();
  // This needs Linux, taskset and two cores.
  moveTo("beside");
  const sync = spreadOf(await inFolder((folder) => Array.from({ length: 5 }, () => syncCost(folder).p50)));
  const report: Report = { rows: [], notes: [], errors: [], failures: [] };
  for (const scenario of chosen) {
    say(`${scenario.name}: ${scenario.what}`);
    await runScenario(report, scenario, { rounds, checkouts, floor: floor && resolve(floor) });
  }
  const seconds = (Date.now() - startedAt.getTime()) / 1000;
  const ran = chosen.map(({ name }) => name);
  return { machine, sync, startedAt: startedAt.toISOString(), seconds, rounds, scenarios: ran, report };
}

process.on("exit", cleanUp);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(130));

try {
  const options = readOptions();
  if (options.help) {
    console.log(help);
    process.exit();
  }
  const runs = options.from?.split(",").map((file) => JSON.parse(readFileSync(file, "utf8")) as Run);
  const run = runs ? mergeRuns(runs, names) : await measure(options);
  console.log(showReport(run));
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(run, null, 2)}\n`);
  if (options.only === undefined && options.against === undefined)
    writeFileSync(documentPath, replaceTable(readFileSync(documentPath, "utf8"), run));
  if (faultsOf(run).length > 0) process.exitCode = 1;
} catch (error) {
  console.error(`error: ${(error as Error).message}`);
  process.exitCode = 2;
}
