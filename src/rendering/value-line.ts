import { type AlertFacts, limitsChange, multiplies } from "../core/alert.ts";
import type { Inline } from "../core/document.ts";
import { cleanLine, isolate } from "../ground/text/clean.ts";
import { bold, code, text } from "./inlines.ts";

type Numbers = Pick<AlertFacts, "value" | "previousValue" | "threshold" | "unit"> & Partial<Pick<AlertFacts, "fields">>;

const decimal = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const longValueUnits = 32;
/** Below this the digits are read at a glance. */
const hardToReadFrom = 1_000_000;
const rounded = new Intl.NumberFormat("en", {
  notation: "compact",
  compactDisplay: "long",
  maximumSignificantDigits: 4,
});

/**
 * The numbers of an alert on one line, digit for digit as sent: value, where it stands to the threshold, the value
 * before and the change. Only arithmetic on what was sent is added, and only where it is certain. Empty without
 * numbers.
 */
export function writeValueLine(facts: Numbers): Inline[] {
  const parts: Inline[][] = [];
  if (facts.value !== undefined) parts.push(writeValue(facts.value, facts));
  if (facts.threshold !== undefined) {
    const words = limitsChange(facts)
      ? `threshold of the change ${isolate(cleanLine(facts.threshold))}`
      : writeThreshold(facts.threshold, multiplies(facts.unit) ? undefined : facts.value);
    parts.push([text(words)]);
  }
  if (facts.previousValue !== undefined) parts.push([text(writePrevious(facts.previousValue, facts.value))]);
  return parts.flatMap((part, index) => (index === 0 ? part : [text(" · "), ...part]));
}

function writeValue(value: string, facts: Numbers): Inline[] {
  const shown = cleanLine(value);
  const unit = writeUnit(facts.unit);
  const approximate = approximation(shown);
  // An approximation that reads the same as the threshold would hide which side of it the value is on.
  const helps = approximate !== undefined && approximate !== approximation(cleanLine(facts.threshold ?? ""));
  const isLong = shown.length >= longValueUnits && !shown.includes(" ");
  return [
    isLong ? code(shown) : bold(isolate(shown) + unit),
    text((isLong ? unit : "") + (helps ? ` (≈ ${approximate})` : "")),
  ];
}

function writeUnit(unit: string | undefined): string {
  const shown = cleanLine(unit ?? "");
  if (shown === "") return "";
  return shown === "%" ? "%" : ` ${isolate(shown)}`;
}

function writeThreshold(threshold: string, value: string | undefined): string {
  const shown = cleanLine(threshold);
  const limit = numberOf(shown);
  const current = numberOf(cleanLine(value ?? ""));
  if (limit === undefined || current === undefined || limit === current) return `threshold ${isolate(shown)}`;
  return `${current < limit ? "below" : "above"} the threshold ${isolate(shown)}`;
}

function writePrevious(previousValue: string, value: string | undefined): string {
  const shown = cleanLine(previousValue);
  const change = changeInPercent(numberOf(shown), numberOf(cleanLine(value ?? "")));
  return `was ${isolate(shown)}${change === undefined ? "" : ` (${change})`}`;
}

/** `−5.7 %`; undefined where it is not certain or would read as nothing. */
function changeInPercent(before: number | undefined, now: number | undefined): string | undefined {
  if (before === undefined || now === undefined || before === 0) return undefined;
  const percent = ((now - before) / Math.abs(before)) * 100;
  const size = Math.abs(percent);
  const digits = size.toFixed(size >= 100 ? 0 : size >= 1 ? 1 : 2);
  if (!Number.isFinite(percent) || size > 1_000_000 || Number(digits) === 0) return undefined;
  return `${percent < 0 ? "−" : "+"}${digits} %`;
}

function approximation(shown: string): string | undefined {
  const value = numberOf(shown);
  if (value === undefined || Math.abs(value) < hardToReadFrom || Math.abs(value) >= 1e15) return undefined;
  return rounded.format(value);
}

/** Only plain decimals: `0x10`, `1,000` and `5 M` are left to the reader. */
function numberOf(shown: string): number | undefined {
  if (!decimal.test(shown)) return undefined;
  const value = Number(shown);
  return Number.isFinite(value) ? value : undefined;
}
