import { hash } from "node:crypto";
import { type Leaf, laterElement, lineOf, perPlace } from "../../facts/leaves.ts";
import { toPlainLine, wordSet } from "../../ground/text/plain-text.ts";
import { readTime } from "../../ground/time/read-time.ts";
import type { FoundFacts } from "../find/find-facts.ts";
import { shortenAddress } from "../find/make-title.ts";
import type { Measurement } from "../find/read-measurement.ts";
import { readSeverity } from "../find/read-severity.ts";
import { leadingWord, withoutEnding, withoutStatus } from "../find/read-status.ts";
import { writeKey } from "./keys.ts";
import { type SteadyWords, steadyWords } from "./steady-words.ts";

/** How much of a title is searched for readings. No message shows more. */
const maxSteadied = 2_000;

/** Names of ids that stay the same from firing to resolved. Each is enough alone. */
const lifeNames =
  wordSet(`fingerprint dedupkey deduplicationkey dedupid alertkey incidentkey aggregkey aggregationkey alias
  incidentid groupid`);

/** Names of ids of rules. A rule may watch many things. */
const ruleNames = wordSet(`ruleid ruleuid alertruleid alertruleuid alertid monitorid subscriptionid alarmarn alarmname
  alertdefinitionid policyid conditionid alertname rulename checkid`);
const ruleContainers = wordSet("rule alertrule alert monitor subscription check policy strategy");

const conditionNames = wordSet("condition operator direction comparator comparison comparisonoperator threshold");

/** Names that tell one watched thing from another. */
const subjectNames = wordSet(`metric metrickey metricname token tokenaddress tokensymbol symbol ticker asset coin pair
  pool pooladdress market exchange protocol chain chainid network address contract wallet walletaddress account
  accountid user userid host hostname instance device service job namespace cluster region environment env monitorid`);

export interface KeySources {
  leaves: Leaf[];
  found: FoundFacts;
  /** The title of the message. Used when the sender gives none. */
  title: string;
  text: string | undefined;
  measured: Measurement | undefined;
  /** Whether the request has several alerts. The group's key then names none of them. */
  inBatch: boolean;
}

/**
 * Names the thing that fires and resolves. The first of these that exists is taken: a mapping's key; the sender's own;
 * the rule with its subject; metric, token, chain and condition; the title with the subject. In doubt keys differ: two
 * things under one key would become one, and the second might not ring. Without anything better the text counts too.
 *
 * Readings are removed from a title only where it describes a lasting state: it reads as a measurement, or has a
 * status. "Large transfer: 5,000,000 USDC" is an event, and another amount is another event.
 */
export function deriveAlertKey(sources: KeySources): string {
  const { leaves, found } = sources;
  if (found.alertKey !== undefined) return keyOf("mapping", [found.alertKey]);
  const life = leaves.find((leaf) => namesLife(leaf, sources.inBatch));
  if (life !== undefined) return keyOf(kindOfLife(life), [lineOf(life)]);

  const facts = [found.metric, found.token, found.chain].filter((fact) => fact !== undefined);
  const factTexts = new Set<string>(facts);
  const subjects: string[] = [];
  const conditions: string[] = [];
  const rules: string[] = [];
  for (const leaf of leaves) {
    const { isSubject, isCondition, isRule } = keyNamesOf(leaf);
    if (isSubject && !factTexts.has(leaf.text)) subjects.push(showPair(leaf));
    if (isCondition) conditions.push(showPair(leaf));
    if (isRule) rules.push(showPair(leaf));
  }
  for (const pairs of [subjects, conditions, rules]) pairs.sort();
  const watched = [...facts, ...subjects];
  if (rules.length > 0) return keyOf("rule", [...rules, ...watched, ...conditions, ...wordsOf(sources)]);
  const named = conditions.length > 0 || (found.title ?? found.text) === undefined;
  if (found.metric !== undefined && named) return keyOf("metric", [...watched, ...conditions]);
  return keyOf("title", [...steadyTitle(sources), ...watched, ...wordsOf(sources)]);
}

/** The leaves that `deriveAlertKey` reads besides the facts. None where the sender gives a key. */
export function keyLeaves({ leaves, found, inBatch }: Pick<KeySources, "leaves" | "found" | "inBatch">): Leaf[] {
  if (found.alertKey !== undefined) return [];
  const life = leaves.find((leaf) => namesLife(leaf, inBatch));
  if (life !== undefined) return [life];
  return leaves.filter((leaf) => {
    const { isSubject, isCondition, isRule } = keyNamesOf(leaf);
    return isSubject || isCondition || isRule;
  });
}

/** Without status and metric only the same words are the same thing. Times and plain numbers are left out. */
function wordsOf(sources: KeySources): string[] {
  const { found, leaves, text } = sources;
  if (found.status !== "unknown" || found.metric !== undefined) return [];
  const said = leaves.filter((leaf) => !found.used.has(leaf) && (leaf.kind === "string" || keyNamesOf(leaf).endsInId));
  const pairs = said.filter((leaf) => readTime(leaf.text) === undefined).map(showPair);
  if (text === undefined && pairs.length === 0) return [];
  const shown = [text, ...pairs].join("\n");
  const steady = lastsAWhile(sources) ? steadyLines(shown) : shown;
  return [`words ${hash("sha256", steady).slice(0, 16)}`];
}

function steadyLines(text: string): string {
  return text
    .split("\n")
    .map((line) => partsOf(steadyWords(line, "unknown"))?.join(" ") ?? line)
    .join("\n");
}

/** What the names of a place mean for the key. */
interface KeyNames {
  /** `group`: the id of the whole batch. */
  life: "own" | "group" | undefined;
  isRule: boolean;
  isSubject: boolean;
  isCondition: boolean;
  endsInId: boolean;
}

const keyNamesOf = perPlace(({ names }): KeyNames => {
  const name = names.at(-1) ?? "";
  const above = names.at(-2) ?? "";
  const isLater = names.includes(laterElement);
  const isLife = lifeNames.has(name) || (name === "id" && /^(incident|issue|problem)$/.test(above));
  const isOfRule = ruleNames.has(name) || (/^(id|uid|name)$/.test(name) && ruleContainers.has(above));
  const isOfSubject = subjectNames.has(name) || (/^(id|key|name)$/.test(name) && subjectNames.has(above));
  return {
    life: isLater ? undefined : isLife ? "own" : name === "groupkey" ? "group" : undefined,
    isRule: isOfRule && !isLater,
    isSubject: above === "labels" ? name !== "severity" && name !== "alertname" : isOfSubject,
    isCondition: conditionNames.has(name),
    endsInId: name.endsWith("id"),
  };
});

function namesLife(leaf: Leaf, inBatch: boolean): boolean {
  const { life } = keyNamesOf(leaf);
  return leaf.kind !== "boolean" && (life === "own" || (life === "group" && !inBatch));
}

function kindOfLife({ names }: Leaf): string {
  return names.slice(names.at(-1) === "id" ? -2 : -1).join(".");
}

const leadOfPair = perPlace(({ names }) => `${names.slice(-2).join(".")}=`);

function showPair(leaf: Leaf): string {
  return leadOfPair(leaf) + lineOf(leaf);
}

/** The title without status and readings, then its limit. */
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

/** The words that the first version made of a token's reading. Keys are kept for long, so they must not change. */
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

/** Whether an alert describes a state, not an event. A status from a word of severity ("CRITICAL …") does not count. */
function lastsAWhile({ found, title, measured }: KeySources): boolean {
  if (found.status === "resolved" || measured !== undefined) return true;
  const word = leadingWord(found.title ?? title);
  const isSeverity = word !== undefined && readSeverity(word, "severity") !== undefined;
  return found.status === "firing" && !isSeverity;
}

function keyOf(kind: string, parts: string[]): string {
  return writeKey(kind, parts.filter((part) => part !== "").join("|"));
}
