import { installHint } from "../servers/alertmanager.ts";
import type { Remark, Report, Row } from "./bench.ts";
import type { Machine } from "./machine.ts";
import { type Spread, showSpread } from "./statistics.ts";

export interface Run {
  machine: Machine;
  sync: Spread;
  startedAt: string;
  seconds: number;
  rounds: number;
  scenarios: string[];
  report: Report;
  /** Runs of single scenarios that replace or complete the figures. */
  repeats?: Omit<Run, "report">[];
}

/**
 * A scenario's rows and remarks are from its last run.
 * @param order names of all scenarios, in the order of the table
 */
export function mergeRuns([first, ...later]: [Run, ...Run[]], order: string[]): Run {
  const all = [first, ...later];
  const lastOf = (scenario: string) => all.findLast(({ scenarios }) => scenarios.includes(scenario)) ?? first;
  const rank = ({ scenario }: Remark) => order.indexOf(scenario);
  const gather = <T extends Remark>(pick: (report: Report) => T[]) =>
    all
      .flatMap((run) => pick(run.report).filter(({ scenario }) => lastOf(scenario) === run))
      .sort((a, b) => rank(a) - rank(b));
  const merged = gather<Row & Remark>(({ rows }) => rows.map((row) => ({ ...row, text: "" })));
  return {
    ...first,
    seconds: all.reduce((sum, run) => sum + run.seconds, 0),
    scenarios: order.filter((name) => all.some(({ scenarios }) => scenarios.includes(name))),
    report: {
      rows: merged,
      notes: gather(({ notes }) => notes),
      errors: gather(({ errors }) => errors),
      failures: gather(({ failures }) => failures),
    },
    repeats: later.map(({ report: _, ...run }) => run),
  };
}

/** A row with a larger steal is marked: others used the machine meanwhile. */
const muchSteal = 0.02;

const columns = ["what", "figure", "Tocsin", "next to it (ratio)", "aim"];

function cellsOf({ title, label, unit, subject, failed, beside, aim, steal }: Row, show = showSpread): string[] {
  const stolen = steal > muchSteal ? ` (steal ${(100 * steal).toFixed(0)} %!)` : "";
  const mark = `${stolen}${failed > 0 ? ` (${failed} round${failed === 1 ? "" : "s"} FAILED)` : ""}`;
  return [
    title,
    label,
    show(subject, unit) + mark,
    beside.map(({ name, spread, ratio }) => `${name} ${show(spread, unit)} (${show(ratio)})`).join("; "),
    aim,
  ];
}

const showTime = (iso: string) => `${iso.slice(0, 16).replace("T", " ")} UTC`;

function describeRun({ machine, sync, startedAt, seconds, rounds, repeats = [] }: Run): string {
  const { processor, cores, memoryGb, load, kernel, node, tocsin, commit, alertmanager } = machine;
  return [
    `${showTime(startedAt)}, ${Math.round(seconds / 60)} min, ${rounds} rounds; Tocsin ${tocsin} at ${commit}`,
    `${processor}, ${cores} cores, ${memoryGb} GB, Linux ${kernel}, Node ${node}; a write ` +
      `of 4 KiB with its sync: ${showSpread(sync, "ms")}; load before: ${load.toFixed(1)}`,
    alertmanager === ""
      ? `Alertmanager is not installed: ${installHint}`
      : `Alertmanager ${alertmanager}, which keeps alerts in memory and stores nothing before its answer`,
    ...repeats.map(
      (run) =>
        `by ${run.scenarios.length === 1 ? "itself" : "themselves"}: ${run.scenarios.join(", ")}, ${showTime(run.startedAt)}, ` +
        `${run.rounds} rounds, at ${run.machine.commit}, load before: ${run.machine.load.toFixed(1)}`,
    ),
  ].join("\n");
}

function faultsOf({ report: { errors, failures } }: Run): string[] {
  return [...errors.map(({ text }) => `ERROR: ${text}`), ...failures.map(({ text }) => `FAILED: ${text}`)];
}

export function showReport(run: Run): string {
  const { rows, notes } = run.report;
  const cells = [columns, ...rows.map((row) => cellsOf(row))];
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)));
  const lines = cells.map((row) => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(" | "));
  return ["", describeRun(run), "", ...lines, "", ...notes.map(({ text }) => text), ...faultsOf(run)].join("\n");
}

const showMedian = ({ median }: Spread, unit = "") => showSpread({ median, least: median, most: median }, unit);

/**
 * The table of `docs/measurements.md`: medians of figures with an aim, only for the largest log. The runs' own files
 * have the others, with least and most.
 */
export function toMarkdown(run: Run): string {
  const { notes } = run.report;
  const hasSize = ({ title }: Row) => title.endsWith(" stored alerts");
  const largest = run.report.rows.findLast(hasSize)?.title;
  const rows = run.report.rows.filter((row) => row.aim !== "" && (!hasSize(row) || row.title === largest));
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  let before = "";
  const body = rows.map((row) => {
    const [title = "", ...rest] = cellsOf(row, showMedian);
    const first = title === before ? "" : title;
    before = title;
    return line([first, ...rest]);
  });
  return [
    ...describeRun(run)
      .split("\n")
      .map((text) => `- ${text}`),
    "",
    line(columns),
    line(columns.map(() => "---")),
    ...body,
    "",
    ...notes.map(({ text }) => `- ${text}`),
    ...faultsOf(run).map((text) => `- **${text}**`),
  ].join("\n");
}

/** The text around the table stays. @throws when the document has no place for a table */
export function replaceTable(document: string, table: string): string {
  const [begin, end] = ["<!-- npm run bench writes from here -->", "<!-- to here -->"];
  const from = document.indexOf(begin);
  const to = document.indexOf(end, from);
  if (from < 0 || to < from) throw new Error(`it has no place for the table: write "${begin}" and "${end}" there`);
  return `${document.slice(0, from + begin.length)}\n${table}\n${document.slice(to)}`;
}
