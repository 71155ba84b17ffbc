import type { AlertFacts } from "../../core/alert.ts";
import { deriveAlertKey } from "../key/alert-key.ts";
import { cleanText } from "../read/plain-text.ts";
import { readLines } from "../read/read-lines.ts";
import { findFacts } from "./find-facts.ts";
import { listLeaves } from "./leaves.ts";
import { headlineOfText } from "./make-title.ts";
import { findMetricKey, readMetricKey } from "./metric-key.ts";
import { findLink } from "./read-link.ts";
import { addMeasurement, readMeasurement } from "./read-measurement.ts";

/**
 * A plain text: its first line is the title and all of it is shown, so its `Name: value` lines give facts and no fields.
 * The first address in it is the link.
 */
export function translateText(sent: string, notes: string[]): AlertFacts {
  const text = cleanText(sent);
  const headline = headlineOfText(text);
  const measured = readMeasurement(headline.title);
  // A sentence is no `Name: value` line, though "ETH price: 4012 (above 4000)" has the look of one.
  const pairs = measured === undefined ? text : text.slice(firstLineLength(text));
  const { leaves } = listLeaves(readLines(pairs));
  const {
    title: _title,
    weakTitle: _weakTitle,
    text: _text,
    used,
    valueLeaf: _valueLeaf,
    notes: guesses,
    ...facts
  } = findFacts([
    ...leaves,
    // Read last, so that a leading "[CRITICAL]" counts when no line names a severity.
    { path: ["title"], names: ["title"], kind: "string", text: headline.title },
  ]);
  const metric = facts.metric ?? findMetricKey(text);
  const parts = metric === undefined ? undefined : readMetricKey(metric);
  const all = {
    ...facts,
    metric,
    chain: facts.chain ?? parts?.chain,
    token: facts.token ?? (parts?.kind === "token" ? parts.address : undefined),
    link: facts.link ?? findLink(text),
  };
  const found = { ...all, title: headline.title, text: headline.text, used, notes: guesses };
  return {
    title: headline.title,
    ...addMeasurement(all, measured),
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
  };
}

function firstLineLength(text: string): number {
  const end = text.indexOf("\n");
  return end === -1 ? text.length : end;
}
