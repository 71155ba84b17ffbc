import { type AlertFacts, limitsChange, sideOfThreshold } from "../core/alert.ts";
import { withPlainNumbers } from "../core/fact-line.ts";
import type { Inline } from "../core/message.ts";
import { writeChange, writeDifference, writeDistance, writeNumber } from "../ground/numbers/format-number.ts";
import { cleanLine, isolate } from "../ground/text/clean.ts";
import { cut } from "../ground/text/graphemes.ts";
import { bold, code, text } from "./inlines.ts";

type Numbers = Pick<AlertFacts, "value" | "previousValue" | "threshold" | "unit"> &
  Partial<Pick<AlertFacts, "fields" | "title" | "status">>;

const longValueUnits = 32;

/**
 * Six significant digits, more where two numbers would read the same. Computed numbers are added only where certain. A
 * text that is no plain decimal is shown as sent. `said`: the first line, which is not repeated.
 */
export function writeValueLine(sent: Numbers, said = ""): Inline[] {
  const facts = withPlainNumbers(sent);
  const parts: Inline[][] = [];
  if (facts.value !== undefined) parts.push(writeValue(facts.value, facts));
  if (facts.threshold !== undefined) {
    const words = limitsChange(facts)
      ? `limit of the change ${isolate(numberBeside(facts.threshold, facts))}`
      : writeThreshold(facts.threshold, facts);
    parts.push([text(words)]);
  }
  if (facts.previousValue !== undefined) parts.push([text(writePrevious(facts.previousValue, facts))]);
  const news = parts.filter((part) => !isSaid(part, said.toLowerCase()));
  return news.flatMap((part, index) => (index === 0 ? part : [text(" · "), ...part]));
}

/** As numbers of their own: 24.1 is not in 124.15 or 24.1M. A bare 1 or 0.3 may belong to a name. */
function isSaid([part, ...others]: Inline[], said: string): boolean {
  if (part === undefined || part.kind === "time" || part.kind === "code" || others.length > 0) return false;
  if (/^\D?\d[.,]?\d?$/.test(part.text)) return false;
  const pieces = said.split(part.text.toLowerCase());
  return pieces.some(
    (piece, at) => at > 0 && !/[\p{L}\d.,+−-]$/u.test(pieces[at - 1] ?? "") && !/^(?:[.,]?\d|[\p{L}%])/u.test(piece),
  );
}

/** One number of an alert, written so that it differs from the alert's others. */
export function numberBeside(sent: string, { value, previousValue, threshold }: Numbers): string {
  return writeNumber(cleanLine(sent), { besides: [value, previousValue, threshold] });
}

/** Value and unit, for a line with more content. Empty for a longer value: a part of a number is another number. */
export function writeAmount(facts: Numbers, maxUnits: number): string {
  if (facts.value === undefined) return "";
  const number = numberBeside(facts.value, facts);
  if (number.length > maxUnits) return "";
  const unit = cut(cleanLine(facts.unit ?? ""), Math.max(0, maxUnits - number.length - 1));
  return `${isolate(number)}${unit === "" || unit === "…" ? "" : ` ${isolate(unit)}`}`;
}

function writeValue(value: string, facts: Numbers): Inline[] {
  const shown = numberBeside(value, facts);
  const isLong = shown.length >= longValueUnits && !shown.includes(" ");
  const unit = writeUnit(facts.unit);
  return isLong ? [code(cleanLine(value)), text(unit)] : [bold(isolate(shown) + unit)];
}

function writeUnit(unit: string | undefined): string {
  const shown = cleanLine(unit ?? "");
  return shown === "" ? "" : ` ${isolate(shown)}`;
}

function writeThreshold(threshold: string, facts: Numbers): string {
  const written = isolate(numberBeside(threshold, facts));
  const side = sideOfThreshold(facts);
  if (side === undefined) return `limit ${written}`;
  const [limit, now] = [cleanLine(threshold), cleanLine(facts.value ?? "")];
  const far = isPercentage(facts) ? writePoints(limit, now)?.slice(1) : writeDistance(limit, now);
  return `${far === undefined ? "" : `${far} `}${side} ${written}${isPercentage(facts) ? " %" : ""}`;
}

function writePrevious(previousValue: string, facts: Numbers): string {
  const [before, now] = [cleanLine(previousValue), cleanLine(facts.value ?? "")];
  const all = isPercentage(facts)
    ? [writePoints(before, now)]
    : [writeChange(before, now), writeDifference(before, now)];
  const changes = all.filter((change) => change !== undefined);
  const was = `${isolate(numberBeside(previousValue, facts))}${isPercentage(facts) ? " %" : ""}`;
  return `was ${was}${changes.length === 0 ? "" : ` (${changes.join(", ")})`}`;
}

function isPercentage({ unit = "" }: Numbers): boolean {
  return cleanLine(unit) === "%";
}

/** `+4.3 points`: readers would take a percentage of a percentage for points. */
function writePoints(before: string, now: string): string | undefined {
  const difference = writeDifference(before, now);
  return difference === undefined ? undefined : `${difference} ${/^[+−]1$/.test(difference) ? "point" : "points"}`;
}
