import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { factFields, parseFieldPath } from "../core/field-path.ts";
import type { Condition, Matcher } from "../core/rules.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../ground/shape/show-value.ts";
import { suggest } from "../ground/text/suggest.ts";
import { splitMatchText } from "./match-text.ts";
import { addCondition, type PlacedValue, type Refuse, refuseContradiction } from "./read-condition.ts";
import { adviseOnField, readMatchMap } from "./read-match-map.ts";

/**
 * `match:` as it is written: a text such as `severity=critical value>=5`, a list of such texts, or a map of field → value,
 * list of values or map of conditions. All must hold. An empty one is refused, since a line too many commented out would
 * make it match everything.
 */
export const matchSchema: z.ZodType<Matcher[]> = z.unknown().transform((value, context) => {
  const refuse: Refuse = (path, { message, instead }) => {
    context.issues.push({ code: "custom", message, input: undefined, path, params: { instead } });
  };
  if (typeof value === "string") return readTexts([{ text: value, path: [] }], refuse);
  if (Array.isArray(value)) return readList(value, refuse);
  if (typeof value === "object" && value !== null) return readMatchMap(value, refuse);
  const problem = value === undefined ? "is missing" : `${showValue(value)} is not a matcher`;
  refuse([], new Refusal(problem, 'write e.g. { severity: critical } or "severity=critical value>=5"'));
  return [];
});

/** The same for mutes made at run time. Throws `invalid_request` with all that is wrong. */
export function parseMatch(value: unknown): Matcher[] {
  const result = matchSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    const instead = issue.code === "custom" ? issue.params?.instead : undefined;
    // A text stands in its own message; `equals` is what a bare value means.
    const path = Array.isArray(value) ? issue.path.slice(1) : issue.path;
    const where = path.filter((step) => step !== "equals").join(".");
    const subject = where === "" && issue.message.startsWith("is ") ? "it" : where;
    return `${subject}${subject === "" ? "" : " "}${issue.message}${typeof instead === "string" ? ` (${instead})` : ""}`;
  });
  throw new AppError("invalid_request", `The matcher cannot be used: ${problems.join("; ")}.`);
}

function readList(values: unknown[], refuse: Refuse): Matcher[] {
  const texts = values.flatMap((text, index) => {
    if (typeof text === "string") return [{ text, path: [index] }];
    const instead =
      "in a list each entry is a text such as severity=critical; write the fields of a map without the list";
    refuse([index], new Refusal(`${showValue(text)} is not a condition`, instead));
    return [];
  });
  if (values.length === 0)
    refuse([], new Refusal("is empty", "write at least one condition, e.g. severity=critical"));
  return readTexts(texts, refuse);
}

interface PlacedText {
  text: string;
  path: (string | number)[];
}

/** Conditions of one field are joined, as in a map: of several values the same one must meet all of them. */
function readTexts(texts: PlacedText[], refuse: Refuse): Matcher[] {
  const matchers: Matcher[] = [];
  for (const [position, { text, path }] of texts.entries()) {
    const found = text.trim() === "" ? new Refusal("is empty", emptyAdvice) : splitMatchText(text);
    const before = texts[position - 1]?.text ?? "";
    if (found instanceof Refusal && /^[^=]+!?=[^=]+$/.test(before) && /^[\w.-]+$/.test(text.trim())) {
      const instead = `a comma ends an entry of a list; put the text in quotes: "${before},${text.trim()}"`;
      refuse(path, new Refusal(found.message, instead));
      continue;
    }
    if (found instanceof Refusal) {
      refuse(path, found.message === "is empty" ? found : withText(text, found));
      continue;
    }
    for (const [order, { text: own, field, key, items }] of found.entries()) {
      const refuseHere: Refuse = (_path, refusal) => refuse(path, withText(own, refusal));
      if (!isField(field, order > 0, refuseHere)) continue;
      const condition: Condition = {};
      const values = items.map((item): PlacedValue => ({ value: item.text, path, isLiteral: item.isQuoted }));
      addCondition(condition, key, values, { field, form: "text", refuse: refuseHere });
      if (Object.keys(condition).length > 0) join(matchers, { field, condition }, refuseHere);
    }
  }
  for (const { field, condition } of matchers) {
    refuseContradiction(condition, (_path, refusal) =>
      refuse(texts[0]?.path ?? [], withText(field, refusal)),
    );
  }
  return matchers;
}

/** Of a condition before what is wrong with it. */
const shownCharacters = 80;
const emptyAdvice =
  "write at least one condition, e.g. severity=critical; a route for every alert has no match";

function withText(text: string, { message, instead }: Refusal): Refusal {
  const isNamed = message.startsWith(showValue(text.trim())) || looksSecret(text);
  const shown =
    text.trim().length > shownCharacters ? `${text.trim().slice(0, shownCharacters)}…` : text.trim();
  return new Refusal(isNamed ? message : `${shown}: ${message}`, instead);
}

/** `isLater`: a value before it may have held the word. */
function isField(field: string, isLater: boolean, refuse: Refuse): boolean {
  const parsed = parseFieldPath(field);
  if (parsed.ok) return true;
  const advice = adviseOnField(field);
  const isSlip = suggest(field, factFields) !== undefined;
  const quotes =
    isLater && !isSlip ? '; if it belongs to the value before it, put that value in "quotes"' : "";
  refuse([], new Refusal(`${showValue(field)} ${parsed.problem}`, `${advice}${quotes}`));
  return false;
}

function join(matchers: Matcher[], { field, condition }: Matcher, refuse: Refuse): void {
  const known = matchers.find((matcher) => matcher.field === field);
  const [key] = Object.keys(condition) as (keyof Condition)[];
  if (known === undefined || key === undefined) {
    matchers.push({ field, condition });
    return;
  }
  if (known.condition[key] === undefined) {
    Object.assign(known.condition, condition);
    return;
  }
  if (key !== "equals") {
    matchers.push({ field, condition });
    return;
  }
  const both = [...(known.condition.equals ?? []), ...(condition.equals ?? [])];
  refuse(
    [],
    new Refusal(
      "asks for a second value of the same field",
      `for any of them write ${field}=${both.join(",")}`,
    ),
  );
}
