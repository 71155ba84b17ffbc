import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { drawLineChart } from "../../charts/line-chart.ts";
import { type PngProblem, renderPng } from "../../charts/render-png.ts";
import { changeOf, drawablePoints, type SeriesFacts, sortByTime, summarizeSeries } from "../../charts/series.ts";
import { drawTerminalLine } from "../../charts/terminal-line.ts";
import { lightTheme } from "../../charts/theme.ts";
import { AppError } from "../../core/errors.ts";
import type { MetricHistory } from "../../upstream/alerting-schemas.ts";
import { type AccountRun, connectAlerting } from "./connect.ts";
import { formatInstant, formatNumber } from "./number-text.ts";
import type { HistoryOptions } from "./upstream.ts";

type AskedHistory = HistoryOptions & { key: string };

/** The interface covers up to 7 days. */
const longestRangeMs = 7 * 86_400_000;
/** The time since `--from -7d` was read, and the rounding to whole seconds, are no longer range. */
const rangeSlackMs = 60_000;
const plotHeight = 12;
const widestPlot = 120;

/** `tocsin upstream history`: the curve in the terminal, and as a picture in files. */
export async function showHistory(run: AccountRun, options: AskedHistory): Promise<void> {
  const { context, output } = run;
  await noteLongRange(run, options);
  const history = await (await connectAlerting(run)).readHistory(
    { key: options.key, fromAt: options.from, toAt: options.to, granularity: options.granularity },
    { signal: context.signal },
  );
  const points = sortByTime(history.points);
  await writePictures(run, { ...history, points }, options);
  const data = {
    ...history,
    points: points.map((point) => ({ ...point, at: new Date(point.at).toISOString() })),
  };
  await output.result(data, () => describeHistory(run, { ...history, points }));
}

async function noteLongRange({ context, output }: AccountRun, { from, to }: AskedHistory): Promise<void> {
  const end = to ?? context.now();
  if (from !== undefined && end - from > longestRangeMs + rangeSlackMs) {
    await output.note("the service covers up to 7 days; what it has of this longer range follows");
  }
}

async function writePictures(run: AccountRun, history: MetricHistory, options: AskedHistory): Promise<void> {
  if (options.svg === undefined && options.png === undefined) return;
  const svg = drawLineChart({
    title: history.key,
    points: history.points,
    emptyText: "no records in this range",
    theme: lightTheme,
  });
  if (options.svg !== undefined) await writePicture(run, options.svg, `${svg}\n`);
  if (options.png === undefined) return;
  const result = await renderPng(svg);
  if ("problem" in result) throw noPng(result.problem);
  await writePicture(run, options.png, result.png);
}

function noPng(problem: PngProblem): AppError {
  if (problem === "failed")
    return new AppError("failed", "the picture could not be made", { hint: "write --svg instead" });
  const [what, name] =
    problem === "no_font"
      ? ["no font was found to write the picture's text with", "dejavu-fonts-ttf"]
      : ["PNG files need the optional package @resvg/resvg-js, which is not installed", "@resvg/resvg-js"];
  return new AppError("failed", what, { hint: `npm install ${name}, or write --svg instead` });
}

async function writePicture(
  { context, output }: AccountRun,
  file: string,
  content: string | Uint8Array,
): Promise<void> {
  const path = resolve(context.cwd, file);
  try {
    await writeFile(path, content);
  } catch (cause) {
    const reason = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown reason";
    throw new AppError("failed", `cannot write ${path} (${reason})`, {
      hint: "check that its folder exists and is writable",
      cause,
    });
  }
  await output.note(`wrote ${path}`);
}

function describeHistory({ context, output }: AccountRun, history: MetricHistory): string {
  const facts = summarizeSeries(drawablePoints(history.points));
  const title = output.fields([["Metric", history.key]]);
  if (facts === undefined) return `${title}no records in this range\n`;
  const width = Math.min(widestPlot, output.width ?? context.columns ?? 80);
  const curve = drawTerminalLine(history.points, { width, height: plotHeight });
  return `${title}\n${curve}\n${describeFacts({ output }, facts, history.points.length)}`;
}

function describeFacts({ output }: Pick<AccountRun, "output">, facts: SeriesFacts, count: number): string {
  const change = changeOf(facts);
  return output.fields([
    [
      "Last",
      `${formatNumber(facts.last.value)}  at ${formatInstant(facts.last.at)}${change === undefined ? "" : `  (${change})`}`,
    ],
    ["Min", `${formatNumber(facts.min.value)}  at ${formatInstant(facts.min.at)}`],
    ["Max", `${formatNumber(facts.max.value)}  at ${formatInstant(facts.max.at)}`],
    ["Points", `${count.toLocaleString("en-US")}, from ${formatInstant(facts.first.at)}`],
  ]);
}
