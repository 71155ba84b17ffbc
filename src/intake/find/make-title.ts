import { limitsChange, multiplies, sideOfWord } from "../../core/alert.ts";
import { isAddress, readMetricKey, wordsOfMeasure } from "../../core/metric-key.ts";
import { longestTitle } from "../../core/title.ts";
import { type Leaf, laterElement } from "../../facts/leaves.ts";
import { withoutWrappers } from "../../facts/usual-names.ts";
import { compareAmounts } from "../../ground/numbers/decimal.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { contains, sentence, toPlainLine } from "../../ground/text/plain-text.ts";
import type { FoundFacts } from "./find-facts.ts";
import { isCredential } from "./list-fields.ts";

export const maxTextLength = 20_000;

export interface Headline {
  title: string;
  text?: string;
  notes: string[];
}

/**
 * Chooses the title: the sender's own, the first line of the sender's text, one made of metric, value and threshold, a
 * kind of event, the first leaves of the payload, or `otherwise`. What a title has to cut stays in the text.
 */
export function makeHeadline(found: FoundFacts, leaves: Leaf[], otherwise: string): Headline {
  if (found.title !== undefined) return cutHeadline(found.title, found.text);
  if (found.text !== undefined) return headlineOfText(found.text);
  const made = titleOfReading(found, leaves) ?? found.weakTitle ?? titleOfLeaves(leaves) ?? otherwise;
  return cutHeadline(made, undefined);
}

/** The first line becomes the title. The text keeps the rest. */
export function headlineOfText(text: string): Headline {
  const end = text.indexOf("\n");
  if (end === -1) return cutHeadline(text, undefined);
  const first = text.slice(0, end);
  return first.length > longestTitle ? cutHeadline(first, text) : cutHeadline(first, text.slice(end + 1));
}

/** A note that the text is not shown whole. */
export function noteOfCut(length: number): string {
  return `the text is cut from ${groupThousands(length)} characters to ${groupThousands(maxTextLength)}`;
}

function cutHeadline(sent: string, sentText: string | undefined): Headline {
  const notes: string[] = [];
  // "42" alone is no title.
  const line = /\p{L}/u.test(sent) ? toPlainLine(sent) : `Alert: ${toPlainLine(sent)}`;
  let text = sentText?.trim() === "" || sentText === sent ? undefined : sentText?.trim();
  if (line.length > longestTitle) {
    const shown = text?.slice(0, maxTextLength);
    text = text === undefined || contains(shown ?? "", sent) ? (text ?? sent) : `${sent}\n\n${text}`;
  }
  if (text !== undefined && text.length > maxTextLength) {
    notes.push(noteOfCut(text.length));
  }
  return {
    title: cut(line, longestTitle),
    text: text === undefined ? undefined : cut(text, maxTextLength),
    notes,
  };
}

/** "USDC total TVL on eth is 3.2 USD, below 5, was 6". Undefined without a metric or token. */
function titleOfReading(found: FoundFacts, leaves: Leaf[]): string | undefined {
  const subject = (found.metric === undefined ? undefined : nameMetric(found.metric, found, leaves)) ?? found.token;
  if (subject === undefined) return undefined;
  const value = found.value === undefined ? undefined : `is ${cut(found.value, 60)}${unitOf(found)}`;
  const threshold = found.threshold === undefined ? undefined : `${sideOf(found, leaves)} ${cut(found.threshold, 60)}`;
  const before = found.previousValue === undefined ? undefined : `was ${cut(found.previousValue, 60)}`;
  const named = [shortenAddress(subject), value].filter((part) => part !== undefined).join(" ");
  const title = [named, threshold, before].filter((part) => part !== undefined).join(", ");
  return value === undefined && threshold === undefined ? `Alert on ${title}` : title;
}

/** Reads a metric key of the market-data service. Any other metric keeps its name. */
function nameMetric(metric: string, found: FoundFacts, leaves: Leaf[]): string {
  const parts = readMetricKey(metric);
  if (parts === undefined) return nameOtherMetric(metric, found);
  const chain = found.chain ?? parts.chain;
  const words = wordsOfMeasure(parts.measure);
  const symbol = symbolOf(found, leaves, parts.kind);
  if (symbol === undefined) {
    const of = parts.kind === "token" ? parts.address : `pool ${parts.address}`;
    return `${sentence(words || "a metric")} of ${of} on ${chain}`;
  }
  // A pool has one TVL, so "total" adds nothing.
  const measure = parts.kind === "token" ? words : `pool ${words.replace(/^total /, "")}`;
  return [symbol, measure.trim(), `on ${chain}`].filter((part) => part !== "").join(" ");
}

/** "price" of ETH is "ETH price". "eth_tvl" already names its token. */
function nameOtherMetric(metric: string, { token, chain }: FoundFacts): string {
  if (token === undefined || metric.toLowerCase().includes(token.toLowerCase())) return metric;
  const on = chain === undefined || metric.toLowerCase().includes(chain.toLowerCase()) ? "" : ` on ${chain}`;
  return isAddress(token) ? `${metric} of ${token}${on}` : `${token} ${metric}${on}`;
}

/** The payload's pair or token, never an address. */
function symbolOf({ token }: FoundFacts, leaves: Leaf[], kind: "token" | "pool"): string | undefined {
  const names = kind === "pool" ? [poolName, tokenName] : [tokenName];
  const isKnown = token !== undefined && !isAddress(token);
  // A pair says more about a pool than one of its tokens.
  if (isKnown && (kind === "token" || token.includes("/"))) return token;
  const [first, ...others] = names.map((pattern) => leaves.find((leaf) => namesThing(leaf, pattern))?.text);
  const named = kind === "pool" ? (first ?? (isKnown ? token : others[0])) : first;
  return named === undefined ? (isKnown ? token : undefined) : cut(toPlainLine(named), 60);
}

const poolName = /(?:^|\.)pool\.?(?:name|symbol|pair)$|(?:^|\.)(?:tradingpair|pair)$/;
const tokenName = /(?:^|\.)token\.?(?:symbol|name)$/;

function namesThing({ names, kind, text }: Leaf, pattern: RegExp): boolean {
  const isName = kind === "string" && text.length <= 60 && /\p{L}/u.test(text) && !isAddress(text.trim());
  return isName && !names.includes(laterElement) && pattern.test(names.slice(-2).join("."));
}

/** Where value and threshold cannot be compared, the condition of a firing alert counts. */
function sideOf({ value, threshold, status, unit }: FoundFacts, leaves: Leaf[]): string {
  const fields = leaves.map(({ path, text }) => ({ name: path.join("."), value: text }));
  if (limitsChange({ fields })) return "threshold of the change";
  const said = status === "resolved" ? undefined : sideOfCondition(leaves);
  if (value === undefined || threshold === undefined) return said ?? "threshold";
  const order = compareAmounts(value, threshold);
  if (order === undefined) return said ?? "threshold";
  const compared = order < 0 ? "below" : order > 0 ? "above" : undefined;
  if (compared === undefined || (said !== undefined && said !== compared)) return "threshold";
  // "26.3 M USD" and 25000000 cannot be compared.
  return said === undefined && multiplies(unit) ? "threshold" : compared;
}

function sideOfCondition(leaves: Leaf[]): "above" | "below" | undefined {
  const leaf = leaves.find(
    ({ names }) =>
      !names.includes(laterElement) &&
      /(?:^|\.)(?:condition(?:\.(?:kind|type|operator))?|conditiontype|direction|operator|comparator|comparisonoperator)$/.test(
        names.slice(-2).join("."),
      ),
  );
  return leaf === undefined ? undefined : sideOfWord(leaf.text);
}

function unitOf(found: FoundFacts): string {
  if (found.unit === undefined || found.unit.length > 20) return "";
  return found.unit === "%" ? "%" : ` ${found.unit}`;
}

/** `0xa0b8…eb48` */
export function shortenAddress(text: string): string {
  if (!text.includes("0x")) return text;
  return text.replace(/(0x[0-9a-fA-F]{4})[0-9a-fA-F]{20,}([0-9a-fA-F]{4})(?![0-9a-fA-F])/g, "$1…$2");
}

function titleOfLeaves(leaves: Leaf[]): string | undefined {
  const showable = leaves.filter((leaf) => !isCredential(leaf));
  const strings = showable.filter((leaf) => leaf.kind === "string" && /\p{L}/u.test(leaf.text));
  const parts = (showable.length > 3 && strings.length > 0 ? strings : showable)
    .slice(0, 3)
    .map((leaf) =>
      [withoutWrappers(leaf.path).join("."), cut(toPlainLine(leaf.text), 80)].filter((part) => part !== "").join(" "),
    );
  return parts.length === 0 ? undefined : parts.join(", ");
}
