import type { AlertFacts } from "../../core/alert.ts";
import type { JsonObject } from "../../core/json.ts";
import { readMetricKey } from "../../core/metric-key.ts";
import { listLeaves, looseLeaf } from "../../facts/leaves.ts";
import { toPlainText } from "../../ground/text/plain-text.ts";
import { deriveAlertKey } from "../key/alert-key.ts";
import { composeFacts, findFacts } from "./find-facts.ts";
import { headlineOfText } from "./make-title.ts";
import { addMeasurement, readMeasurement } from "./read-measurement.ts";
import { findLink, findMetricKey } from "./read-value.ts";

const maxLines = 200;

/**
 * A plain text: its first line is the title and all of it is shown, so its `Name: value` lines give facts and no
 * fields. The first address in it is the link.
 */
export function translateText(sent: string, notes: string[]): AlertFacts {
  const text = toPlainText(sent);
  const headline = headlineOfText(text);
  const measured = readMeasurement(headline.title);
  // A sentence is no `Name: value` line, though "ETH price: 4012 (above 4000)" has the look of one.
  const pairs = measured === undefined ? text : text.slice(firstLineLength(text));
  const { leaves } = listLeaves(readLines(pairs));
  const found = findFacts([
    ...leaves,
    // Read last, so that a leading "[CRITICAL]" counts when no line names a severity.
    looseLeaf("title", headline.title),
  ]);
  const guesses = found.notes;
  found.title = headline.title;
  found.text = headline.text;
  found.metric ??= findMetricKey(text);
  const parts = found.metric === undefined ? undefined : readMetricKey(found.metric);
  found.chain ??= parts?.chain;
  found.token ??= parts?.kind === "token" ? parts.address : undefined;
  found.link ??= findLink(text);
  return composeFacts(found, addMeasurement(found, measured), {
    title: headline.title,
    format: "text",
    text: headline.text,
    alertKey: deriveAlertKey({
      leaves,
      found,
      title: headline.title,
      text: headline.text,
      measured,
      inBatch: false,
    }),
    fields: [],
    notes: [...notes, ...guesses, ...headline.notes],
  });
}

function firstLineLength(text: string): number {
  const end = text.indexOf("\n");
  return end === -1 ? text.length : end;
}

/**
 * The `Name: value` and `name = value` lines of a plain text as an object, for finding facts in it; the text itself is
 * shown whole. A name is one to four words at the line's beginning.
 */
export function readLines(text: string): JsonObject {
  const pairs = Object.create(null) as JsonObject;
  for (const line of text.split("\n", maxLines)) {
    const match = /^[^\p{L}\n]{0,8}(\p{L}[\w-]{0,30}(?: [\w-]{1,20}){0,3})\s{0,10}[:=]\s{0,10}(\S.{0,500})$/u.exec(
      line.slice(0, 600),
    );
    if (match === null) continue;
    const [, name = "", value = ""] = match;
    // "https://…" is no pair, and the first mention is the one that counts.
    if (!value.startsWith("//") && pairs[name] === undefined) pairs[name] = value.trim();
  }
  return pairs;
}

const maxElements = 200;
const declaration = /^\s{0,100}<\?xml\s[^<>]{0,200}\?>\s{0,100}/;
const element = /<(?:[\w.-]{1,80}:)?([A-Za-z_][\w.-]{0,80})(?:\s[^<>]{0,1000})?>([^<]{1,20000})<\//g;
const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/**
 * What the elements of an XML text say that hold nothing but text, the first of each name; undefined without a
 * declaration or such an element. `text` lacks the declaration. Linear in the text.
 */
export function readXml(sent: string): { elements?: JsonObject; text: string } {
  const text = sent.replace(declaration, "");
  if (text.length === sent.length) return { text };
  const elements = Object.create(null) as JsonObject;
  let count = 0;
  for (const [, name = "", value = ""] of text.matchAll(element)) {
    if (value.trim() === "" || elements[name] !== undefined) continue;
    elements[name] = value.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? "").trim();
    count += 1;
    if (count === maxElements) break;
  }
  return count === 0 ? { text } : { elements, text };
}
