import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { drawLineChart } from "../../charts/line-chart.ts";
import { type PngProblem, renderPng } from "../../charts/render-png.ts";
import { changeOf, drawablePoints, type KnownPoint, sortByTime, summarizeSeries } from "../../charts/series.ts";
import { drawTerminalLine } from "../../charts/terminal-line.ts";
import { lightTheme } from "../../charts/theme.ts";
import { AppError } from "../../core/errors.ts";
import type { Cell, Panel } from "../../panels/panel.ts";
import { factsOf, paragraph, say } from "../../panels/sections.ts";
import type { MetricHistory } from "../../upstream/alerting-client.ts";
import { fileFailure } from "../shell/failure.ts";
import { type AccountRun, connectAlerting } from "./connect.ts";
import { formatNumber } from "./panels.ts";
import type { HistoryOptions } from "./upstream.ts";

type AskedHistory = HistoryOptions & { key: string };

const longestRangeMs = 7 * 86_400_000;
/** `--from -7d` is a little more than 7 days: time has passed since it was read, and instants are whole seconds. */
const rangeSlackMs = 60_000;
const plotHeight = 12;
const widestPlot = 120;

export async function showHistory(run: AccountRun, options: AskedHistory): Promise<void> {
  const { context, output } = run;
  const { key, from: fromAt, to: toAt, granularity } = options;
  if (fromAt !== undefined && (toAt ?? context.now()) - fromAt > longestRangeMs + rangeSlackMs)
    await output.note("the service covers up to 7 days; what it has of this longer range follows");
  const client = await connectAlerting(run);
  const answer = await client.readHistory({ key, fromAt, toAt, granularity }, context);
  const history = { ...answer, points: sortByTime(answer.points) };
  await writePictures(run, history, options);
  const points = history.points.map((point) => ({ ...point, at: new Date(point.at).toISOString() }));
  await output.result({ ...history, points }, () => historyPanel(run, history));
}

async function writePictures(run: AccountRun, { key, points }: MetricHistory, files: AskedHistory): Promise<void> {
  if (files.svg === undefined && files.png === undefined) return;
  const svg = drawLineChart({ title: key, points, emptyText: "no records in this range", theme: lightTheme });
  if (files.svg !== undefined) await writePicture(run, files.svg, `${svg}\n`);
  if (files.png === undefined) return;
  const result = await renderPng(svg);
  if ("problem" in result) throw noPng(result.problem);
  await writePicture(run, files.png, result.png);
}

const lacking = {
  no_font: ["no font was found to write the picture's text with", "dejavu-fonts-ttf"],
  no_renderer: ["PNG files need the optional package @resvg/resvg-js, which is not installed", "@resvg/resvg-js"],
} as const;

function noPng(problem: PngProblem): AppError {
  if (problem === "failed")
    return new AppError("failed", "the picture could not be made", { hint: "write --svg instead" });
  const [what, name] = lacking[problem];
  return new AppError("failed", what, { hint: `npm install ${name}, or write --svg instead` });
}

async function writePicture({ context, output }: AccountRun, file: string, content: string | Uint8Array) {
  const path = resolve(context.cwd, file);
  const hint = "check that its folder exists and is writable";
  await writeFile(path, content).catch(fileFailure("failed", `cannot write ${path}`, hint));
  await output.note(`wrote ${path}`);
}

function historyPanel({ context, output }: AccountRun, { key, points }: MetricHistory): Panel {
  const title = factsOf([["Metric", key]]);
  const facts = summarizeSeries(drawablePoints(points));
  if (facts === undefined) return [title, paragraph`no records in this range`];
  const width = Math.min(widestPlot, output.width ?? context.columns ?? 80);
  const change = changeOf(facts);
  const describe = ({ value, at }: KnownPoint, more = ""): Cell => say`${formatNumber(value)}${more} at ${{ at }}`;
  return [
    title,
    { kind: "block", text: drawTerminalLine(points, { width, height: plotHeight }) },
    factsOf([
      ["Last", describe(facts.last, change && ` (${change})`)],
      ["Min", describe(facts.min)],
      ["Max", describe(facts.max)],
      ["Points", say`${points.length}, from ${{ at: facts.first.at }}`],
    ]),
  ];
}
