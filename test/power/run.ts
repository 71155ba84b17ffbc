// `npm run test:power`: cuts the power at many points of recordings of the relay at work, and opens what is left.
// --points N (default 1200), --seed N, --load NAME (default: all of them); --point K replays one point of the last
// recordings, or of that in --recording FOLDER, which a failing test has kept, and keeps its image.
import { existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Load, loads, recordLoad } from "./loads.ts";
import { plantedFaults } from "./planted-faults.ts";
import { beginWith, type Finding, loadRecording, type Recording, replay } from "./replay.ts";

const text = { type: "string" } as const;
const options = { points: { ...text, default: "1200" }, seed: text, load: text, point: text, recording: text };
const { values } = parseArgs({ options });
const kept = resolve(".tmp/power");
const seed = Number(values.seed ?? Date.now() % 1_000_000);
if (values.load !== undefined && !loads.some(({ name }) => name === values.load))
  throw new Error(`--load ${values.load} is none of ${loads.map(({ name }) => name).join(", ")}`);
const folderOf = (name: string) => join(kept, name);

if (values.point === undefined) process.exitCode = await runAll(Number(values.points));
else process.exitCode = await runOne(Number(values.point));

async function runAll(count: number): Promise<number> {
  let failures = 0;
  const missed = new Set(plantedFaults.map(({ name }) => name));
  const planted = new Set<string>();
  for (const [index, load] of loads.entries()) {
    if (values.load !== undefined && values.load !== load.name) continue;
    const recording = await record(load);
    const all = Array.from({ length: count }, (_, number) => ({ number, seed }));
    const points = all.filter(({ number }) => number % loads.length === index);
    const findings = await replay(recording, points);
    failures += findings.length;
    console.log(`${load.name}: ${describe(recording)}; ${points.length} points, ${findings.length} of them wrong`);
    report(findings);
    for (const { name, plant } of plantedFaults) {
      if (!missed.has(name)) continue;
      const faulty = plant(recording);
      if (faulty === undefined) continue;
      planted.add(name);
      const found = await replay(faulty, points.slice(0, 40), { stopAtFirst: true });
      if (found.length > 0) missed.delete(name);
    }
  }
  for (const { name } of plantedFaults) {
    // One load alone may have nothing that a fault could be planted in; all of them together may not.
    if (values.load !== undefined && !planted.has(name)) missed.delete(name);
    const verdict = planted.has(name) ? "found  planted" : "nothing to plant it in";
    console.log(`${missed.has(name) ? "MISSED planted" : verdict}: ${name}`);
  }
  return failures === 0 && missed.size === 0 ? 0 : 1;
}

async function record(load: Load): Promise<Recording> {
  const folder = folderOf(load.name);
  rmSync(folder, { recursive: true, force: true });
  if (load.after !== undefined) beginWith(await loadRecording(folderOf(load.after)), seed, folder);
  await recordLoad(load, folder, seed);
  return loadRecording(folder);
}

async function runOne(number: number): Promise<number> {
  const { name } = loads[number % loads.length] as (typeof loads)[number];
  const folder = values.recording ?? folderOf(name);
  if (!existsSync(folder)) throw new Error("there is no recording: run `npm run test:power` first");
  const image = join(kept, "image");
  rmSync(image, { recursive: true, force: true });
  const findings = await replay(await loadRecording(folder), [{ number, seed }], { keep: image });
  console.log(
    `point ${number} of ${values.recording ?? name}: ${findings.length === 0 ? "nothing is wrong" : ""}; opened in ${image}`,
  );
  report(findings);
  return findings.length === 0 ? 0 : 1;
}

function describe({ calls, promises }: Recording): string {
  const count = (kind: string) => calls.filter((call) => call.kind === kind).length;
  const told = `${promises.accepted.length} answers 202, ${promises.calls.length} calls`;
  return `${count("write")} writes, ${count("sync")} syncs, ${told}`;
}

function report(findings: Finding[]): void {
  for (const { point, place, wrong } of findings.slice(0, 20)) {
    console.log(`  point ${point.number} at ${place}: ${wrong.slice(0, 3).join("; ")}`);
    console.log(`    npm run test:power -- --seed ${point.seed} --point ${point.number}`);
  }
}
