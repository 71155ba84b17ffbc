// `npm run test:relays`: three relays on one PostgreSQL through kills, restarts, hangs and stops, for five minutes.
// --seconds N (default 300), --rate N alerts a second (default 60), --seed N; --faults kill,sever: these alone, in this order
// --rolling N   upgrades all relays N times and rolls them back, from the program of --old REVISION (default HEAD) to this one with a
//               migration more each time, with a sender that never repeats (50 alerts a second unless --rate says else)
import { parseArgs } from "node:util";
import { makeBuilds } from "./builds.ts";
import { type FaultName, faultNames, runKillJourney } from "./kill-journey.ts";
import { runRolling } from "./rolling.ts";
import { inScope } from "./scope.ts";

const text = { type: "string" } as const;
const usual = { seconds: { ...text, default: "300" }, old: { ...text, default: "HEAD" } };
const others = { rate: text, seed: text, faults: text, rolling: text };
const { values } = parseArgs({ options: { ...usual, ...others } });
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const rate = (usual: number) => Number(values.rate ?? usual);
const isWell = await (values.rolling === undefined ? runOnce() : runRounds(Number(values.rolling)));
process.exitCode = isWell ? 0 : 1;

async function runOnce(): Promise<boolean> {
  console.log(`seed ${seed}`);
  const { accepted, arrived, repeats, resumed, faults, findings } = await runKillJourney({
    seed,
    seconds: Number(values.seconds),
    perSecond: rate(60),
    faults: values.faults?.split(",").map(readFault),
    say: console.log,
  });
  const made = Object.entries(faults).map(([name, times]) => `${name} ${times}`);
  console.log(
    `kill journey, seed ${seed}, ${values.seconds} s: ${findings.length === 0 ? "all well" : "NOT WELL"}; ${accepted} alerts answered 202, ${arrived} arrivals, ${repeats} marked as repeats; event stream resumed ${resumed} times; ${made.join(", ")}`,
  );
  return report(findings, `--seconds ${values.seconds} --rate ${rate(60)} --seed ${seed}`);
}

function readFault(name: string): FaultName {
  const fault = faultNames.find((one) => one === name);
  if (fault === undefined) throw new Error(`--faults takes ${faultNames.join(", ")}`);
  return fault;
}

function runRounds(rounds: number): Promise<boolean> {
  return inScope(async (scope) => {
    const builds = makeBuilds(scope, values.old);
    const before = builds.schemas();
    const options = { seed, rounds, perSecond: rate(50), builds, say: console.log };
    const { sent, stopMs, roundMs, findings } = await runRolling(options);
    const about = `${rounds} upgrades of three relays from ${values.old} (schema ${before.old} to ${builds.schemas().new}) and roll-backs`;
    console.log(
      `${about}: ${sent} alerts at ${rate(50)} a second, ${findings.length === 0 ? "none lost, none doubled" : "NOT WELL"}; a round ${describe(roundMs)}; a stop ${describe(stopMs)}`,
    );
    return report(findings, `--rolling ${rounds} --old ${values.old} --rate ${rate(50)} --seed ${seed}`);
  });
}

function report(findings: string[], again: string): boolean {
  for (const line of findings.slice(0, 200)) console.log(line);
  if (findings.length > 0) console.log(`again: npm run test:relays -- ${again}`);
  return findings.length === 0;
}

function describe(list: readonly number[]): string {
  const sorted = list.map(Math.round).sort((a, b) => a - b);
  return `${sorted[0]} to ${sorted.at(-1)} ms, median ${sorted[sorted.length >> 1]}, of ${list.length}`;
}
