import { timeTicks, valueTicks } from "./axis.ts";
import {
  type CurveFacts,
  type CurvePoint,
  describeChange,
  type KnownPoint,
  splitAtGaps,
  summarizeCurve,
} from "./curve.ts";
import { formatNumber } from "./number-text.ts";

export interface CurveSvgOptions {
  title: string;
  /** Pixels. Default 960 by 420. */
  width?: number;
  height?: number;
}

/** The one family that PNG files are drawn with; a viewer without it takes the next. */
export const svgFontFamily = "DejaVu Sans";

const colours = {
  background: "#ffffff",
  text: "#1c2430",
  quiet: "#5b6675",
  grid: "#e4e8ee",
  line: "#1f6feb",
};
const margin = { top: 84, right: 28, bottom: 44, left: 84 };

/**
 * A picture of the curve that stands on its own: title, numbers, axes (UTC), line. Expects points by time; every text
 * is escaped.
 */
export function drawCurveSvg(points: readonly CurvePoint[], options: CurveSvgOptions): string {
  const { title, width = 960, height = 420 } = options;
  const facts = summarizeCurve(points);
  const body = facts === undefined ? noValues(width, height) : drawBody(points, facts, width, height);
  const shortTitle = shorten(title, Math.floor((width - 56) / 9.6));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="'${svgFontFamily}', Verdana, sans-serif">
<title>${escapeXml(title)}</title>
<rect width="${width}" height="${height}" fill="${colours.background}"/>
<text x="28" y="36" font-size="16" font-weight="bold" fill="${colours.text}">${escapeXml(shortTitle)}</text>
${body}
</svg>
`;
}

function drawBody(points: readonly CurvePoint[], facts: CurveFacts, width: number, height: number): string {
  const bottom = height - margin.bottom;
  const ticks = valueTicks(facts.min.value, facts.max.value, 6);
  const low = ticks[0]?.value ?? facts.min.value;
  const high = ticks.at(-1)?.value ?? facts.max.value;
  const x = scale(facts.first.at, facts.last.at, margin.left, width - margin.right);
  const y = scale(low, high, bottom, margin.top);
  const grid = ticks.map(({ value, label }) => {
    const at = round(y(value));
    return `<path d="M${margin.left} ${at}H${width - margin.right}" stroke="${colours.grid}"/>
<text x="${margin.left - 10}" y="${at + 4}" font-size="12" text-anchor="end" fill="${colours.quiet}">${label}</text>`;
  });
  const times = timeTicks(facts.first.at, facts.last.at, Math.floor(width / 120)).map(
    ({ value, label }) =>
      `<text x="${round(x(value))}" y="${bottom + 22}" font-size="12" text-anchor="middle" fill="${colours.quiet}">${label}</text>`,
  );
  const lines = splitAtGaps(points).map((stretch) => drawStretch(stretch, x, y, bottom));
  return [
    `<text x="28" y="60" font-size="13" fill="${colours.quiet}">${escapeXml(summary(facts))}</text>`,
    ...grid,
    ...times,
    ...lines,
    dot(facts.last, x, y),
  ].join("\n");
}

function drawStretch(stretch: KnownPoint[], x: Scale, y: Scale, bottom: number): string {
  const path = stretch.map((point) => `${round(x(point.at))} ${round(y(point.value))}`).join("L");
  const [first] = stretch;
  const last = stretch.at(-1);
  if (first === undefined || last === undefined) return "";
  if (stretch.length === 1) return dot(first, x, y);
  return `<path d="M${path}L${round(x(last.at))} ${bottom}L${round(x(first.at))} ${bottom}Z" fill="${colours.line}" fill-opacity="0.08"/>
<path d="M${path}" fill="none" stroke="${colours.line}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"/>`;
}

function dot(point: KnownPoint, x: Scale, y: Scale): string {
  return `<circle cx="${round(x(point.at))}" cy="${round(y(point.value))}" r="4" fill="${colours.line}"/>`;
}

function noValues(width: number, height: number): string {
  return `<text x="${width / 2}" y="${height / 2}" font-size="16" text-anchor="middle" fill="${colours.quiet}">no records in this range</text>`;
}

/** One line beside a curve has room for seven digits; the terminal shows all. */
function summary(facts: CurveFacts): string {
  const change = describeChange(facts);
  const short = ({ value }: KnownPoint) => formatNumber(Number(value.toPrecision(7)));
  const minute = ({ at }: KnownPoint) => new Date(at).toISOString().slice(0, 16).replace("T", " ");
  const last = `last ${short(facts.last)}${change === "" ? "" : ` (${change})`}`;
  const range = `${minute(facts.first)} to ${minute(facts.last)} UTC`;
  return `${last}, min ${short(facts.min)}, max ${short(facts.max)}  ·  ${range}`;
}

type Scale = (value: number) => number;

function scale(low: number, high: number, from: number, to: number): Scale {
  return (value) => (high === low ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Keeps both ends: chain and metric stand at the front of a key, the address at its end. */
function shorten(text: string, longest: number): string {
  const characters = [...text];
  if (characters.length <= longest) return text;
  const tail = Math.floor((longest - 1) / 3);
  return `${characters.slice(0, longest - 1 - tail).join("")}…${characters.slice(-tail).join("")}`;
}

/** Also removes what XML 1.0 cannot hold at all (section 2.2). */
function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
