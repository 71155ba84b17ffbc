import type { describeMachine } from "./machine.ts";
import { type Spread, showSpread } from "./statistics.ts";

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

interface Remark {
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

export interface Run {
  machine: ReturnType<typeof describeMachine>;
  sync: Spread;
  startedAt: string;
  seconds: number;
  rounds: number;
  scenarios: string[];
  report: Report;
  /** Runs of single scenarios that replace or complete the figures. */
  repeats?: Run[];
}

/**
 * A scenario's rows and remarks are from its last run.
 * @param order names of all scenarios, in the order of the table
 */
export function mergeRuns(runs: Run[], order: string[]): Run {
  const [first, ...later] = runs as [Run, ...Run[]];
  const gather = <Kind extends keyof Report>(kind: Kind) =>
    order.flatMap((scenario) => {
      const last = runs.findLast(({ scenarios }) => scenarios.includes(scenario));
      const all: (Row | Remark)[] = last?.report[kind] ?? [];
      return all.filter((one) => one.scenario === scenario);
    }) as Report[Kind];
  return {
    ...first,
    seconds: runs.reduce((sum, { seconds }) => sum + seconds, 0),
    report: { rows: gather("rows"), notes: gather("notes"), errors: gather("errors"), failures: gather("failures") },
    repeats: later,
  };
}

/** A row with a larger steal is marked: others used the machine meanwhile. */
const muchSteal = 0.02;

const columns = ["what", "figure", "Tocsin", "next to it (ratio)", "aim"];

export function cellsOf(row: Row, show = showSpread): string[] {
  const { title, label, unit, subject, failed, beside, aim, steal } = row;
  const stolen = steal > muchSteal ? ` (steal ${(100 * steal).toFixed(0)} %!)` : "";
  const missing = failed > 0 ? ` (${failed} round${failed === 1 ? "" : "s"} FAILED)` : "";
  const others = beside.map(({ name, spread, ratio }) => `${name} ${show(spread, unit)} (${show(ratio)})`);
  return [title, label, show(subject, unit) + stolen + missing, others.join("; "), aim];
}

const showTime = (iso: string) => `${iso.slice(0, 16).replace("T", " ")} UTC`;

function describeRun({ machine, sync, startedAt, seconds, rounds, repeats = [] }: Run): string[] {
  const { processor, cores, memoryGb, load, kernel, node, tocsin, commit, alertmanager } = machine;
  return [
    `${showTime(startedAt)}, ${Math.round(seconds / 60)} min, ${rounds} rounds; Tocsin ${tocsin} at ${commit}`,
    `${processor}, ${cores} cores, ${memoryGb} GB, Linux ${kernel}, Node ${node}; a write ` +
      `of 4 KiB with its sync: ${showSpread(sync, "ms")}; load before: ${load.toFixed(1)}`,
    alertmanager === ""
      ? "Alertmanager is not installed: sudo apt-get install --no-install-recommends prometheus-alertmanager"
      : `Alertmanager ${alertmanager}, which keeps alerts in memory and stores nothing before its answer`,
    ...repeats.map(
      (run) =>
        `by ${run.scenarios.length === 1 ? "itself" : "themselves"}: ${run.scenarios.join(", ")}, ${showTime(run.startedAt)}, ` +
        `${run.rounds} rounds, at ${run.machine.commit}, load before: ${run.machine.load.toFixed(1)}`,
    ),
  ];
}

export function faultsOf({ report: { errors, failures } }: Run): string[] {
  return [...errors.map(({ text }) => `ERROR: ${text}`), ...failures.map(({ text }) => `FAILED: ${text}`)];
}

/** All figures, with least and most. */
export const showReport = (run: Run) => toMarkdown(run, run.report.rows, showSpread);

const showMedian = ({ median }: Spread, unit = "") => showSpread({ median, least: median, most: median }, unit);

/**
 * The table of `docs/measurements.md`: medians of figures with an aim, only for the largest log. The runs' own files
 * have the others, with least and most.
 */
function showAims(run: Run): string {
  const hasSize = ({ title }: Row) => title.endsWith(" stored alerts");
  const largest = run.report.rows.findLast(hasSize)?.title;
  const rows = run.report.rows.filter((row) => row.aim !== "" && (!hasSize(row) || row.title === largest));
  return toMarkdown(run, rows, showMedian);
}

function toMarkdown(run: Run, rows: Row[], show: typeof showSpread): string {
  const cells = rows.map((row, index) => {
    const [title = "", ...rest] = cellsOf(row, show);
    return [title === rows[index - 1]?.title ? "" : title, ...rest];
  });
  const remarks = [...run.report.notes.map(({ text }) => text), ...faultsOf(run).map((text) => `**${text}**`)];
  const listed = (lines: string[]) => lines.map((text) => `- ${text}`);
  const table = [columns, columns.map(() => "---"), ...cells].map((line) => `| ${line.join(" | ")} |`);
  return [...listed(describeRun(run)), "", ...table, "", ...listed(remarks)].join("\n");
}

/** The text around the table stays. @throws when the document has no place for a table */
export function replaceTable(document: string, run: Run): string {
  const place = /(?<=<!-- npm run bench writes from here -->\n).*(?=<!-- to here -->)/s;
  if (!place.test(document)) throw new Error(`the document has no place for the table: ${place}`);
  return document.replace(place, () => `${showAims(run)}\n`);
}
