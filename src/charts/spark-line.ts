import { countOf } from "../ground/text/count-of.ts";
import { createScale, isDrawable, linePath, rangeWith, writeValue } from "./plot.ts";
import { type ChartPoint, drawablePoints, isKnown, type KnownPoint, splitAtGaps, summarizeSeries } from "./series.ts";
import { drawDot, drawPicture, pixel } from "./svg.ts";
import { type ChartTheme, pageTheme } from "./theme.ts";

export interface SparkLine {
  /** In any order; `null` breaks the line. */
  points: readonly ChartPoint[];
  /** A dashed line. Left out where it is so far away that the values would look flat. */
  threshold?: number;
  /** The mark at the end of the line: red while firing. Default `over`. */
  state?: "firing" | "over";
  /** The subject, for screen readers and as a tooltip. Default `Values`. */
  title?: string;
  unit?: string;
  /** Pixels. Default 100 by 24. */
  width?: number;
  height?: number;
  /** Default: the page's theme. */
  theme?: ChartTheme;
}

const inset = 3;

/** A line as small as a word, without axes. Empty without any value. */
export function drawSparkLine(spark: SparkLine): string {
  const { state = "over", title = "Values", unit, width = 100, height = 24, theme = pageTheme } = spark;
  const threshold = isDrawable(spark.threshold) ? spark.threshold : undefined;
  const points = drawablePoints(spark.points);
  const facts = summarizeSeries(points);
  if (facts === undefined) return "";
  const range = rangeWith(facts.min.value, facts.max.value, threshold);
  const x = createScale(facts.first.at, facts.last.at, inset, width - inset);
  const y = createScale(range.low, range.high, height - inset, inset);
  const limit =
    threshold !== undefined && range.threshold === "within"
      ? `<path d="M0 ${pixel(y(threshold))}H${width}" stroke="${theme.bad}" stroke-dasharray="3 2"/>`
      : "";
  const lines = splitAtGaps(points).map(drawStretch);
  const end = drawDot(x(facts.last.at), y(facts.last.value), 2.5, state === "firing" ? theme.critical : theme.line);

  function drawStretch(stretch: KnownPoint[]): string {
    const [only] = stretch;
    // A lone value that is not the last becomes a dot: a path of one point draws nothing.
    if (stretch.length === 1 && only !== undefined) return drawDot(x(only.at), y(only.value), 1.5, theme.line);
    return (
      `<path d="${linePath(stretch, x, y, width / 2)}" fill="none" ` +
      `stroke="${theme.line}" stroke-width="1.5" stroke-linejoin="round"/>`
    );
  }

  const words = [
    countOf(points.filter(isKnown).length, "value"),
    `last ${writeValue(facts.last.value, unit, [threshold])}`,
    threshold === undefined ? undefined : `threshold ${writeValue(threshold, unit, [facts.last.value])}`,
  ];
  const name = `${title}: ${words.filter((part) => part !== undefined).join(", ")}`;
  return drawPicture({ width, height, title: name, theme, className: "spark" }, `${limit}${lines.join("")}${end}`);
}
