import type { AlertFacts, AlertStatus, Severity, Translation } from "../../core/alert.ts";
import type { MappableFact } from "../../core/mapping.ts";
import { readMetricKey } from "../../core/metric-key.ts";
import { type Leaf, lineOf, perPlace } from "../../facts/leaves.ts";
import { type Candidate, type FactName, guessAlert } from "../../facts/usual-names.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { toPlainLine, toPlainText, wordOf } from "../../ground/text/plain-text.ts";
import { readTime } from "../../ground/time/read-time.ts";
import type { MappedPlaces } from "./mapped-facts.ts";
import type { Measured } from "./read-measurement.ts";
import { readSeverity, type SeverityWords } from "./read-severity.ts";
import { isKindOfNotification, leadingWord, readStatus, statusOfLeadingWord, withoutEnding } from "./read-status.ts";
import { findMetricKey, readLink } from "./read-value.ts";
import { splitUnit } from "./sentence.ts";

/** The facts at usual names of a payload, before titles and keys are made. */
export interface FoundFacts
  extends Omit<AlertFacts, "title" | "format" | "alertKey" | "fields" | "unlistedFields">,
    Pick<Translation, "mapped"> {
  title?: string;
  /** A title that only names a kind of event ("price.alert"). Used when there is no other. */
  weakTitle?: string;
  /** Only from a mapping. */
  alertKey?: string;
  /** Leaves that are shown as a fact. The field list leaves them out. */
  used: Set<Leaf>;
  /** The leaf of `value`. Its name may say what the number is. */
  valueLeaf?: Leaf;
  /** A leaf in the place of a severity with an unknown word. Absent where another place gives the severity. */
  unreadSeverity?: Leaf;
  /** The leaf of each fact that was read from one. */
  reads: FactRead[];
}

export interface SourceNaming {
  /** The name of the alert's hook. Absent: the account's hook. The alert then has the name that it gives itself. */
  is?: string;
  /** Names of sources. No other sender may claim one, since rules tell senders apart by them. */
  taken: ReadonlySet<string>;
}

export interface FactRead {
  fact: MappableFact;
  leaf: Leaf;
}

const maxShortFact = 200;

const readName = (leaf: Leaf) => (leaf.kind === "string" ? readShort(leaf) : undefined);

type GuessedFact = Exclude<FactName, "weakTitle">;

/**
 * Takes for each fact the best leaf that has one of its names and reads as one. A `time` that is no instant, a `link` that is no
 * address or a `severity` with an unknown word stays in the field list. Pure.
 * @param places findings of a mapping. They come before every guess
 */
export function findFacts(
  leaves: Leaf[],
  places?: MappedPlaces,
  naming?: SourceNaming,
  words?: SeverityWords,
): FoundFacts {
  const candidates = guessAlert(leaves);
  const used = new Set<Leaf>();
  const notes: string[] = [];
  const reads: FactRead[] = [];
  const mapped =
    places === undefined || places.size === 0 ? nothingMapped : readMapped(places, { used, notes, reads, words });
  const choose = <T>(fact: GuessedFact, read: (leaf: Leaf) => T | undefined) => {
    const chosen = firstReadable(candidates(fact), used, read);
    if (chosen === undefined) return undefined;
    used.add(chosen.leaf);
    reads.push({ fact, leaf: chosen.leaf });
    return chosen;
  };
  const take = <T>(fact: GuessedFact, read: (leaf: Leaf) => T | undefined) => choose(fact, read)?.value;

  const takePair = () => {
    const pair = choose("externalId", readPair);
    if (pair !== undefined) reads.push({ fact: "token", leaf: pair.leaf });
    return pair?.value;
  };

  const title = mapped.title ?? take("title", readTitle);
  const text =
    mapped.text ?? take("text", (leaf) => (leaf.kind === "string" ? toPlainText(leaf.text) || undefined : undefined));
  const threshold = mapped.threshold ?? take("threshold", readShort);
  const previousValue = mapped.previousValue ?? take("previousValue", readQuantity);
  const metric = mapped.metric ?? take("metric", readMetric) ?? findMetricKey(title ?? "") ?? findMetricKey(text ?? "");
  const about = { metric, title, threshold, leaves };
  const value =
    mapped.value ??
    take("value", (leaf) => (isOfOtherQuantity(leaf, about) ? undefined : readQuantity(leaf))) ??
    datapointIn(text);
  const unit = mapped.unit ?? take("unit", readShort);
  const chain = mapped.chain ?? take("chain", readShort);
  const token = mapped.token ?? take("token", readShort) ?? takePair();
  const link = mapped.link ?? take("link", (leaf) => readLink(leaf.text));
  const externalId = mapped.externalId ?? take("externalId", readShort);
  // Alerts of a source have its configured name. The name that they give themselves stays among the fields.
  const claimed = naming?.is === undefined ? (mapped.source ?? take("source", readName)) : undefined;
  const isOfAnother = claimed !== undefined && naming?.taken.has(claimed.trim().toLowerCase()) === true;
  if (isOfAnother) notes.push(`it calls itself ${claimed}, the name of a source, and did not arrive at that hook`);
  const source = isOfAnother ? undefined : claimed;
  const weakTitle = firstReadable(candidates("weakTitle"), used, readTitle)?.value;
  const status =
    mapped.status ?? takeStatus(leaves, candidates("status"), { used, reads }) ?? statusOfTitle(title ?? text);
  const parts = metric === undefined ? undefined : readMetricKey(metric);
  const severity = mapped.severity ?? takeSeverity(candidates, title ?? text, { used, notes, reads, words });
  return {
    title,
    text,
    metric,
    ...splitUnits({ threshold, previousValue, value, unit }),
    chain: chain ?? parts?.chain,
    token: token ?? (parts?.kind === "token" ? parts.address : undefined),
    link,
    externalId,
    source,
    weakTitle,
    severity,
    status: status ?? "unknown",
    occurredAt:
      mapped.occurredAt ??
      takeTime(candidates("occurredAt"), status === "resolved" ? leaves : [], { used, notes, reads }),
    alertKey: mapped.alertKey,
    mapped: mapped.by,
    notes,
    used,
    valueLeaf: reads.find(({ fact }) => fact === "value")?.leaf,
    unreadSeverity:
      severity === "unknown"
        ? unreadOf(places?.get("severity")?.[0]?.leaf ?? candidates("severity")[0]?.leaf, words)
        : undefined,
    reads,
  };
}

/** Splits the unit from a value ("24.3M USD") and from the other numbers, unless one has another unit. */
function splitUnits(all: Pick<FoundFacts, "threshold" | "previousValue" | "value" | "unit">): typeof all {
  const { threshold, previousValue, value, unit } = all;
  const found = unit === undefined ? splitUnit(value) : undefined;
  if (found === undefined) return all;
  const [limit, previous] = [splitUnit(threshold), splitUnit(previousValue)];
  if ([limit, previous].some((one) => one !== undefined && one.unit !== found.unit)) return all;
  return {
    threshold: limit?.amount ?? threshold,
    previousValue: previous?.amount ?? previousValue,
    value: found.amount,
    unit: found.unit,
  };
}

const nothingMapped: Partial<ReturnType<typeof readMapped>> = {};

/**
 * The facts of a mapping. A value that does not read as its fact is skipped with a note. A used leaf is no guess for
 * other facts. Severity and status keep their line, since the sender's word may say more.
 */
function readMapped(
  places: MappedPlaces,
  { used, notes, reads, words }: Pick<FoundFacts, "used" | "notes" | "reads"> & { words?: SeverityWords },
) {
  const by: FoundFacts["mapped"] = {};
  const passedOver: string[] = [];
  const choose = <T>(fact: MappableFact, read: (leaf: Leaf) => T | undefined) => {
    const filled = places.get(fact) ?? [];
    for (const { path, leaf } of filled) {
      const value = leaf && read(leaf);
      if (leaf === undefined || value === undefined) continue;
      by[fact] = path;
      reads.push({ fact, leaf });
      if (fact !== "severity" && fact !== "status") used.add(leaf);
      return { leaf, value };
    }
    if (filled[0] !== undefined) passedOver.push(`${fact} (${filled[0].path})`);
    return undefined;
  };
  const take = <T>(fact: MappableFact, read: (leaf: Leaf) => T | undefined) => choose(fact, read)?.value;
  const readAny = (leaf: Leaf) => (leaf.kind === "boolean" ? undefined : toPlainText(leaf.text) || undefined);
  const severity = choose("severity", (leaf) =>
    leaf.kind === "boolean" ? undefined : readSeverity(leaf.text, leaf.names.at(-1) ?? "", words),
  );
  if (severity?.value.note !== undefined) notes.push(severity.value.note);
  if (severity !== undefined && severity.leaf.text.trim().toLowerCase() === severity.value.severity)
    used.add(severity.leaf);
  const time = choose("occurredAt", (leaf) => readTime(leaf.text));
  if (time?.value.assumedUtc) notes.push(noteOfUtc(time.leaf));
  const mapped = {
    title: take("title", readAny),
    text: take("text", readAny),
    metric: take("metric", readShort),
    token: take("token", readShort),
    chain: take("chain", readShort),
    value: take("value", readQuantity),
    previousValue: take("previousValue", readQuantity),
    threshold: take("threshold", readShort),
    unit: take("unit", readShort),
    link: take("link", (leaf) => readLink(leaf.text)),
    externalId: take("externalId", readShort),
    source: take("source", readShort),
    alertKey: take("alertKey", (leaf) => (leaf.kind === "boolean" ? undefined : lineOf(leaf) || undefined)),
    status: take("status", (leaf) => readStatus(leaf.text, leaf.names)),
    severity: severity?.value.severity,
    occurredAt: time?.value.at,
    by,
  };
  if (passedOver.length > 0)
    notes.push(`guessed, since what the mapping names cannot be read as that: ${passedOver.join(", ")}`);
  return mapped;
}

function noteOfUtc(leaf: Leaf): string {
  return `the time ${toPlainLine(leaf.text)} names no zone and was read as UTC`;
}

/** Combines the facts with the title's measurement. Member by member: spreading such objects costs more. */
export function composeFacts(
  found: FoundFacts,
  measured: Measured,
  made: Pick<AlertFacts, "title" | "format" | "text" | "alertKey" | "fields" | "unlistedFields" | "notes">,
): AlertFacts {
  return {
    title: made.title,
    metric: measured.metric,
    threshold: measured.threshold,
    previousValue: measured.previousValue,
    value: measured.value,
    unit: measured.unit,
    chain: measured.chain,
    token: measured.token,
    link: found.link,
    externalId: found.externalId,
    source: found.source,
    severity: found.severity,
    status: found.status,
    occurredAt: found.occurredAt,
    format: made.format,
    text: made.text,
    alertKey: made.alertKey,
    fields: made.fields,
    unlistedFields: made.unlistedFields,
    notes: made.notes,
  };
}

function firstReadable<T>(
  candidates: readonly Candidate[],
  used: Set<Leaf>,
  read: (leaf: Leaf) => T | undefined,
): { leaf: Leaf; value: T } | undefined {
  for (const { leaf } of candidates) {
    const value = used.has(leaf) ? undefined : read(leaf);
    if (value !== undefined) return { leaf, value };
  }
  return undefined;
}

function readTitle(leaf: Leaf): string | undefined {
  if (leaf.kind === "boolean" || /^\s*(?:https?:\/\/\S+|[\d.,+-]+)\s*$/.test(leaf.text)) return undefined;
  // A name that is a metric key is no title. The title is made from the key.
  if (leaf.names.at(-1) === "name" && readMetricKey(leaf.text.trim()) !== undefined) return undefined;
  return toPlainText(leaf.text) || undefined;
}

function readShort(leaf: Leaf): string | undefined {
  if (leaf.kind === "boolean" || leaf.text.length > maxShortFact) return undefined;
  return toPlainLine(leaf.text) || undefined;
}

/** In the pricing interface, "WBTC/USD" is the `id` of a ticker. */
function readPair(leaf: Leaf): string | undefined {
  return /^[A-Za-z0-9.]{1,20}\/[A-Za-z]{3,10}$/.test(leaf.text) ? leaf.text : undefined;
}

/** `name` and `key` count only with a value in the form of a metric key. */
function readMetric(leaf: Leaf): string | undefined {
  const name = leaf.names.at(-1);
  const common = (name === "name" || name === "key") && leaf.names.at(-2) !== "metric";
  return common && readMetricKey(leaf.text.trim()) === undefined ? undefined : readShort(leaf);
}

/** A number, or a text with a digit: "3.2", "$1,200", "12 %". */
function readQuantity(leaf: Leaf): string | undefined {
  if (leaf.kind === "number") return cut(leaf.text, maxShortFact);
  return leaf.kind === "string" && /\d/.test(leaf.text) && leaf.text.length <= 100 ? readShort(leaf) : undefined;
}

/** The newest value in CloudWatch's reason: "Threshold Crossed: 1 datapoint [0.041 (21/11/26 00:00:00)] was less than …". */
function datapointIn(text: string | undefined): string | undefined {
  if (text?.startsWith("Threshold Crossed: ") !== true) return undefined;
  return /\bdatapoints? \[(-?\d{1,30}(?:\.\d{1,30})?(?:E-?\d{1,3})?)[\] ,]/.exec(text.slice(0, 200))?.[1];
}

/** "price" for `currentPrice`. Empty for `value` and other names without a quantity. */
const quantityOfName = perPlace(({ names }) => quantitiesIn(names.at(-1)?.replace(/^close$/, "price") ?? "")[0] ?? "");

function quantitiesIn(words: string): string[] {
  const lower = words.toLowerCase();
  return ["price", "tvl", "volume"].filter((quantity) => lower.includes(quantity));
}

/** Whether a leaf measures another quantity than the alert is about, such as a price next to a TVL. */
function isOfOtherQuantity(
  leaf: Leaf,
  { metric, title, threshold, leaves }: Pick<FoundFacts, "metric" | "title" | "threshold"> & { leaves: Leaf[] },
): boolean {
  const own = quantityOfName(leaf);
  if (own === "") return false;
  const measured = quantitiesIn((metric === undefined ? undefined : readMetricKey(metric)?.measure) ?? metric ?? "");
  if (measured.length > 0) return !measured.includes(own);
  if (threshold === undefined) return false;
  const said = quantitiesIn(title ?? "");
  if (said.length > 0) return !said.includes(own);
  return leaves.some((other) => {
    // Many senders put a volume next to a price. A volume is no rival.
    const isRival = !["", "volume", own].includes(quantityOfName(other)) && other.names.length === leaf.names.length;
    return isRival && other.kind !== "boolean" && /^\d/.test(other.text);
  });
}

/** A leaf with only a status word needs no line in the field list. "acknowledged" says more. */
const plainStatusNames = /^(?:status|state|alertstatus|alertstate|resolved|firing)$/;
const urgentWords = /crit|warn|fatal|error|emerg|urgent|high/i;
const acknowledgedWords = /\back(?:nowledged?|ed)\b/i;
const calmWords = /^(?:info|notice)$/i;

const isInData = perPlace(({ names }) => names.length > 1 && /^(?:data|result)$/.test(names[0] ?? ""));

function takeStatus(
  leaves: Leaf[],
  candidates: readonly Candidate[],
  { used, reads }: Pick<FoundFacts, "used" | "reads">,
): AlertStatus | undefined {
  // Interfaces wrap an answer as `{"status": "ok", "data": {…}}`. That status is not the alert's.
  const wrapsData = leaves.some(isInData);
  for (const { leaf } of candidates) {
    if (wrapsData && leaf.names.length === 1 && /^\s*(?:ok|success)\s*$/i.test(leaf.text)) continue;
    const status = readStatus(leaf.text, leaf.names);
    if (status === undefined) continue;
    reads.push({ fact: "status", leaf });
    const saysMore = urgentWords.test(leaf.text) || acknowledgedWords.test(leaf.text);
    if (plainStatusNames.test(leaf.names.at(-1) ?? "") && !saysMore) used.add(leaf);
    return status;
  }
  return undefined;
}

function statusOfTitle(title: string | undefined): AlertStatus | undefined {
  if (title === undefined) return undefined;
  const word = leadingWord(title);
  const status = word === undefined ? undefined : statusOfLeadingWord(word);
  if (status !== undefined && !urgentWords.test(word ?? "")) return status;
  const [line = ""] = title.split("\n", 1);
  if (withoutEnding(line) === undefined) return status;
  // "CRITICAL: USDC TVL is back to normal" is over. "CRITICAL: the attacker has recovered" may not be.
  return status === undefined || /back to normal/i.test(line) ? "resolved" : status;
}

/** The severity by its own member, by a status like "critical", or by the title's leading word. */
function takeSeverity(
  candidates: (fact: FactName) => readonly Candidate[],
  title: string | undefined,
  { used, notes, reads, words }: Pick<FoundFacts, "used" | "notes" | "reads"> & { words?: SeverityWords },
): Severity {
  for (const { leaf } of candidates("severity")) {
    const read = leaf.kind === "boolean" ? undefined : readSeverity(leaf.text, leaf.names.at(-1) ?? "", words);
    if (read === undefined) continue;
    reads.push({ fact: "severity", leaf });
    if (read.note !== undefined) notes.push(read.note);
    if (leaf.text.trim().toLowerCase() === read.severity) used.add(leaf);
    return read.severity;
  }
  const status = candidates("status").find(({ leaf }) => urgentWords.test(leaf.text))?.leaf;
  const word = status?.text ?? leadingWord(title ?? "") ?? "";
  if (!urgentWords.test(word) && !calmWords.test(word)) return severityOfState(candidates("status"), reads);
  if (status !== undefined) reads.push({ fact: "severity", leaf: status });
  return readSeverity(word, "status")?.severity ?? "unknown";
}

/** The leaf, if its word is unknown. A word that means `unknown` is known. */
function unreadOf(leaf: Leaf | undefined, words: SeverityWords | undefined): Leaf | undefined {
  const isRead =
    leaf !== undefined &&
    (wordOf(leaf.text) === "unknown" || readSeverity(leaf.text, leaf.names.at(-1) ?? "", words) !== undefined);
  return isRead ? undefined : leaf;
}

const namesKind = ({ names, text }: Leaf) => isKindOfNotification(names.at(-1) ?? "", wordOf(text));

/** For a monitor with two states and no severity: its bad state wakes people. A kind of notification counts last. */
function severityOfState(candidates: readonly Candidate[], reads: FactRead[]): Severity {
  const state = candidates.find(({ leaf }) => isOfTwoStates(leaf))?.leaf;
  const leaf = state ?? candidates.find((candidate) => namesKind(candidate.leaf))?.leaf;
  if (leaf === undefined) return "unknown";
  reads.push({ fact: "severity", leaf });
  return state === undefined ? (readSeverity(leaf.text, "type")?.severity ?? "unknown") : "critical";
}

function isOfTwoStates({ names, text }: Leaf): boolean {
  const name = names.at(-1) ?? "";
  const word = text.length > 20 ? "" : text.trim().toLowerCase();
  // Uptime Kuma's 0 means down. CloudWatch's third state says that it has no data.
  if (names.at(-2) === "heartbeat") return word === "0" || word === "1";
  if (name === "newstatevalue") return word === "alarm" || word === "ok";
  return /stat(?:e|us)$/.test(name) && /^(?:down|up|offline|online)$/.test(word);
}

const namesEnd = perPlace(({ names }) => /^(endsat|endedat|resolvedat|recoveredat|closedat)$/.test(names.at(-1) ?? ""));

/** A resolving alert has the time of the end: `endsAt` of Alertmanager and Grafana. */
function takeTime(
  candidates: readonly Candidate[],
  resolved: Leaf[],
  { used, notes, reads }: Pick<FoundFacts, "used" | "notes" | "reads">,
): number | undefined {
  const ends = resolved.filter(namesEnd);
  for (const leaf of [...ends, ...candidates.map((candidate) => candidate.leaf)]) {
    const time = readTime(leaf.text);
    if (time === undefined) continue;
    used.add(leaf);
    reads.push({ fact: "occurredAt", leaf });
    if (time.assumedUtc) notes.push(noteOfUtc(leaf));
    return time.at;
  }
  return undefined;
}
