import { oneLine } from "../../ground/text/clean.ts";
import { parseDuration } from "../../ground/time/duration.ts";

/** A condition on a metric that an alert is expected of, as far as it could be read. */
export interface GapRule {
  /** The subscription's id, or made of what is known. */
  name: string;
  subscriptionId?: string;
  metricKey: string;
  kind: "above" | "below" | "change";
  /** Of the value; with `change` in percent. */
  threshold: number;
  /** With `change`: against the value so long before. */
  windowMs?: number;
  /** It was made or changed then; before, another condition may have held. */
  since?: number;
  /** It is over from then on. */
  until?: number;
  /** A member that may keep it silent at times: hours, days, a snooze. */
  rests?: string;
  /** `alerts`: past alerts reveal it, no subscription that could be read does. */
  from: "subscription" | "alerts";
  /** What the service calls the metric. */
  metricName?: string;
  /** What alerts that name no key may call the metric. */
  token?: string;
  chain?: string;
}

export interface ReadSubscriptions {
  rules: GapRule[];
  /** Those of which no alert can be expected, since something of them cannot be read. */
  unread: { what: string; metricKey?: string; why: string }[];
  /** Switched off, so that no alert is expected. */
  off: number;
}

interface Leaf {
  /** Lower case, letters and digits only. */
  names: string[];
  value: string | number | boolean;
}

const maxLeaves = 300;
const maxDepth = 8;

/**
 * Reads what the service lists as subscriptions. Of its members only two names are documented, `subscription` and
 * `metric`, so everything is found by what members are usually called; what cannot be read says so. Pure, never throws.
 */
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
function shortName(name: string | undefined): string | undefined {
  return name === undefined ? undefined : oneLine(name, longestName);
}

type Condition = Pick<GapRule, "kind" | "threshold" | "windowMs">;
type ReadOne = { id?: string } & (
  | { kind: "off" }
  | { kind: "unread"; metricKey?: string; why: string }
  | { kind: "rules"; rules: Omit<GapRule, "name">[] }
);

function readSubscription(entry: unknown): ReadOne {
  const whole = asObject(entry);
  if (whole === undefined) return { kind: "unread", why: "it is no object" };
  const own = asObject(whole.subscription) ?? withoutMetric(whole);
  const metric = asObject(whole.metric) ?? asObject(own.metric) ?? {};
  const leaves = listLeaves(withoutMetric(own));
  const ofMetric = listLeaves(metric);
  const id = textOf(leaves, [["id"], ["subscriptionid"], ["uuid"]]);
  if (isOff(leaves)) return { id, kind: "off" };
  const metricKey = findMetricKey(leaves, ofMetric);
  if (metricKey === undefined) return { id, kind: "unread", why: "the key of its metric is not among its members" };
  const conditions = readConditions(leaves);
  if (typeof conditions === "string") return { id, kind: "unread", metricKey, why: conditions };
  const common = {
    metricKey,
    since: sinceOf(leaves),
    until: endOf(leaves),
    rests: leaves.find(mayRest)?.names.join("."),
    from: "subscription" as const,
    metricName: shortName(textOf(ofMetric, [["displayname"], ["label"], ["title"], ["metricname"], ["name"]])),
    token: textOf(ofMetric, [["tokensymbol"], ["token", "symbol"], ["symbol"]]),
    chain: textOf(ofMetric, [["chainid"], ["chain"], ["network"]]),
  };
  return { id, kind: "rules", rules: conditions.map((condition) => ({ ...common, ...condition })) };
}

/** Why there is none, in words, or the conditions: more than one where each bound has a member of its own. */
function readConditions(leaves: Leaf[]): Condition[] | string {
  const bounds = leaves.flatMap(({ names, value }) => {
    const kind = boundNames[names.at(-1) ?? ""];
    const threshold = toNumber(value);
    return kind === undefined || threshold === undefined ? [] : [{ kind, threshold }];
  });
  if (bounds.length > 0) {
    const isOnePerSide = new Set(bounds.map(({ kind }) => kind)).size === bounds.length;
    return isOnePerSide ? bounds : "it has more than one condition";
  }
  const phrases = leaves.flatMap(({ value }) => (typeof value === "string" ? (readPhrase(value) ?? []) : []));
  const [phrase, ...morePhrases] = phrases;
  if (phrase !== undefined && morePhrases.length === 0) return [phrase];
  const kinds = new Set(leaves.filter(isConditionName).flatMap(({ value }) => kindOf(value) ?? []));
  const said = leaves.filter(isConditionName).map(({ value }) => String(value));
  if (kinds.size === 0) {
    const what =
      said[0] === undefined ? "which condition it has" : `what its condition "${oneLine(said[0], 40)}" means`;
    return `it cannot be read ${what}`;
  }
  if (kinds.size > 1) return "it has more than one condition";
  const [kind] = kinds;
  const thresholds = findNumbers(leaves, kind === "change" ? percentNames : thresholdNames);
  if (thresholds.length === 0) return "its threshold is not among its members";
  const [threshold, ...others] = thresholds;
  if (others.length > 0 || threshold === undefined) return "it has more than one threshold";
  if (kind !== "change") return [{ kind: kind ?? "above", threshold }];
  const windowMs = findWindow(leaves);
  if (windowMs === undefined) return "the time over which it compares is not among its members";
  return [{ kind, threshold, windowMs }];
}

const conditionNames =
  /^(?:kind|type|operator|op|comparator|comparison|condition|conditiontype|direction|mode|trigger|triggertype|alerttype|rule|when)$/;

function isConditionName({ names, value }: Leaf): boolean {
  return typeof value === "string" && conditionNames.test(names.at(-1) ?? "");
}

const thresholdNames = [
  "threshold",
  "thresholdvalue",
  "limit",
  "target",
  "targetvalue",
  "triggervalue",
  "level",
  "bound",
  "value",
  "price",
  "amount",
];
const percentNames = ["percent", "percentage", "changepercent", "pct", "changepct", ...thresholdNames];

const boundNames: Record<string, "above" | "below"> = {
  above: "above",
  over: "above",
  gt: "above",
  gte: "above",
  greaterthan: "above",
  upper: "above",
  upperbound: "above",
  upperthreshold: "above",
  below: "below",
  under: "below",
  lt: "below",
  lte: "below",
  lessthan: "below",
  lower: "below",
  lowerbound: "below",
  lowerthreshold: "below",
};

function kindOf(value: Leaf["value"]): Condition["kind"] | undefined {
  const text = String(value).trim().toLowerCase();
  if (/change|percent|pct|moved?s?\b|deviat|volatil/.test(text)) return "change";
  if (/between|outside|inside|range|equal$|^(?:=|==|eq|neq|!=)$/.test(text)) return undefined;
  if (/^>=?$/.test(text) || /\b(?:above|over|greater|gte?|exceeds?|higher|rises?|up|more)\b/.test(spaced(text)))
    return "above";
  if (/^<=?$/.test(text) || /\b(?:below|under|less|lte?|lower|falls?|drops?|down)\b/.test(spaced(text))) return "below";
  return undefined;
}

/** `GREATER_THAN`, `crosses-above` */
function spaced(text: string): string {
  return text.replace(/[_.:-]+/g, " ");
}

const longestPhrase = 200;

/** "> 3300", "price above 3,300": nothing else with a digit stands in it. */
function readPhrase(text: string): Condition | undefined {
  if (text.length > longestPhrase) return undefined;
  const parts =
    /^[^\d<>]{0,60}?(>=?|<=?|\babove\b|\bover\b|\bbelow\b|\bunder\b)[\s$]*(-?\d[\d,_]*(?:\.\d+)?)[^\d,_]{0,16}$/i.exec(
      text,
    );
  const threshold = parts === null ? undefined : toNumber(parts[2] ?? "");
  if (parts === null || threshold === undefined) return undefined;
  return { kind: /^(?:>|above|over)/i.test(parts[1] ?? "") ? "above" : "below", threshold };
}

/** The different numbers under the first of the names that has any. */
function findNumbers(leaves: Leaf[], names: readonly string[]): number[] {
  for (const name of names) {
    const values = leaves.filter((leaf) => leaf.names.at(-1) === name).flatMap(({ value }) => toNumber(value) ?? []);
    if (values.length > 0) return [...new Set(values)];
  }
  return [];
}

function findWindow(leaves: Leaf[]): number | undefined {
  for (const { names, value } of leaves) {
    const parts =
      /^(?:window|timewindow|period|interval|timeframe|lookback|duration)(ms|milliseconds|s|sec|seconds|minutes|min|hours|h)?$/.exec(
        names.at(-1) ?? "",
      );
    if (parts === null) continue;
    const unitMs = windowUnits[parts[1] ?? ""];
    const number = toNumber(value);
    if (unitMs !== undefined && number !== undefined && number > 0) return number * unitMs;
    const ms = typeof value === "string" ? parseDuration(value) : undefined;
    if (ms !== undefined && ms > 0) return ms;
  }
  return undefined;
}

const windowUnits: Record<string, number | undefined> = {
  ms: 1,
  milliseconds: 1,
  s: 1000,
  sec: 1000,
  seconds: 1000,
  min: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hours: 3_600_000,
};

function isOff(leaves: Leaf[]): boolean {
  return leaves.some(({ names, value }) => {
    const name = names.at(-1) ?? "";
    if (/^(?:is)?(?:enabled|active)$/.test(name)) return value === false || value === 0 || value === "false";
    if (/^(?:is)?(?:paused|muted|disabled|archived|deleted)$/.test(name)) return value === true || value === "true";
    return (
      /^(?:status|state)$/.test(name) &&
      /^(?:paused|muted|disabled|inactive|archived|deleted|off)$/i.test(String(value))
    );
  });
}

/** `<chain>_<what>_<address>`, the one form that the interface shows. */
const keyShape = /^[a-z0-9-]+(?:_[a-z0-9.-]+)*_0x[0-9a-f]{6,64}$/i;
export function isMetricKey(word: string): boolean {
  return keyShape.test(word);
}

/** No key is a sentence. */
const keyLike = /^[^\s]{3,300}$/;

function findMetricKey(leaves: Leaf[], ofMetric: Leaf[]): string | undefined {
  const named = textOf(ofMetric, [["key"], ["metrickey"]]) ?? textOf(leaves, [["metrickey"], ["metric"], ["key"]]);
  if (named !== undefined && keyLike.test(named)) return named;
  const shaped = [...ofMetric, ...leaves].flatMap(({ value }) =>
    typeof value === "string" && keyShape.test(value) ? [value] : [],
  );
  const [first, ...others] = new Set(shaped);
  return others.length === 0 ? first : undefined;
}

function sinceOf(leaves: Leaf[]): number | undefined {
  const instants = leaves
    .filter(
      ({ names }) => names.length === 1 && /^(?:created|updated|modified|changed)(?:at|on|time)?$/.test(names[0] ?? ""),
    )
    .flatMap(({ value }) => toInstant(value) ?? []);
  return instants.length === 0 ? undefined : Math.max(...instants);
}

/** The earliest, where several members name one. */
function endOf(leaves: Leaf[]): number | undefined {
  const ends = leaves
    .filter(({ names }) =>
      /^(?:expires?|expiry|expiration|ends?|validuntil|activeuntil)(?:at|on|time|date|timestamp)?$/.test(
        names.at(-1) ?? "",
      ),
    )
    .flatMap(({ value }) => (typeof value === "boolean" ? [] : (toInstant(value) ?? [])))
    // Less is a number of something else.
    .filter((at) => at > leastEnd);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

const leastEnd = Date.UTC(2000);

/** When it is silent is nobody's guess; that it may be is enough. */
function mayRest({ names, value }: Leaf): boolean {
  if (value === false || value === "" || value === 0) return false;
  return names.some((name) =>
    /^(?:schedule|activehours|quiethours|workinghours|businesshours|hours|weekdays|activedays|days|snooze\w{0,10}|mute(?:d)?until|pause(?:d)?until|activefrom|startsat|starttime|endtime)$/.test(
      name,
    ),
  );
}

function toInstant(value: Leaf["value"]): number | undefined {
  const number = toNumber(value);
  const at = number === undefined ? Date.parse(String(value)) : number < 1e11 ? number * 1000 : number;
  return Number.isFinite(at) && at > 0 && at < 8.64e15 ? at : undefined;
}

/** The text at the first of the paths that leads to one. A path ends a leaf's names. */
function textOf(leaves: Leaf[], paths: readonly (readonly string[])[]): string | undefined {
  for (const path of paths) {
    const leaf = leaves.find(
      ({ names, value }) =>
        typeof value !== "boolean" &&
        names.length === path.length &&
        path.every((name, index) => names[index] === name),
    );
    if (leaf !== undefined && String(leaf.value) !== "") return oneLine(String(leaf.value), 300);
  }
  return undefined;
}

/** Longer ones are no numbers that anybody compares with. */
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

/** What is said of the metric is no condition: its `value` is the present one. */
function withoutMetric(object: Record<string, unknown>): Record<string, unknown> {
  if (asObject(object.metric) === undefined) return object;
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== "metric"));
}

function listLeaves(root: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const walk = (value: unknown, names: string[]): void => {
    if (leaves.length >= maxLeaves || names.length > maxDepth) return;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      leaves.push({ names, value });
    } else if (Array.isArray(value)) {
      for (const item of value.slice(0, maxLeaves)) walk(item, names);
    } else if (typeof value === "object" && value !== null) {
      for (const [name, item] of Object.entries(value).slice(0, maxLeaves)) {
        walk(item, [
          ...names,
          name
            .slice(0, 100)
            .toLowerCase()
            .replace(/[^a-z0-9]/g, ""),
        ]);
      }
    }
  };
  walk(root, []);
  return leaves;
}
