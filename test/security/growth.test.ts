import { expect, it } from "vitest";
import type { Translation } from "../../src/core/alert.ts";
import { readMetricKey } from "../../src/core/metric-key.ts";
import { parseAmount, parseDecimal } from "../../src/ground/numbers/decimal.ts";
import { cleanLine, cleanText, oneLine } from "../../src/ground/text/clean.ts";
import { contains, toPlainLine, toPlainText } from "../../src/ground/text/plain-text.ts";
import { readTime } from "../../src/ground/time/read-time.ts";
import { readMeasurement } from "../../src/intake/find/read-measurement.ts";
import { readSeverity } from "../../src/intake/find/read-severity.ts";
import { leadingWord, readStatus, withoutEnding, withoutStatus } from "../../src/intake/find/read-status.ts";
import { findLink, findMetricKey, readLink } from "../../src/intake/find/read-value.ts";
import { steadyWords } from "../../src/intake/key/steady-words.ts";
import { decodeText } from "../../src/intake/read/decode-text.ts";
import { parseJson } from "../../src/intake/read/parse-json.ts";
import { readForm, readMultipart } from "../../src/intake/read/read-form.ts";
import { salvageJson } from "../../src/intake/read/salvage-json.ts";
import { readLines, translateRequest } from "../../src/intake/translate.ts";
import { compileCondition, quoteValue } from "../../src/matching/judge.ts";
import { markLongWords } from "../../src/rendering/inlines.ts";
import { splitSearch } from "../../src/store/search-words.ts";
import { printJson } from "../../src/web/print-json.ts";
import { costOfMebibyte, createCostMeter } from "../support/cpu-cost.ts";
import { fill } from "./costly-bodies.ts";
import { bodies, units } from "./hostile-grammar.ts";
import { readings, routeOne } from "./whole-way.ts";

/** Up to a whole body, of all units: `TOCSIN_GROWTH_BYTES=1048576 npx vitest run test/security/growth`. */
const largest = Number(process.env.TOCSIN_GROWTH_BYTES ?? 32_768);
const smallest = 4_096;

const meter = createCostMeter();

/**
 * Doubles the input and holds the cost to doubling: a factor of three and half a yardstick are room for collections of
 * garbage and caches, and a quadratic reader leaves both behind long before a mebibyte. Returns what is wrong.
 */
function watchGrowth(read: (size: number) => () => unknown, mostAtFirst = 2): string | undefined {
  read(1_024)();
  let cost = meter.measure(read(smallest), 0.5);
  if (cost > mostAtFirst) return `${smallest} characters cost ${cost.toFixed(1)} yardsticks`;
  for (let size = smallest * 2; size <= largest; size *= 2) {
    const enough = 3 * cost + 0.5;
    const next = meter.measure(read(size), enough, 30);
    if (next > enough)
      return `from ${size / 2} to ${size} characters the cost went from ${cost.toFixed(2)} to ${next.toFixed(2)}`;
    cost = next;
  }
  return undefined;
}

const surroundings = [
  ["", ""],
  ["[", "x"],
  ["a", "!"],
] as const;

const conditions = compileCondition({ equals: ["x", "5"], not: ["y"], gt: 1, matches: "(a+)+$", notMatches: "b$" });

/** Readers of a text, wherever in a body it stands. */
const readersOfText: Record<string, (text: string) => unknown> = {
  toPlainText,
  toPlainLine,
  leadingWord,
  withoutStatus,
  withoutEnding,
  readStatus: (text) => readStatus(text, ["status"]),
  readEventKind: (text) => readStatus(text, ["type"]),
  readSeverity: (text) => readSeverity(text, "severity"),
  readTime,
  readLink,
  findLink,
  readMetricKey,
  findMetricKey,
  readLines,
  readMeasurement,
  steadyWords: (text) => steadyWords(text, "firing"),
  readForm: (text) => readForm(`a=${text}`, "application/x-www-form-urlencoded"),
  readMultipart: (text) =>
    readMultipart(Buffer.from(`--${text}\r\ncontent-disposition: form-data; name="a"\r\n${text}`)),
  decodeText: (text) => decodeText(Buffer.from(text, "latin1"), undefined),
  parseJson: (text) => parseJson(text),
  salvageJson: (text) => salvageJson(text, 0, undefined),
  contains: (text) => contains(text, `${text.slice(0, text.length / 4)}\u0001${text.slice(0, text.length / 4)}`),
  compileCondition: (text) => conditions.words([{ kind: "text", text }]),
  parseDecimal,
  parseAmount,
  quoteValue,
  cleanText,
  cleanLine: (text) => cleanLine(text, " ⏎ "),
  oneLine: (text) => oneLine(text, 200),
  markLongWords: (text) => markLongWords(text),
  splitSearch,
  printJson: (text) => printJson(JSON.stringify([text])),
};

/** One in twelve of what is repeated, each at some of the readers, unless all of it is asked for. */
const someUnits = (first: number) => units.filter((_, at) => at % 12 === first % 12 || largest > 32_768);

it.each(Object.entries(readersOfText).map(([name, read], first) => ({ name, read, first })))(
  "twice the text costs at most about twice as much: $name",
  (reader) => {
    const { read, first } = reader;
    for (const unit of someUnits(first)) {
      for (const [before, after] of surroundings) {
        const fault = watchGrowth((size) => {
          const text = fill(unit, before, after, size);
          return () => read(text);
        });
        expect(fault, `${before}${JSON.stringify(unit)}…${after}`).toBeUndefined();
      }
    }
  },
);

it.each(Object.entries(bodies).map(([name, make], first) => ({ name, make, first })))(
  "twice the body costs at most about twice as much: $name",
  ({ make, first }) => {
    for (const unit of someUnits(first)) {
      for (const [name, read] of Object.entries(readings)) {
        const fault = watchGrowth((size) => {
          const body = { bytes: Buffer.from(make(unit, size)), contentType: undefined };
          return () => read(body);
        }, costOfMebibyte);
        expect(fault, `${name} of ${JSON.stringify(unit)}`).toBeUndefined();
      }
    }
  },
);

it("a payload of twice the size costs as much more at most: one that every matcher looks into", () => {
  for (const unit of someUnits(0)) {
    const fault = watchGrowth((size) => {
      const body = Buffer.from(JSON.stringify({ items: Array.from({ length: size / 16 }, () => unit) }));
      const [translation] = translateRequest(body, undefined) as [Translation];
      return () => routeOne(translation);
    });
    expect(fault, JSON.stringify(unit)).toBeUndefined();
  }
});
