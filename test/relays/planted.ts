import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type KillJourneyOptions, runKillJourney } from "./kill-journey.ts";

/** A bug in a copy of the built program, which the journey has to find. */
interface PlantedBug {
  name: string;
  file: string;
  from: string;
  to: string;
  /** In which it shows. */
  faults: NonNullable<KillJourneyOptions["faults"]>;
  seconds: number;
}

const bugs: PlantedBug[] = [
  {
    name: "no fence in the write",
    file: "dist/store/transactions/lanes.js",
    from: "EXISTS (SELECT 1 FROM lanes WHERE lane_group = :group AND fence = :fence",
    to: "EXISTS (SELECT 1 FROM lanes WHERE lane_group = :group AND :fence IS NOT NULL",
    faults: ["writeLate"],
    seconds: 25,
  },
  {
    name: "the lease is ignored",
    file: "dist/core/ports/lanes.js",
    from: "return { leftMs, isOver: () => leftMs() === 0 };",
    to: "return { leftMs: () => Number.POSITIVE_INFINITY, isOver: () => false };",
    faults: ["freezeBetweenParts"],
    seconds: 25,
  },
  {
    name: "keys are not unique",
    file: "dist/store/transactions/name-lock.js",
    from: "SELECT pg_advisory_xact_lock(hash)",
    to: "SELECT hash",
    faults: [],
    seconds: 12,
  },
];

/** What runs, and what its bundle is made of. */
const copied = ["bin", "dist", "package.json", "tsconfig.json", "scripts", "src", "workshop"];

export interface PlantedOptions {
  seed: number;
  perSecond: number;
  /** Of those alone whose name has this in it. */
  only?: string;
}

/** True when each of them is found. */
export async function runPlanted({ seed, perSecond, only = "" }: PlantedOptions): Promise<boolean> {
  let missed = 0;
  for (const { name, file, from, to, faults, seconds } of bugs.filter((bug) => bug.name.includes(only))) {
    const folder = mkdtempSync(join(tmpdir(), "tocsin-planted-"));
    try {
      for (const part of copied) cpSync(part, join(folder, part), { recursive: true });
      symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
      const path = join(folder, file);
      const code = readFileSync(path, "utf8");
      if (!code.includes(from)) throw new Error(`${file} has changed: the bug "${name}" cannot be planted`);
      writeFileSync(path, code.replaceAll(from, to));
      const built = spawnSync(process.execPath, ["scripts/bundle.mjs"], { cwd: folder, stdio: "inherit" });
      if (built.status !== 0) throw new Error(`the bundle with the bug "${name}" was not built`);
      const bin = join(folder, "bin/tocsin.js");
      const { findings } = await runKillJourney({ seed, seconds, perSecond, faults, bin });
      console.log(findings.length === 0 ? `MISSED ${name}` : `found  ${name}: ${findings[0]}`);
      if (findings.length === 0) missed += 1;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return missed === 0;
}
