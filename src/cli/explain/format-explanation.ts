import type { AlertFacts } from "../../core/alert.ts";
import type { Decision } from "../../core/rules.ts";
import { toSeconds } from "../age.ts";
import { describeFacts, formatDecisions } from "../alerts/format-alert.ts";
import type { Output } from "../output.ts";
import { terminalText } from "../terminal-text.ts";
import type { ExplainedDelivery } from "./explainer.ts";

export interface ExplainedAlert {
  item: number;
  items: number;
  facts: Omit<AlertFacts, "occurredAt"> & { occurredAt?: string };
  decisions: Decision[];
  deliveries: ExplainedDelivery[];
}

/** One alert of a body for people: what was read, what was decided, and each message between bars. */
export function formatExplanation(explained: ExplainedAlert, output: Output, now: number): string {
  const { item, items, facts, decisions, deliveries } = explained;
  const number = items > 1 ? `Alert ${item} of ${items}: ` : "";
  const sections = [
    output.style("bold", `${number}${terminalText(facts.title)}`),
    output.fields([["severity", facts.severity], ["status", facts.status], ...describeFacts(facts, now)]),
    facts.fields.length === 0
      ? ""
      : output.table(
          [{ title: "field" }, { title: "value" }],
          facts.fields.map(({ name, value }) => [name, value]),
        ),
    decisions.length === 0 ? "No route is configured." : formatDecisions(decisions, output),
    deliveries.length === 0 ? formatNowhere(decisions, output) : "",
    ...deliveries.map((delivery) => formatDelivery(delivery, output)),
  ];
  const text = sections
    .map((section) => section.trimEnd())
    .filter((section) => section !== "")
    .join("\n\n");
  return `${text}\n${item < items ? "\n" : ""}`;
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
      return `held until ${dueAt === undefined ? "later" : toSeconds(new Date(dueAt).toISOString())}, then told together with what else was held; ${reason}`;
    default:
      return state satisfies never;
  }
}
