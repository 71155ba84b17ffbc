import { withoutWrappers } from "./fact-names.ts";
import type { FoundFacts } from "./find-facts.ts";
import type { Leaf } from "./leaves.ts";
import { namesCredential } from "./list-fields.ts";
import { readMetricKey } from "./metric-key.ts";
import { cleanLine, cut } from "./plain-text.ts";

export const maxTitleLength = 300;
export const maxTextLength = 20_000;

export interface Headline {
  title: string;
  text?: string;
  notes: string[];
}

/**
 * Chooses the title: the sender's own; else the first line of its text; else one made of metric, value and threshold;
 * else a kind of event; else the first things the payload says; else `otherwise`. What a title has to cut stays in the text.
 */
export function makeHeadline(found: FoundFacts, leaves: Leaf[], otherwise: string): Headline {
  if (found.title !== undefined) return cutHeadline(found.title, found.text);
  if (found.text !== undefined) return headlineOfText(found.text);
  const made = titleOfReading(found) ?? found.weakTitle ?? titleOfLeaves(leaves) ?? otherwise;
  return cutHeadline(made, undefined);
}

/** The first line is the title; the text keeps only what the title does not say. */
export function headlineOfText(text: string): Headline {
  const end = text.indexOf("\n");
  if (end === -1) return cutHeadline(text, undefined);
  const first = text.slice(0, end);
  return first.length > maxTitleLength ? cutHeadline(first, text) : cutHeadline(first, text.slice(end + 1));
}

function cutHeadline(sent: string, sentText: string | undefined): Headline {
  const notes: string[] = [];
  // "42" alone is no title that anybody would understand.
  const line = /\p{L}/u.test(sent) ? cleanLine(sent) : `Alert: ${cleanLine(sent)}`;
  let text = sentText?.trim() === "" || sentText === sent ? undefined : sentText?.trim();
  if (line.length > maxTitleLength) {
    text = text === undefined || text.includes(sent) ? (text ?? sent) : `${sent}\n\n${text}`;
  }
  if (text !== undefined && text.length > maxTextLength) {
    notes.push(
      `the text is cut from ${text.length.toLocaleString("en")} characters to ${maxTextLength.toLocaleString("en")}`,
    );
  }
  return {
    title: cut(line, maxTitleLength),
    text: text === undefined ? undefined : cut(text, maxTextLength),
    notes,
  };
}

/** "Total TVL of USDC on eth is 3.2, threshold 5"; undefined without a metric or token. */
function titleOfReading(found: FoundFacts): string | undefined {
  const subject = (found.metric === undefined ? undefined : nameMetric(found.metric, found)) ?? found.token;
  if (subject === undefined) return undefined;
  const value = found.value === undefined ? undefined : `is ${cut(found.value, 60)}${unitOf(found)}`;
  const before = found.previousValue === undefined ? undefined : `was ${cut(found.previousValue, 60)}`;
  const threshold = found.threshold === undefined ? undefined : `threshold ${cut(found.threshold, 60)}`;
  const named = [shortenAddress(subject), value].filter((part) => part !== undefined).join(" ");
  const title = [named, before, threshold].filter((part) => part !== undefined).join(", ");
  return value === undefined && threshold === undefined ? `Alert on ${title}` : title;
}

/** What a metric key of the market-data service means; any other metric is called as the sender calls it. */
function nameMetric(metric: string, { token, chain }: FoundFacts): string {
  const parts = readMetricKey(metric);
  if (parts === undefined) return metric;
  const isToken = parts.kind === "token";
  const measure = parts.measure
    .split("_")
    .map((word) => (/^(?:tvl|usd|apy|apr|fdv|lp)$/.test(word) ? word.toUpperCase() : word))
    .join(" ");
  const what = measure === "" ? "a metric" : measure;
  const of = isToken ? (token ?? parts.address) : `pool ${parts.address}`;
  return `${what.charAt(0).toUpperCase()}${what.slice(1)} of ${of} on ${chain ?? parts.chain}`;
}

function unitOf(found: FoundFacts): string {
  if (found.unit === undefined || found.unit.length > 20) return "";
  return found.unit === "%" ? "%" : ` ${found.unit}`;
}

/** 0xa0b8…eb48 for each whole address in the text. */
export function shortenAddress(text: string): string {
  return text.replace(/(0x[0-9a-fA-F]{4})[0-9a-fA-F]{20,}([0-9a-fA-F]{4})(?![0-9a-fA-F])/g, "$1…$2");
}

function titleOfLeaves(leaves: Leaf[]): string | undefined {
  const tellable = leaves.filter((leaf) => !namesCredential(leaf.names));
  const strings = tellable.filter((leaf) => leaf.kind === "string" && /\p{L}/u.test(leaf.text));
  const parts = (tellable.length > 3 && strings.length > 0 ? strings : tellable)
    .slice(0, 3)
    .map((leaf) =>
      [withoutWrappers(leaf.path).join("."), cut(cleanLine(leaf.text), 80)]
        .filter((part) => part !== "")
        .join(" "),
    );
  return parts.length === 0 ? undefined : parts.join(", ");
}
