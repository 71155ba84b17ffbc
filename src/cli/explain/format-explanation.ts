import type { ExplainedDelivery } from "../../contract/operations.ts";
import type { AlertFacts } from "../../core/alert.ts";
import type { MappableFact } from "../../core/mapping.ts";
import type { Decision } from "../../core/rules.ts";
import { quoteValue } from "../../matching/judge.ts";
import { formatDecisions } from "../alerts/format-alert.ts";
import { countOf, toSeconds, withAge } from "../shell/amounts.ts";
import { joinSections, type Output } from "../shell/output.ts";
import { hangText, terminalText, wrapText } from "../shell/terminal-text.ts";
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

/**
 * One alert of a body for people: where it would go in one line, what was read, what was decided, and each message
 * between bars; a text that several get stands there once, and long ones are cut, unless all `messages` are asked for.
 */
export function formatExplanation(
  explained: ExplainedAlert,
  output: Output,
  { now, messages }: { now: number; messages: boolean },
): string {
  const { item, items, facts, fields, mapping, decisions, deliveries } = explained;
  const number = items > 1 ? `Alert ${item} of ${items}: ` : "";
  const sections = [
    `${output.style("bold", hangText(`${number}${terminalText(facts.title)}`, output.width, 0))}\n${hangText(summarize(explained, output), output.width, 2)}`,
    output.table(
      [{ title: "field for match", keep: true }, { title: "value" }],
      [...fields.facts, ...fields.payload].map(({ field, value }) => [field, value]),
    ),
    mapping === undefined
      ? ""
      : output.table([{ title: "fact", keep: true }, { title: "by mapping" }], mapping.map(describeMapped)),
    output.fields(describeRest(explained, now)),
    decisions.length === 0 ? "No route is configured." : formatDecisions(decisions, output),
    ...groupBy(deliveries, (one) => (messages ? one.destination : JSON.stringify(one.texts))).map((group) =>
      formatMessages(group, output, messages),
    ),
  ];
  return joinSections(sections) + (item < items ? "\n" : "");
}

/** What was read and no matcher can ask for. */
function describeRest({ facts, fields }: ExplainedAlert, now: number): [string, string][] {
  const rows: [string, string][] = [];
  if (fields.more > 0) rows.push(["and", `${countOf(fields.more, "more place")} of the payload`]);
  if (fields.payload.length === 0) rows.push(...facts.fields.map(({ name, value }): [string, string] => [name, value]));
  if (facts.occurredAt !== undefined) rows.push(["happened", withAge(Date.parse(facts.occurredAt), now)]);
  return [...rows, ...facts.notes.map((note): [string, string] => ["note", note])];
}

function describeMapped({ fact, paths, path, why, value, guess }: MappedFact): string[] {
  if (path === undefined)
    return [fact, `nothing at ${paths.join(", ")}${why === undefined ? "" : ` (${why})`}, so it is guessed`];
  const shown = guess === undefined ? "nothing" : quoteValue(guess);
  return [fact, `from ${path} by mapping, the guess would be ${guess === value ? "the same" : shown}`];
}

/** `3 destinations: desk, mail (route urgent), ops (route all)`, or why it goes nowhere. */
function summarize({ decisions, deliveries }: ExplainedAlert, output: Output): string {
  const goes = deliveries.filter(({ state }) => state !== "muted");
  const muted = deliveries.filter(({ state }) => state === "muted").map(({ destination }) => destination);
  const rest = muted.length === 0 ? "" : `; muted: ${muted.join(", ")}`;
  if (goes.length === 0) {
    const dropping = decisions.find(({ result }) => result === "dropped");
    if (dropping !== undefined)
      return terminalText(`It would go nowhere: dropped on purpose by route ${dropping.route}.`);
    const why = muted.length === 0 ? "no route wants it" : `muted at ${muted.join(", ")}`;
    return output.style("yellow", terminalText(`It would go nowhere: ${why}.`));
  }
  const parts = groupBy(goes, ({ route }) => route).map((those) => {
    const names = those.map(({ destination, state }) => (state === "held" ? `${destination}, held` : destination));
    return `${names.join(", ")} (route ${those[0]?.route})`;
  });
  return output.style("green", terminalText(`${countOf(goes.length, "destination")}: ${parts.join(", ")}${rest}`));
}

/** In the order of the first of each group. */
function groupBy(deliveries: readonly ExplainedDelivery[], keyOf: (one: ExplainedDelivery) => string) {
  const groups = new Map<string, ExplainedDelivery[]>();
  for (const one of deliveries) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return [...groups.values()];
}

/** Of a text: more is for those who ask for it. */
const mostLines = 16;
const mostUnits = 1_200;

function formatMessages(group: readonly ExplainedDelivery[], output: Output, inFull: boolean): string {
  const heads = group.map((delivery) => {
    const { destination, channel, recipients } = delivery;
    const to = recipients.length === 1 && recipients[0] === destination ? "" : ` ${recipients.join(", ")}`;
    const rest = `(${terminalText(channel + to)}): ${terminalText(stateOf(delivery))}`;
    const head = terminalText(destination);
    return hangText(`${head} ${rest}`, output.width, 2).replace(head, () => output.style("bold", head));
  });
  const texts = group[0]?.texts ?? [];
  const parts = texts.map((text, index) => {
    const title = texts.length > 1 ? [`  message ${index + 1} of ${texts.length}`] : [];
    return [...title, ...showText(text, inFull, output.width)].join("\n");
  });
  return [...heads, ...parts].join("\n");
}

function showText(text: string, inFull: boolean, width = Number.POSITIVE_INFINITY): string[] {
  const lines = text.split("\n");
  const isLong = !inFull && (lines.length > mostLines || text.length > mostUnits);
  const shown = isLong ? text.slice(0, mostUnits).split("\n").slice(0, mostLines) : lines;
  const bars = shown.flatMap((line) => wrapText(terminalText(line), width - 4).map((part) => `  │ ${part}`.trimEnd()));
  return isLong ? [...bars, `  … ${countOf(text.length, "character")} in all: --messages shows them`] : bars;
}

function stateOf({ state, reason, dueAt }: ExplainedDelivery): string {
  switch (state) {
    case "queued":
      return "sent at once";
    case "muted":
      return `not sent; ${reason}`;
    case "held":
      return `held until ${dueAt === undefined ? "later" : toSeconds(dueAt)}, then sent together with what else was held; ${reason}`;
    default:
      return state satisfies never;
  }
}
