import type { AlertFacts, AlertStatus, Severity } from "../../core/alert.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { toPlainLine, toPlainText } from "../../ground/text/plain-text.ts";
import { type Candidate, type FactName, findCandidates } from "./fact-names.ts";
import type { Leaf } from "./leaves.ts";
import { readSeverity } from "./read-severity.ts";
import { leadingWord, readStatus, statusOfLeadingWord, withoutEnding } from "./read-status.ts";
import { readTime } from "./read-time.ts";
import { findMetricKey, readLink, readMetricKey } from "./read-value.ts";

/** What the leaves of a payload say under any usual name, before titles and keys are made of it. */
export interface FoundFacts
  extends Pick<
    AlertFacts,
    | "severity"
    | "status"
    | "metric"
    | "token"
    | "chain"
    | "value"
    | "previousValue"
    | "threshold"
    | "unit"
    | "occurredAt"
    | "link"
    | "externalId"
    | "source"
  > {
  title?: string;
  /** A kind of event at best ("price.alert"), for want of a title. */
  weakTitle?: string;
  text?: string;
  notes: string[];
  /** Leaves that a fact says already and need no line in the field list. */
  used: Set<Leaf>;
  /** The leaf that the value was taken from: its name may say what the number is. */
  valueLeaf?: Leaf;
}

const maxShortFact = 200;

/**
 * Takes for each fact the best leaf that bears one of its names *and* reads as one: a `time` that is no instant, a
 * `link` that is no address or a `severity` of unknown meaning is passed over and stays in the field list. Pure.
 */
export function findFacts(leaves: Leaf[]): FoundFacts {
  const candidates = findCandidates(leaves);
  const used = new Set<Leaf>();
  const notes: string[] = [];
  const choose = <T>(fact: FactName, read: (leaf: Leaf) => T | undefined) => {
    const chosen = firstReadable(candidates[fact], used, read);
    if (chosen !== undefined) used.add(chosen.leaf);
    return chosen;
  };
  const take = <T>(fact: FactName, read: (leaf: Leaf) => T | undefined) => choose(fact, read)?.value;

  const title = take("title", readTitle);
  const text = take("text", (leaf) => (leaf.kind === "string" ? toPlainText(leaf.text) || undefined : undefined));
  const threshold = take("threshold", readShort);
  const previousValue = take("previousValue", readQuantity);
  const value = choose("value", readQuantity);
  const found = {
    title,
    text,
    metric: take("metric", readMetric) ?? findMetricKey(title ?? "") ?? findMetricKey(text ?? ""),
    threshold,
    previousValue,
    value: value?.value,
    unit: take("unit", readShort),
    chain: take("chain", readShort),
    token: take("token", readShort) ?? take("externalId", readPair),
    link: take("link", (leaf) => readLink(leaf.text)),
    externalId: take("externalId", readShort),
    source: take("source", (leaf) => (leaf.kind === "string" ? readShort(leaf) : undefined)),
    weakTitle: firstReadable(candidates.weakTitle, used, readTitle)?.value,
  };
  const status = takeStatus(leaves, candidates.status, used) ?? statusOfTitle(title ?? text);
  return {
    ...found,
    ...fromMetricKey(found),
    severity: takeSeverity(candidates, title ?? text, used, notes),
    status: status ?? "unknown",
    occurredAt: takeTime(candidates.occurredAt, status === "resolved" ? leaves : [], used, notes),
    notes,
    used,
    valueLeaf: value?.leaf,
  };
}

function firstReadable<T>(
  candidates: Candidate[],
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
  // A thing whose name is a metric key has no title yet; one is made of what the key says.
  if (leaf.names.at(-1) === "name" && readMetricKey(leaf.text.trim()) !== undefined) return undefined;
  return toPlainText(leaf.text) || undefined;
}

function readShort(leaf: Leaf): string | undefined {
  if (leaf.kind === "boolean" || leaf.text.length > maxShortFact) return undefined;
  return toPlainLine(leaf.text) || undefined;
}

/**
 * The pricing interface calls the pair of a ticker its `id`: "WBTC/USD" is what an alert is about, not which one it is.
 */
function readPair(leaf: Leaf): string | undefined {
  return /^[A-Za-z0-9.]{1,20}\/[A-Za-z]{3,10}$/.test(leaf.text) ? leaf.text : undefined;
}

/** `name` and `key` are so common that only the shape of a metric key makes them one. */
function readMetric(leaf: Leaf): string | undefined {
  const name = leaf.names.at(-1);
  const common = (name === "name" || name === "key") && leaf.names.at(-2) !== "metric";
  return common && readMetricKey(leaf.text.trim()) === undefined ? undefined : readShort(leaf);
}

/** A quantity is sent as a number or as a string that holds a digit: "3.2", "$1,200", "12 %". */
function readQuantity(leaf: Leaf): string | undefined {
  if (leaf.kind === "number") return cut(leaf.text, maxShortFact);
  return leaf.kind === "string" && /\d/.test(leaf.text) && leaf.text.length <= 100 ? readShort(leaf) : undefined;
}

function fromMetricKey(found: { metric?: string; token?: string; chain?: string }): {
  token?: string;
  chain?: string;
} {
  const parts = found.metric === undefined ? undefined : readMetricKey(found.metric);
  if (parts === undefined) return {};
  const token = found.token ?? (parts.kind === "token" ? parts.address : undefined);
  return { token, chain: found.chain ?? parts.chain };
}

/** Where a status word says all there is to say, its leaf needs no line of its own; "acknowledged" says more. */
const plainStatusNames = /^(?:status|state|alertstatus|alertstate|resolved|firing)$/;
const urgentWords = /crit|warn|fatal|error|emerg|urgent|high/i;
const acknowledgedWords = /\back(?:nowledged?|ed)\b/i;
const calmWords = /^(?:info|notice)$/i;

function takeStatus(leaves: Leaf[], candidates: Candidate[], used: Set<Leaf>): AlertStatus | undefined {
  // `{"status": "ok", "data": {…}}` is how an interface wraps an answer: it says nothing about the alert inside.
  const wrapsData = leaves.some(({ names }) => names.length > 1 && /^(?:data|result)$/.test(names[0] ?? ""));
  for (const { leaf } of candidates) {
    if (wrapsData && leaf.names.length === 1 && /^\s*(?:ok|success)\s*$/i.test(leaf.text)) continue;
    const status = readStatus(leaf.text, leaf.names);
    if (status === undefined) continue;
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
  // "CRITICAL: USDC TVL is back to normal" is over, and "CRITICAL: the attacker has recovered" may be anything.
  return status === undefined || /back to normal/i.test(line) ? "resolved" : status;
}

/**
 * From a member that names it; else from a status like "critical"; else from the title's leading word. The field list
 * keeps the sender's own word ("P1"), since the reader may know more by it.
 */
function takeSeverity(
  candidates: Record<FactName, Candidate[]>,
  title: string | undefined,
  used: Set<Leaf>,
  notes: string[],
): Severity {
  for (const { leaf } of candidates.severity) {
    const read = leaf.kind === "boolean" ? undefined : readSeverity(leaf.text, leaf.names.at(-1) ?? "");
    if (read === undefined) continue;
    if (read.note !== undefined) notes.push(read.note);
    if (leaf.text.trim().toLowerCase() === read.severity) used.add(leaf);
    return read.severity;
  }
  const status = candidates.status.find(({ leaf }) => urgentWords.test(leaf.text))?.leaf.text;
  const word = status ?? leadingWord(title ?? "") ?? "";
  if (!urgentWords.test(word) && !calmWords.test(word)) return "unknown";
  return readSeverity(word, "status")?.severity ?? "unknown";
}

/** A resolution happened when the alert ended; Alertmanager and Grafana say that in `endsAt`. */
function takeTime(candidates: Candidate[], resolved: Leaf[], used: Set<Leaf>, notes: string[]): number | undefined {
  const ends = resolved.filter((leaf) =>
    /^(endsat|endedat|resolvedat|recoveredat|closedat)$/.test(leaf.names.at(-1) ?? ""),
  );
  for (const leaf of [...ends, ...candidates.map((candidate) => candidate.leaf)]) {
    const time = readTime(leaf.text);
    if (time === undefined) continue;
    used.add(leaf);
    if (time.assumedUtc) notes.push(`the time ${toPlainLine(leaf.text)} names no zone and was read as UTC`);
    return time.at;
  }
  return undefined;
}
