import { severities, statuses } from "../core/alert.ts";
import { deliveryStates } from "../core/delivery.ts";
import type { AlertQuery, FactCondition } from "../core/ports/alert-log.ts";
import { suggestOrList } from "../ground/text/suggest.ts";

/** A state of at least one delivery, or of the alert itself. */
export const stateFilters = [
  ...deliveryStates,
  "problem",
  "unmatched",
  "damped",
  "dropped",
  "repeat",
  "unrouted",
] as const;

export type Search = Pick<
  AlertQuery,
  "q" | "phrases" | "raw" | "severity" | "state" | "destination" | "route" | "source" | "key" | "facts"
>;

type Term = ReturnType<typeof readTerms>[number];

/**
 * Reads `token:USDC severity:critical value>1000000 "free text" depeg`. Every filter must hold. Other words are
 * searched for, quoted text as a phrase. Addresses (`https://…`) and quoted text name no field.
 */
export function parseSearch(text: string) {
  const search: Search = {};
  /** Problems in words for people. `search` then has the other terms. */
  const problems: string[] = [];
  const words: string[] = [];
  const phrases: string[] = [];
  const facts: FactCondition[] = [];
  for (const term of readTerms(text)) {
    if (term.field === undefined) (term.isQuoted ? phrases : words).push(term.text);
    else problems.push(...addFilter(term.field.toLowerCase(), term, { search, facts }));
  }
  if (words.length > 0) search.q = words.join(" ");
  if (phrases.length > 0) search.phrases = phrases;
  if (facts.length > 0) search.facts = facts;
  return { search, problems };
}

/** The same search with its words and phrases for raw payloads. Undefined where it has none. */
export function inPayloads(text: string): string | undefined {
  const read = readTerms(text);
  if (read.every(({ field }) => field !== undefined)) return undefined;
  const written = read.map(({ field, operator, text, isQuoted }) => {
    if (field === undefined) return `raw:"${text}"`;
    return `${field}${operator}${isQuoted ? `"${text}"` : text}`;
  });
  return written.join(" ");
}

/** A field and its operator, if any, and the text: in quotes, or up to the next space. */
const terms = /\s*(?:([a-z]+)(?!:\/\/)([<>]=|[:=<>]))?(?:"([^"]*)"?|(\S*))/gi;

function readTerms(text: string) {
  const found = [...text.matchAll(terms)].map(([, field, operator, quoted, word = ""]) => {
    return { field, operator, text: (quoted ?? word).trim(), isQuoted: quoted !== undefined };
  });
  return found.filter(({ field, text }) => field !== undefined || text !== "");
}

interface Found {
  search: Search;
  facts: FactCondition[];
}

/** Returns the problem of the term, if any. */
type Add = (found: Found, text: string, operator: string) => string | undefined;

const factIs =
  (fact: "token" | "chain"): Add =>
  ({ facts }, is) =>
    void facts.push({ fact, is });
const factHas =
  (fact: "metric" | "title"): Add =>
  ({ facts }, has) =>
    void facts.push({ fact, has });

/** A filter of the log. `choices`: its possible values. */
function filter(
  field: "severity" | "state" | "destination" | "route" | "source" | "key",
  choices?: readonly string[],
): Add {
  return ({ search }, text) => {
    if (search[field] !== undefined) return `${field} is given twice, and an alert has to pass every filter`;
    return choose(field, text, choices, (chosen) => Object.assign(search, { [field]: chosen }));
  };
}

function choose<T extends string>(
  field: string,
  text: string,
  choices: readonly T[] = [text as T],
  add: (choice: T) => unknown,
): string | undefined {
  const choice = choices.find((one) => one === text) ?? choices.find((one) => one === text.toLowerCase());
  if (choice === undefined) return `${field}:${text} is not known: ${suggestOrList(text, choices)}`;
  return void add(choice);
}

/** The fields of the language, in the order of lists for people. */
const fields = {
  token: factIs("token"),
  chain: factIs("chain"),
  metric: factHas("metric"),
  title: factHas("title"),
  value: addValue,
  severity: filter("severity", severities),
  status: ({ facts }, text) => choose("status", text, statuses, (is) => facts.push({ fact: "status", is })),
  state: filter("state", stateFilters),
  destination: filter("destination"),
  route: filter("route"),
  source: filter("source"),
  key: filter("key"),
  raw: ({ search }, text) => void Object.assign(search, { raw: [...(search.raw ?? []), text] }),
} satisfies Record<string, Add>;
export const searchFields = Object.keys(fields) as (keyof typeof fields)[];

/** Returns the problems of the filter, if any. */
function addFilter(name: string, { operator = ":", text }: Term, found: Found): string[] {
  const field = searchFields.find((one) => one === name);
  if (field === undefined) {
    const near = suggestOrList(name, searchFields);
    return [`there is no field ${name} to search in: ${near} (in quotes it is searched for literally)`];
  }
  if (text === "") return [`there is no value after ${field}${operator}`];
  if (field !== "value" && operator !== ":" && operator !== "=")
    return [`${field} cannot be compared with ${operator}, write ${field}:${text}`];
  return [fields[field](found, text, operator) ?? []].flat();
}

const multiples: Record<string, number> = { k: 1e3, m: 1e6, b: 1e9, bn: 1e9, t: 1e12, tn: 1e12 };

/** `1000000`, `1,000,000`, `1_000_000`, `1M`, `2.5bn`, `1e-18`. */
function readNumber(text: string): number | undefined {
  const parts = /^([-+]?[\d.,_]{1,60}(?:e[-+]?\d{1,4})?)([a-z]{0,2})$/i.exec(text);
  const suffix = parts?.[2]?.toLowerCase() ?? "";
  const multiple = suffix === "" ? 1 : multiples[suffix];
  const digits = parts?.[1]?.replace(/[,_]/g, "") ?? "";
  const number = Number(digits) * (multiple ?? Number.NaN);
  return digits === "" || !Number.isFinite(number) ? undefined : number;
}

function addValue({ facts }: Found, text: string, operator: string): string | undefined {
  const number = readNumber(text);
  if (number === undefined) return `value${operator}${text} is no number, write e.g. value>1000000`;
  const compare = operator === ":" ? "=" : (operator as "=" | ">" | "<" | ">=" | "<=");
  facts.push({ fact: "value", compare, number });
  return undefined;
}
