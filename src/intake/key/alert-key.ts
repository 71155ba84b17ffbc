import { createHash } from "node:crypto";
import { toPlainLine } from "../../ground/text/plain-text.ts";
import type { FoundFacts } from "../find/find-facts.ts";
import type { Leaf } from "../find/leaves.ts";
import { shortenAddress } from "../find/make-title.ts";
import type { Measurement } from "../find/read-measurement.ts";
import { readSeverity } from "../find/read-severity.ts";
import { leadingWord, withoutEnding, withoutStatus } from "../find/read-status.ts";
import { readTime } from "../find/read-time.ts";
import { type SteadyWords, steadyWords } from "./steady-words.ts";

const maxKeyLength = 200;
/** How much of a title readings are looked for in; no message shows more of it. */
const maxSteadied = 2_000;

/** Names of one thing's life, the same while it fires and when it resolves. Each is enough alone. */
const lifeNames =
  words(`fingerprint dedupkey deduplicationkey dedupid alertkey incidentkey aggregkey aggregationkey alias
  incidentid groupid`);

/** Names of the rule that fired, which may watch many things. */
const ruleNames = words(`ruleid ruleuid alertruleid alertruleuid alertid monitorid subscriptionid alarmarn alarmname
  alertdefinitionid policyid conditionid alertname rulename checkid`);
const ruleContainers = words("rule alertrule alert monitor subscription check policy strategy");

const conditionNames = words("condition operator direction comparator comparison comparisonoperator threshold");

/** Names that distinguish one watched thing from another. */
const subjectNames = words(`metric metrickey metricname token tokenaddress tokensymbol symbol ticker asset coin pair
  pool pooladdress market exchange protocol chain chainid network address contract wallet walletaddress account
  accountid user userid host hostname instance device service job namespace cluster region environment env monitorid`);

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

export interface KeySources {
  leaves: Leaf[];
  found: FoundFacts;
  /** The title the message will have; used when the sender gives none. */
  title: string;
  text: string | undefined;
  /** What the title measures, if it does. */
  measured: Measurement | undefined;
  /** One of several alerts of a request, so that the group's key does not name it. */
  inBatch: boolean;
}

/**
 * Names the thing that fires and resolves. By preference: the sender's own key; the rule with what it watches; metric,
 * token, chain and condition; the title with what is watched. Two things under one key would become one, and the
 * second might only edit a message instead of ringing, so in doubt keys differ: the text counts too when nothing better
 * names it.
 *
 * Readings leave a title only where it is sure to be about a state that lasts: it reads as a measurement, or a status
 * comes with it. "Large transfer: 5,000,000 USDC" is an event, and the next one with another amount is another event.
 */
export function deriveAlertKey(sources: KeySources): string {
  const { leaves, found } = sources;
  const life = leaves.find((leaf) => namesLife(leaf, sources.inBatch));
  if (life !== undefined) return keyOf(kindOfLife(life), [toPlainLine(life.text)]);

  const facts = [found.metric, found.token, found.chain].filter((fact) => fact !== undefined);
  const factTexts = new Set<string>(facts);
  const subjects = showSorted(leaves.filter((leaf) => namesSubject(leaf) && !factTexts.has(leaf.text)));
  const conditions = showSorted(leaves.filter((leaf) => conditionNames.has(leaf.names.at(-1) ?? "")));
  const rules = showSorted(leaves.filter(namesRule));
  const watched = [...facts, ...subjects];
  if (rules.length > 0) return keyOf("rule", [...rules, ...watched, ...conditions, ...wordsOf(sources)]);
  const named = conditions.length > 0 || (found.title ?? found.text) === undefined;
  if (found.metric !== undefined && named) return keyOf("metric", [...watched, ...conditions]);
  return keyOf("title", [...steadyTitle(sources), ...watched, ...wordsOf(sources)]);
}

/**
 * What an alert says, where nothing says that it has a life: without a status and a metric only the same words again
 * are the same thing. Times and plain numbers are left out, as they differ each time.
 */
function wordsOf(sources: KeySources): string[] {
  const { found, leaves, text } = sources;
  if (found.status !== "unknown" || found.metric !== undefined) return [];
  const said = leaves.filter(
    (leaf) => !found.used.has(leaf) && (leaf.kind === "string" || /id$/.test(leaf.names.at(-1) ?? "")),
  );
  const pairs = said.filter((leaf) => readTime(leaf.text) === undefined).map(showPair);
  if (text === undefined && pairs.length === 0) return [];
  const shown = [text, ...pairs].join("\n");
  const steady = lastsAWhile(sources) ? steadyLines(shown) : shown;
  return [`words ${digestOf(steady).slice(0, 16)}`];
}

function steadyLines(text: string): string {
  return text
    .split("\n")
    .map((line) => partsOf(steadyWords(line, "unknown"))?.join(" ") ?? line)
    .join("\n");
}

function showSorted(leaves: Leaf[]): string[] {
  return leaves.map(showPair).toSorted();
}

function kindOfLife({ names }: Leaf): string {
  return names.slice(names.at(-1) === "id" ? -2 : -1).join(".");
}

function namesLife(leaf: Leaf, inBatch: boolean): boolean {
  const name = leaf.names.at(-1) ?? "";
  if (leaf.kind === "boolean" || leaf.names.includes("#")) return false;
  if (lifeNames.has(name) || (name === "groupkey" && !inBatch)) return true;
  return name === "id" && /^(incident|issue|problem)$/.test(leaf.names.at(-2) ?? "");
}

function namesRule(leaf: Leaf): boolean {
  const name = leaf.names.at(-1) ?? "";
  if (leaf.names.includes("#")) return false;
  return ruleNames.has(name) || (/^(id|uid|name)$/.test(name) && ruleContainers.has(leaf.names.at(-2) ?? ""));
}

function namesSubject(leaf: Leaf): boolean {
  const name = leaf.names.at(-1) ?? "";
  if (leaf.names.at(-2) === "labels") return name !== "severity" && name !== "alertname";
  return subjectNames.has(name) || (/^(id|key|name)$/.test(name) && subjectNames.has(leaf.names.at(-2) ?? ""));
}

function showPair(leaf: Leaf): string {
  return `${leaf.names.slice(-2).join(".")}=${toPlainLine(leaf.text)}`;
}

/** The title without its status and its readings, which differ from one message to the next; then its limit. */
function steadyTitle(sources: KeySources): string[] {
  const { found, title } = sources;
  if (found.title === undefined && found.text === undefined && found.token !== undefined) {
    return [steadyReading(found, found.token)];
  }
  const bare = withoutStatus(found.title ?? title);
  const sent = toPlainLine(withoutEnding(bare) ?? bare);
  const [words = sent.toLowerCase(), ...limit] =
    (lastsAWhile(sources) ? partsOf(steadyWords(sent, found.status)) : undefined) ?? [];
  const readings = [found.value, found.previousValue].filter((reading) => (reading?.length ?? 0) > 1);
  const steady = readings.reduce<string>(
    (rest, reading = "") => rest.replaceAll(reading.toLowerCase(), "…"),
    words.slice(0, maxSteadied),
  );
  return [steady + words.slice(maxSteadied), ...limit];
}

function partsOf(steady: SteadyWords | undefined): string[] | undefined {
  if (steady === undefined) return undefined;
  return steady.limit === undefined ? [steady.words] : [steady.words, steady.limit];
}

/**
 * A title that was made of a token's reading, in the words that it has had since the first version: keys are kept for
 * long.
 */
function steadyReading({ value, previousValue, threshold, unit }: FoundFacts, token: string): string {
  const shown = unit === undefined || unit.length > 20 ? "" : unit === "%" ? "%" : ` ${unit}`;
  const subject = `${value === undefined && threshold === undefined ? "Alert on " : ""}${shortenAddress(token)}`;
  return [
    `${subject}${value === undefined ? "" : ` is …${shown}`}`,
    ...(previousValue === undefined ? [] : ["was …"]),
    ...(threshold === undefined ? [] : [`threshold ${threshold}`]),
  ]
    .join(", ")
    .toLowerCase();
}

/**
 * Whether an alert is about a state and no single event. A status that is read from a word of severity ("CRITICAL …")
 * says nothing about that.
 */
function lastsAWhile({ found, title, measured }: KeySources): boolean {
  if (found.status === "resolved" || measured !== undefined) return true;
  const word = leadingWord(found.title ?? title);
  const isSeverity = word !== undefined && readSeverity(word, "severity") !== undefined;
  return found.status === "firing" && !isSeverity;
}

/** Kinds are prefixed, so that a title can never equal somebody's fingerprint; long keys are hashed. */
function keyOf(kind: string, parts: string[]): string {
  const key = `${kind}:${parts.filter((part) => part !== "").join("|")}`;
  if (key.length <= maxKeyLength) return key;
  return `${kind}:sha256:${digestOf(key)}`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
