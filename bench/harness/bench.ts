import type { Driver } from "./drive.ts";
import { stealSince, stolenSoFar } from "./machine.ts";
import { createFolder, removeFolder } from "./processes.ts";
import { say } from "./progress.ts";
import { type Spread, showSpread, spreadOf } from "./statistics.ts";
import { within } from "./within.ts";

export type Sample = Record<string, number>;

export interface Contender {
  name: string;
  run(): Promise<Sample>;
}

export interface Figure {
  /** The figure's name in the samples. */
  of: string;
  /** The figure in the table, after the title: `alerts/s`. */
  label: string;
  unit?: string;
  aim?: string;
}

export interface Comparison {
  title: string;
  /** Tocsin first. Each round runs all of them in turn. */
  contenders: Contender[];
  figures: Figure[];
  /** Default: the number in the command line. */
  rounds?: number;
  note?: string;
  /** Seconds until a run counts as failed. Default 120. */
  limit?: number;
}

export interface Row {
  scenario: string;
  title: string;
  label: string;
  unit: string;
  aim: string;
  subject: Spread;
  /** Rounds in which Tocsin's run failed. They have no figures. */
  failed: number;
  /** `ratio`: Tocsin's figure divided by the other's, of the same round. */
  beside: { name: string; spread: Spread; ratio: Spread }[];
  /** The share of time in which the machine's host gave the processors to others. */
  steal: number;
}

export interface Scenario {
  name: string;
  what: string;
  run(bench: Bench): Promise<void>;
}

export interface Checkout {
  name: string;
  folder: string;
}

export interface Bench {
  rounds: number;
  /** The measured, built checkouts, this one first. `name` is in the table. */
  checkouts: [Checkout, ...Checkout[]];
  driver: Driver;
  /** The parent of data folders. */
  root: string;
  /** The folder for logs that are kept. Default: none is kept. */
  cache?: string;
  /** A program that does only the least that a durable relay must do. Default: none is measured. */
  floor?: string;
  compare(comparison: Comparison): Promise<void>;
}

export interface Remark {
  /** A later run of this scenario replaces its rows and remarks. */
  scenario: string;
  text: string;
}

export interface Report {
  rows: Row[];
  notes: Remark[];
  /** Faults of Tocsin: alerts that were lost, doubled or answered wrongly. */
  errors: Remark[];
  failures: Remark[];
}

/** Runs with a new folder on the disk, which is removed afterwards. */
export async function inFolder<T>({ root }: Pick<Bench, "root">, run: (folder: string) => Promise<T>): Promise<T> {
  const folder = createFolder(root);
  try {
    return await run(folder);
  } finally {
    removeFolder(folder);
  }
}

/** Runs the contenders in turn, so a slower machine slows all. A failed run is named in the report. */
export async function compare(
  report: Report,
  scenario: string,
  comparison: Comparison & { rounds: number },
): Promise<void> {
  const { title, contenders, figures, rounds, limit = 120 } = comparison;
  const samples = contenders.map((): (Sample | undefined)[] => []);
  const seconds = contenders.map(() => 0);
  const before = stolenSoFar();
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { name, run }] of contenders.entries()) {
      const where = `${title}, ${name}, round ${round + 1}`;
      const startedAt = performance.now();
      try {
        const sample = await within(limit, run);
        (samples[index] ?? [])[round] = sample;
        judge(report, scenario, where, sample, index === 0);
      } catch (error) {
        tellFailure(report, scenario, where, error);
      }
      seconds[index] = (seconds[index] ?? 0) + (performance.now() - startedAt) / 1000;
    }
  }
  const steal = stealSince(before);
  say(`  ${title}: ${contenders.map(({ name }, index) => `${name} ${seconds[index]?.toFixed(1)} s`).join(", ")}`);
  const [subject = [], ...others] = samples;
  const failed = rounds - Object.keys(subject).length;
  for (const { of, label, unit = "", aim = "" } of figures) {
    const figureOf = (each: (Sample | undefined)[], round: number) => each[round]?.[of] ?? Number.NaN;
    const figure = (each: (Sample | undefined)[]) =>
      Array.from({ length: rounds }, (_, round) => figureOf(each, round));
    if (failed < rounds && !figure(subject).some(Number.isFinite)) continue;
    const beside = others.flatMap((each, index) => {
      if (!figure(each).some(Number.isFinite)) return [];
      const ratios = figure(subject).map((value, round) => value / figureOf(each, round));
      return [{ name: contenders[index + 1]?.name ?? "", spread: spreadOf(figure(each)), ratio: spreadOf(ratios) }];
    });
    const row = {
      scenario,
      title,
      label,
      unit,
      aim,
      subject: spreadOf(figure(subject)),
      failed,
      beside,
      steal,
    };
    report.rows.push(row);
    say(`    ${describe(row)}`);
  }
  if (comparison.note !== undefined) report.notes.push({ scenario, text: `${title}: ${comparison.note}` });
}

export function tellFailure({ failures }: Report, scenario: string, where: string, error: unknown): void {
  const [why = ""] = (error as Error).message.split("\n");
  failures.push({ scenario, text: `${where}: ${why}` });
  say(`  FAILED: ${where}: ${(error as Error).stack}`);
}

function describe({ title, label, unit, subject, beside }: Row): string {
  const peers = beside.map(
    ({ name, spread, ratio }) => ` | ${name} ${showSpread(spread, unit)} | ratio ${showSpread(ratio)}`,
  );
  return `${title}, ${label}: ${showSpread(subject, unit)}${peers.join("")}`;
}

const faults = { missing: "lost", doubled: "doubled", unexpected: "answered with neither 202 nor 503" };

function judge({ errors, notes }: Report, scenario: string, where: string, sample: Sample, isTocsin: boolean): void {
  const note = (text: string) => notes.push({ scenario, text: `${where}: ${text}` });
  for (const [name, words] of Object.entries(faults)) {
    const count = sample[name] ?? 0;
    // Below 0 the store holds more than was answered 202, such as an alert whose answer was cut off.
    if (count <= 0) continue;
    const text = `${where}: ${count} alerts ${words}`;
    (isTocsin ? errors : notes).push({ scenario, text });
    say(`  ${isTocsin ? "ERROR: " : ""}${text}`);
  }
  if ((sample.loadBusy ?? 0) > 0.9) note("the load was at its limit, so the server may bear more");
  if ((sample.refused ?? 0) > 0) note(`${sample.refused} alerts answered 503, not counted as accepted`);
}
