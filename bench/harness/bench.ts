import { watchSteal } from "./machine.ts";
import { killAll } from "./processes.ts";
import { cellsOf, type Report } from "./report.ts";
import { spreadOf } from "./statistics.ts";

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

export interface Scenario {
  name: string;
  what: string;
  run(bench: Bench): Promise<void>;
}

export interface Bench {
  rounds: number;
  /** The measured, built checkouts, this one first. `name` is in the table. */
  checkouts: { name: string; folder: string }[];
  /** A program that does only the least that a durable relay must do. Default: none is measured. */
  floor?: string;
  compare(comparison: Comparison): Promise<void>;
}

/** Prints progress with the time since the start of the command (`3:07`). */
export function say(text: string): void {
  const seconds = Math.floor(performance.now() / 1000);
  console.error(`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} ${text}`);
}

/** After the time, or a failure, all processes are killed, so each wait ends with an error. @throws that error */
async function within<T>(seconds: number, run: () => Promise<T>): Promise<T> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killAll();
  }, 1000 * seconds);
  try {
    return await run();
  } catch (error) {
    killAll();
    throw isLate ? new Error(`not done in ${seconds} s`) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** A failure is named in the report. */
export async function runScenario(report: Report, { name, run }: Scenario, bench: Omit<Bench, "compare">) {
  const compare = (comparison: Comparison) => compareIn(report, name, { rounds: bench.rounds, ...comparison });
  try {
    // Each run in a scenario has its own limit too.
    await within(1_200, () => run({ ...bench, compare }));
  } catch (error) {
    tellFailure(report, name, name, error);
  }
}

/** Runs the contenders in turn, so a slower machine slows all. A failed run is named in the report. */
async function compareIn(report: Report, scenario: string, comparison: Comparison & { rounds: number }): Promise<void> {
  const { title, contenders, figures, rounds, limit = 120, note } = comparison;
  const results = contenders.map((contender) => ({ ...contender, samples: new Array<Sample>(rounds).fill({}) }));
  const [subject, ...others] = results;
  let failed = 0;
  const stealSoFar = watchSteal();
  for (let round = 0; round < rounds; round += 1) {
    for (const result of results) {
      const where = `${title}, ${result.name}, round ${round + 1}`;
      try {
        const sample = await within(limit, result.run);
        result.samples[round] = sample;
        judge(report, scenario, where, sample, result === subject);
      } catch (error) {
        if (result === subject) failed += 1;
        tellFailure(report, scenario, where, error);
      }
    }
  }
  const steal = stealSoFar();
  for (const { of, label, unit = "", aim = "" } of figures) {
    const valuesOf = (samples: Sample[] = []) => samples.map((sample) => sample[of] ?? Number.NaN);
    const own = valuesOf(subject?.samples);
    if (failed < rounds && !own.some(Number.isFinite)) continue;
    const beside = others.flatMap(({ name, samples }) => {
      const values = valuesOf(samples);
      if (!values.some(Number.isFinite)) return [];
      const ratios = own.map((value, round) => value / (values[round] ?? Number.NaN));
      return [{ name, spread: spreadOf(values), ratio: spreadOf(ratios) }];
    });
    const row = { scenario, title, label, unit, aim, subject: spreadOf(own), failed, beside, steal };
    report.rows.push(row);
    say(`  ${cellsOf(row).join(" | ")}`);
  }
  if (note !== undefined) report.notes.push({ scenario, text: `${title}: ${note}` });
}

function tellFailure({ failures }: Report, scenario: string, where: string, error: unknown): void {
  const [why = ""] = (error as Error).message.split("\n");
  failures.push({ scenario, text: `${where}: ${why}` });
  say(`  FAILED: ${where}: ${(error as Error).stack}`);
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
