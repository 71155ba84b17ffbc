import { withPlainNumbers } from "../core/fact-line.ts";
import { isAddress } from "../core/metric-key.ts";
import { shortAddress } from "../core/subject-name.ts";
import { cutTitle, longestTitle, sayFiring } from "../core/title.ts";
import { withoutGroups } from "../ground/numbers/decimal.ts";
import { writeNumber, writePercent, writeShortNumber } from "../ground/numbers/format-number.ts";
import { readText } from "../ground/shape/field.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { cleanLine, isolate } from "../ground/text/clean.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import { createTimeFormat, isInstant } from "../ground/time/time-format.ts";
import { oncePerZone } from "../ground/time/zoned-time.ts";
import type { MatchInput } from "./judge.ts";
import { factFields, numberFields, readFact } from "./path.ts";

const titleFacts = [...factFields, "occurredAt"] as const;
type TitleFact = (typeof titleFacts)[number];

interface Filter {
  /** The facts that the filter fits. Default: all. */
  of?: ReadonlySet<string>;
  /** Undefined for a text that the filter cannot write. */
  write(text: string, context: FilterContext): string | undefined;
}

interface FilterContext {
  fact: string;
  /** The alert's numbers. Two that differ never read the same. */
  besides: (string | undefined)[];
  timeZone: string;
}

const longestShort = 24;
const formatIn = oncePerZone(createTimeFormat);

const filters = new Map<string, Filter>(
  Object.entries({
    short: {
      write(text, { fact, besides }) {
        if (numberFields.has(fact)) return writeShortNumber(withoutGroups(text), { besides });
        return isAddress(text) ? shortAddress(text) : cutTitle(text, longestShort);
      },
    },
    percent: {
      of: numberFields,
      write(text, { fact }) {
        const percent = writePercent(withoutGroups(text));
        return fact === "changePercent" && percent !== undefined && /^[^−0]/.test(percent) ? `+${percent}` : percent;
      },
    },
    number: { of: numberFields, write: (text, { besides }) => writeNumber(withoutGroups(text), { besides }) },
    upper: { write: (text) => text.toUpperCase() },
    time: {
      of: new Set<TitleFact>(["occurredAt"]),
      write: (text, { timeZone }) =>
        isInstant(Date.parse(text)) ? formatIn(timeZone).clock(Date.parse(text)) : undefined,
    },
  }),
);

const filtersOf = (fact: string) => [...filters].flatMap(([name, { of }]) => ((of?.has(fact) ?? true) ? [name] : []));
const inBraces = /\{([^{}]*)\}/g;
const inPattern = titleFacts.map((fact) => `${fact}(?:\\|(?:${filtersOf(fact).join("|")}))*`).join("|");
export const titlePattern = `^(?=.*\\S)(?:[^{}]|\\{(?:${inPattern})\\})+$`;
const titleExample = '"{token|upper} {changePercent|percent} in {chain}"';

/** Reads a route's title with facts in braces, each with filters after it: `{token|upper}`. */
export function readTitleTemplate(value: unknown): string | Refusal {
  const template = readText(titleExample)(value);
  if (template instanceof Refusal) return template;
  if (template.length > longestTitle) return new Refusal(`is more than ${longestTitle} characters`, "shorten it");
  for (const [, inside = ""] of template.matchAll(inBraces)) {
    const [fact = "", ...named] = inside.split("|");
    if (!titleFacts.some((one) => one === fact))
      return new Refusal(`${showValue(fact)} is not a fact`, suggestOrList(fact, titleFacts));
    const wrong = named.find((name) => !filtersOf(fact).includes(name));
    if (wrong === undefined) continue;
    const what = filters.has(wrong) ? `a filter for ${fact}` : "a filter";
    return new Refusal(`${showValue(wrong)} is not ${what}`, suggestOrList(wrong, filtersOf(fact)));
  }
  if (!/[{}]/.test(template.replace(inBraces, ""))) return template;
  return new Refusal("has a brace without its other one", `write e.g. ${titleExample}`);
}

/** Cuts the line as titles are cut. A stranger wrote the facts, so they are cleaned, and their braces are text. */
export function fillTitle(
  template: string,
  alert: MatchInput,
  timeZone: string,
): { title: string } | { leftOut: string } {
  let wrong: string | undefined;
  const { value, previousValue, threshold } = withPlainNumbers(alert.facts);
  const besides = [value, previousValue, threshold];
  const filled = template.replace(inBraces, (_all, inside: string) => {
    const [fact = "", ...named] = inside.split("|");
    let text = readTitleFact(fact, alert);
    if (text === undefined || text === "") wrong ??= `${fact} is missing`;
    for (const name of named) {
      if (text === undefined) break;
      const filter = filters.get(name);
      if (filter === undefined) wrong ??= `${name} is no filter`;
      text = filter?.write(text, { fact, besides, timeZone });
      if (!text) wrong ??= `${fact} cannot be written as ${name}`;
    }
    return isolate(text ?? "");
  });
  const title = cutTitle(cleanLine(filled), longestTitle);
  if (wrong !== undefined || title === "") return { leftOut: wrong ?? "it is empty" };
  return { title: sayFiring(title, alert.facts.status) };
}

function readTitleFact(name: string, alert: MatchInput): string | undefined {
  const { occurredAt } = alert.facts;
  if (name === "occurredAt")
    return occurredAt !== undefined && isInstant(occurredAt) ? new Date(occurredAt).toISOString() : undefined;
  const text = readFact(name, alert);
  return text === undefined ? undefined : cleanLine(text);
}
