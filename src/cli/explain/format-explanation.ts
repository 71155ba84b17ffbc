import type { AlertFacts } from "../../core/alert.ts";
import type { MappableFact } from "../../core/mapping.ts";
import type { Decision } from "../../core/rules.ts";
import { quoteValue } from "../../matching/judge.ts";
import { formatDecisions } from "../alerts/format-alert.ts";
import { countOf, toSeconds, withAge } from "../shell/amounts.ts";
import { joinSections, type Output } from "../shell/output.ts";
import { terminalText } from "../shell/terminal-text.ts";
import type { ExplainedDelivery } from "./explainer.ts";
import type { MatchFields } from "./match-fields.ts";

export interface ExplainedAlert {
  item: number;
  items: number;
  facts: Omit<AlertFacts, "occurredAt"> & { occurredAt?: string };
  fields: MatchFields;
  /** Absent without a mapping in the configuration. */
  mapping?: MappedFact[];
  decisions: Decision[];
  deliveries: ExplainedDelivery[];
}

/** A fact for which the configuration names places. */
export interface MappedFact {
  fact: MappableFact;
  /** Where it is looked for. */
  paths: string[];
  /** Where it was found; absent: nowhere, so that it is guessed. */
  path?: string;
  /** What is wrong with the first path that gave nothing, where none did: "there is payload.rule.name". */
  why?: string;
  value?: string;
  /** What it would be without the mapping. */
  guess?: string;
}

/** One alert of a body for people: what was read, what was decided, and each message between bars. */
export function formatExplanation(explained: ExplainedAlert, output: Output, now: number): string {
  const { item, items, facts, fields, mapping, decisions, deliveries } = explained;
  const number = items > 1 ? `Alert ${item} of ${items}: ` : "";
  const sections = [
    output.style("bold", `${number}${terminalText(facts.title)}`),
    output.table(
      [{ title: "field for match", keep: true }, { title: "value" }],
      [...fields.facts, ...fields.payload].map(({ field, value }) => [field, value]),
    ),
    mapping === undefined
      ? ""
      : output.table([{ title: "fact" }, { title: "by mapping" }], mapping.map(describeMapped)),
    output.fields(describeRest(explained, now)),
    decisions.length === 0 ? "No route is configured." : formatDecisions(decisions, output),
    deliveries.length === 0 ? formatNowhere(decisions, output) : "",
    ...deliveries.map((delivery) => formatDelivery(delivery, output)),
  ];
  return joinSections(sections) + (item < items ? "\n" : "");
}

/** What was read and no matcher can ask for. */
function describeRest({ facts, fields }: ExplainedAlert, now: number): [string, string][] {
  const rows: [string, string][] = [];
  if (fields.more > 0) rows.push(["and", `${countOf(fields.more, "more place")} of the payload`]);
  if (fields.payload.length === 0) rows.push(...facts.fields.map(({ name, value }): [string, string] => [name, value]));
  if (facts.occurredAt !== undefined) rows.push(["happened", withAge(facts.occurredAt, now)]);
  return [...rows, ...facts.notes.map((note): [string, string] => ["note", note])];
}

function describeMapped({ fact, paths, path, why, value, guess }: MappedFact): string[] {
  if (path === undefined)
    return [fact, `nothing at ${paths.join(", ")}${why === undefined ? "" : ` (${why})`}, so it is guessed`];
  const shown = guess === undefined ? "nothing" : quoteValue(guess);
  return [fact, `from ${path} by mapping, the guess would be ${guess === value ? "the same" : shown}`];
}

function formatNowhere(decisions: Decision[], output: Output): string {
  const dropping = decisions.find(({ result }) => result === "dropped");
  return dropping === undefined
    ? output.style("yellow", "It would go nowhere: no route wants it.")
    : `It would go nowhere: dropped on purpose by route ${terminalText(dropping.route)}.`;
}

function formatDelivery(delivery: ExplainedDelivery, output: Output): string {
  const { destination, channel, recipients, texts } = delivery;
  const to = recipients.length === 1 && recipients[0] === destination ? "" : ` ${recipients.join(", ")}`;
  const head = `${output.style("bold", terminalText(destination))} (${terminalText(channel + to)}): ${terminalText(stateOf(delivery))}`;
  const parts = texts.map((text, index) => {
    const title = texts.length > 1 ? [`  message ${index + 1} of ${texts.length}`] : [];
    return [...title, ...text.split("\n").map((line) => `  │ ${terminalText(line)}`.trimEnd())].join("\n");
  });
  return [head, ...parts].join("\n");
}

function stateOf({ state, reason, dueAt }: ExplainedDelivery): string {
  switch (state) {
    case "queued":
      return "sent at once";
    case "muted":
      return `not sent; ${reason}`;
    case "held":
      return `held until ${dueAt === undefined ? "later" : toSeconds(new Date(dueAt).toISOString())}, then sent together with what else was held; ${reason}`;
    default:
      return state satisfies never;
  }
}
