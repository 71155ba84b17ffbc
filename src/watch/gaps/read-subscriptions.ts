import { readMetricKey } from "../../core/metric-key.ts";
import { type Leaf, listLeaves } from "../../facts/leaves.ts";
import { type Candidate, guessMetric, guessSubscription, restNames, windowUnits } from "../../facts/usual-names.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { parseDuration } from "../../ground/time/duration.ts";

/** A condition on a metric for which an alert is expected, as far as it could be read. */
export interface GapRule {
  /** The subscription's id, or a name from other facts. */
  name: string;
  subscriptionId?: string;
  metricKey: string;
  kind: "above" | "below" | "change";
  /** The threshold of the value. With `change` it is in percent. */
  threshold: number;
  /** With `change`: the time back to the value that is compared. */
  windowMs?: number;
  /** When the rule was made or changed. Before, another condition may have applied. */
  since?: number;
  until?: number;
  /** A member that may silence it at times: hours, days, a snooze. */
  rests?: string;
  /** `alerts`: past alerts reveal it, and no readable subscription does. */
  from: "subscription" | "alerts";
  metricName?: string;
  /** The name of the metric in alerts without a key. */
  token?: string;
  chain?: string;
}

export interface ReadSubscriptions {
  rules: GapRule[];
  /** Subscriptions that cannot be read in full, so no alert can be expected of them. */
  unread: { what: string; metricKey?: string; why: string }[];
  /** The number of subscriptions that are switched off. No alert is expected of them. */
  off: number;
}

/** Only `subscription` and `metric` are documented. Other members are found by usual names. Pure, never throws. */
export function readSubscriptions(entries: readonly unknown[]): ReadSubscriptions {
  const found: ReadSubscriptions = { rules: [], unread: [], off: 0 };
  for (const [index, entry] of entries.entries()) {
    const read = readSubscription(entry);
    const what = read.id ?? `subscription ${index + 1} of the list`;
    if (read.kind === "off") found.off += 1;
    else if (read.kind === "unread") found.unread.push({ what, metricKey: read.metricKey, why: read.why });
    else for (const rule of read.rules) found.rules.push({ ...rule, name: what, subscriptionId: read.id });
  }
  return found;
}

const longestName = 80;

type Condition = Pick<GapRule, "kind" | "threshold" | "windowMs">;
type ReadOne = { id?: string } & (
  | { kind: "off" }
  | { kind: "unread"; metricKey?: string; why: string }
  | { kind: "rules"; rules: Omit<GapRule, "name">[] }
);

type Facts = ReturnType<typeof guessSubscription>;

function readSubscription(entry: unknown): ReadOne {
  const whole = asObject(entry);
  if (whole === undefined) return { kind: "unread", why: "it is no object" };
  const own = asObject(whole.subscription) ?? whole;
  // A condition may have a name, which would look like a pair of a name and a value.
  const { leaves } = listLeaves(withoutMetric(own), { readsPairs: false });
  const { leaves: ofMetric } = listLeaves(asObject(whole.metric) ?? asObject(own.metric) ?? {});
  const facts = guessSubscription(leaves);
  const metric = guessMetric(ofMetric);
  const id = textOf(facts("id"));
  if (isOff(facts)) return { id, kind: "off" };
  const metricKey = chooseKey(textOf(metric("key")) ?? textOf(facts("metricKey")), [...ofMetric, ...leaves]);
  if (metricKey === undefined) return { id, kind: "unread", why: "the key of its metric is not among its members" };
  const conditions = readConditions(leaves, facts);
  if (typeof conditions === "string") return { id, kind: "unread", metricKey, why: conditions };
  const instants = (fact: "since" | "until") => facts(fact).flatMap(({ leaf }) => toInstant(leaf) ?? []);
  const starts = instants("since");
  // A smaller number is no time.
  const ends = instants("until").filter((at) => at > leastEnd);
  const common = {
    metricKey,
    since: starts.length === 0 ? undefined : Math.max(...starts),
    until: ends.length === 0 ? undefined : Math.min(...ends),
    rests: leaves.find(mayRest)?.names.join("."),
    from: "subscription" as const,
    metricName: textOf(metric("name"), longestName),
    token: textOf(metric("token")),
    chain: textOf(metric("chain")),
  };
  return { id, kind: "rules", rules: conditions.map((condition) => ({ ...common, ...condition })) };
}

/** Several where each bound has a member of its own. A text: why there is none. */
function readConditions(leaves: readonly Leaf[], facts: Facts): Condition[] | string {
  const bounds = (["above", "below"] as const).flatMap((kind) =>
    facts(kind).flatMap(({ leaf }) => numbersIn(leaf).map((threshold) => ({ kind, threshold }))),
  );
  if (bounds.length > 0) {
    const isOnePerSide = new Set(bounds.map(({ kind }) => kind)).size === bounds.length;
    return isOnePerSide ? bounds : "it has more than one condition";
  }
  const texts = leaves.filter(({ kind }) => kind === "string").flatMap(partsOf);
  const [phrase, ...morePhrases] = texts.flatMap((text) => readPhrase(text) ?? []);
  if (phrase !== undefined && morePhrases.length === 0) return [phrase];
  const said = facts("condition").flatMap(({ leaf }) => (leaf.kind === "string" ? partsOf(leaf) : []));
  const [kind, ...otherKinds] = new Set(said.flatMap((word) => kindOf(word) ?? []));
  if (kind === undefined) {
    const what =
      said[0] === undefined ? "which condition it has" : `what its condition "${oneLine(said[0], 40)}" means`;
    return `it cannot be read ${what}`;
  }
  if (otherKinds.length > 0) return "it has more than one condition";
  const [threshold, ...otherThresholds] = firstNumbers(facts(kind === "change" ? "percent" : "threshold"));
  if (threshold === undefined) return "its threshold is not among its members";
  if (otherThresholds.length > 0) return "it has more than one threshold";
  if (kind !== "change") return [{ kind, threshold }];
  const windowMs = findWindow(facts("window"));
  if (windowMs === undefined) return "the time over which it compares is not among its members";
  return [{ kind, threshold, windowMs }];
}

function kindOf(said: string): Condition["kind"] | undefined {
  const text = said.trim().toLowerCase();
  if (/change|percent|pct|moved?s?\b|deviat|volatil/.test(text)) return "change";
  if (/between|outside|inside|range|equal$|^(?:=|==|eq|neq|!=)$/.test(text)) return undefined;
  if (/^>=?$/.test(text) || /\b(?:above|over|greater|gte?|exceeds?|higher|rises?|up|more)\b/.test(spaced(text)))
    return "above";
  if (/^<=?$/.test(text) || /\b(?:below|under|less|lte?|lower|falls?|drops?|down)\b/.test(spaced(text))) return "below";
  return undefined;
}

/** Separates the words of `GREATER_THAN` and `crosses-above`. */
function spaced(text: string): string {
  return text.replace(/[_.:-]+/g, " ");
}

const longestPhrase = 200;

/** Reads a text with one number: "> 3300", "price above 3,300". */
function readPhrase(text: string): Condition | undefined {
  if (text.length > longestPhrase) return undefined;
  const parts =
    /^[^\d<>]{0,60}?(>=?|<=?|\babove\b|\bover\b|\bbelow\b|\bunder\b)[\s$]*(-?\d[\d,_]*(?:\.\d+)?)[^\d,_]{0,16}$/i.exec(
      text,
    );
  const [, side = "", number] = parts ?? [];
  const threshold = toNumber(number);
  return threshold === undefined ? undefined : { kind: /^(?:>|above|over)/i.test(side) ? "above" : "below", threshold };
}

/** The different numbers under the first of the usual names that has any. */
function firstNumbers(candidates: readonly Candidate[]): number[] {
  const found = candidates.map(({ leaf }) => ({ name: leaf.names.at(-1), numbers: numbersIn(leaf) }));
  const best = found.find(({ numbers }) => numbers.length > 0)?.name;
  return [...new Set(found.flatMap(({ name, numbers }) => (name === best ? numbers : [])))];
}

function findWindow(candidates: readonly Candidate[]): number | undefined {
  for (const { leaf } of candidates) {
    const [, unitMs] = Object.entries(windowUnits).find(([ending]) => leaf.names.at(-1)?.endsWith(ending)) ?? [];
    const number = toNumber(leaf.text);
    const ms = unitMs === undefined || number === undefined ? parseDuration(leaf.text) : number * unitMs;
    if (ms !== undefined && ms > 0) return ms;
  }
  return undefined;
}

function isOff(facts: Facts): boolean {
  return (
    facts("isOn").some(({ leaf }) => /^(?:false|0)$/.test(leaf.text)) ||
    facts("isOff").some(({ leaf }) => leaf.text === "true") ||
    facts("state").some(({ leaf }) => /^(?:paused|muted|disabled|inactive|archived|deleted|off)$/i.test(leaf.text))
  );
}

const keyLike = /^[^\s]{3,300}$/;

/** The member that is named as the key, or the only one in the form of the service's keys. */
function chooseKey(named: string | undefined, leaves: readonly Leaf[]): string | undefined {
  if (named !== undefined && keyLike.test(named)) return named;
  const [first, ...others] = new Set(leaves.flatMap(partsOf).filter((text) => readMetricKey(text) !== undefined));
  return others.length === 0 ? first : undefined;
}

const leastEnd = Date.UTC(2000);

/** Whether the member may keep the rule silent at times. When cannot be guessed. */
function mayRest({ names, text }: Leaf): boolean {
  if (text === "false" || text === "0") return false;
  return names.some((name) => restNames.has(name) || /^snooze\w{0,10}$/.test(name));
}

function toInstant({ kind, text }: Leaf): number | undefined {
  const number = toNumber(text);
  const at = number === undefined ? Date.parse(text) : number < 1e11 ? number * 1000 : number;
  return kind !== "boolean" && Number.isFinite(at) && at > 0 && at < 8.64e15 ? at : undefined;
}

function textOf(candidates: readonly Candidate[], mostUnits = 300): string | undefined {
  const leaf = candidates.find((candidate) => candidate.leaf.kind !== "boolean")?.leaf;
  return leaf && oneLine(leaf.text, mostUnits);
}

/** A short list of scalars is one leaf. */
function partsOf({ isList, text }: Leaf): string[] {
  return isList ? text.split(", ") : [text];
}

function numbersIn(leaf: Leaf): number[] {
  return partsOf(leaf).flatMap((text) => toNumber(text) ?? []);
}

const longestNumber = 100;

export function toNumber(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || value.length > longestNumber) return undefined;
  const text = value.trim().replace(/(?<=\d)[,_](?=\d{3}(?!\d))/g, "");
  const number = text.endsWith("%") ? text.slice(0, -1).trimEnd() : text;
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i.test(number) ? Number(number) : undefined;
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** Members of the metric are no condition: its `value` is the present one. */
function withoutMetric(object: Record<string, unknown>): Record<string, unknown> {
  if (asObject(object.metric) === undefined) return object;
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== "metric"));
}
