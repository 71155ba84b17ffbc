import { countOf, toSeconds } from "../shell/amounts.ts";
import { joinSections, type Output } from "../shell/output.ts";
import { terminalText } from "../shell/terminal-text.ts";
import type { Example, Tally } from "./tally.ts";

/** In how many alerts the mapping of the new configuration finds a fact. */
export interface MappedCount {
  fact: string;
  found: number;
}

/** The comparison for people. */
export function formatTally(
  tally: Tally,
  output: Output,
  { fromAt, toAt, file, mapping }: { fromAt: number; toAt: number; file: string; mapping: MappedCount[] },
): string {
  const span = `${toSeconds(fromAt)} to ${toSeconds(toAt)}`;
  if (tally.alerts === 0) return `No alerts of senders were stored from ${span}.\n`;
  const sections = [
    `${countOf(tally.alerts, "alert")} from ${span}; ${tally.changed.toLocaleString("en-US")} would have gone elsewhere by ${terminalText(file)}.`,
    output.table(
      [
        { title: "destination" },
        { title: "before", align: "right" },
        { title: "after", align: "right" },
        { title: "newly sent", align: "right" },
        { title: "no longer sent", align: "right" },
      ],
      tally.destinations.map((one) => [
        one.destination,
        ...[one.before, one.after, one.newlySent, one.noLongerSent].map((count) => count.toLocaleString("en-US")),
      ]),
    ),
    output.fields([
      ["wanted by no route", `before ${tally.unmatched.before}, after ${tally.unmatched.after}`],
      ["dropped on purpose", `before ${tally.dropped.before}, after ${tally.dropped.after}`],
      ["muted", `before ${tally.muted.before}, after ${tally.muted.after}`],
      ...mapping.map(({ fact, found }): [string, string] => [
        `${fact} by mapping`,
        `in ${found.toLocaleString("en-US")}, else guessed`,
      ]),
    ]),
    formatExamples("Newly sent, for example", tally.newlySent, output),
    formatExamples("No longer sent, for example", tally.noLongerSent, output),
  ];
  return joinSections(sections);
}

function formatExamples(title: string, examples: Example[], output: Output): string {
  if (examples.length === 0) return "";
  const table = output.table(
    [
      { title: "received (UTC)", keep: true },
      { title: "destination" },
      { title: "alert" },
      { title: "because" },
      { title: "id", keep: true },
    ],
    examples.map(({ receivedAt, destination, title: alert, reason, id }) => [
      toSeconds(Date.parse(receivedAt)),
      destination,
      alert,
      reason,
      id,
    ]),
  );
  return `${title}:\n${table}`;
}
