import type { Tally } from "../core/tally.ts";
import { countOf } from "../ground/text/count-of.ts";
import { toSeconds } from "../ground/time/time-format.ts";
import type { Panel, Section } from "./panel.ts";
import { actsOf, aside, factsOf, groupOf, paragraph, say, tableOf } from "./sections.ts";

/** Where alerts would have gone, which would have rung, and options that ring less. `file`: the tried configuration. */
export function tallyPanel(
  tally: Tally,
  { fromAt, toAt, file }: { fromAt: number; toAt: number; file: string },
): Panel {
  const { alerts, changed, unmatched, dropped, muted, destinations, mapping = [], comparedFrom, idle } = tally;
  const span = `${toSeconds(comparedFrom === undefined ? fromAt : Date.parse(comparedFrom))} to ${toSeconds(toAt)}`;
  const which = comparedFrom === undefined ? "" : "The newest ";
  if (alerts === 0) return [paragraph`No alerts of senders were stored from ${span}.`];
  const count = ({ before, after }: Tally["muted"]) => `before ${before}, after ${after}`;
  return [
    paragraph`${which}${countOf(alerts, "alert")} from ${span}; ${changed} would have gone elsewhere by ${file}.`,
    tableOf(destinations, {
      destination: ({ destination }) => destination,
      before: (one) => one.before,
      after: (one) => one.after,
      "newly sent": ({ newlySent }) => newlySent,
      "no longer sent": ({ noLongerSent }) => noLongerSent,
    }),
    factsOf([
      ["wanted by no route", count(unmatched)],
      ["dropped on purpose", count(dropped)],
      ["muted", count(muted)],
      ...mapping.map(({ fact, found }) => [`${fact} by mapping`, say`in ${found}, else guessed`] as const),
    ]),
    ...ringingSections(tally.ringing),
    examplesTable("Newly sent, for example:", tally.newlySent),
    examplesTable("No longer sent, for example:", tally.noLongerSent),
    idle.length > 0 && paragraph`Took none of these alerts: ${idle.join(", ")}.`,
  ];
}

function ringingSections({ places, proposals, judgedFrom }: Tally["ringing"]): (Section | false)[] {
  type Count = Tally["ringing"]["places"][number] | Tally["ringing"]["proposals"][number];
  const worst = ({ heldBack, worst }: Count) => {
    if (heldBack === 0) return "";
    return worst === undefined ? "nothing further" : `${worst.change} at ${toSeconds(Date.parse(worst.receivedAt))}`;
  };
  return [
    tableOf(
      places,
      {
        destination: ({ destination }) => destination,
        route: ({ route }) => route,
        firing: ({ alerts }) => alerts,
        rings: ({ rings }) => rings,
        "most in an hour": ({ loudest }) =>
          loudest ? `${loudest.rings} from ${toSeconds(Date.parse(loudest.from))}` : "",
        "held back": ({ heldBack }) => heldBack,
        "go out together": ({ joined, messages }) => (messages ? `${joined} in ${countOf(messages, "message")}` : ""),
        "the furthest held": worst,
      },
      { title: `What would ring, where people read${judgedFrom ? `, of the alerts since ${judgedFrom}` : ""}:` },
    ),
    tableOf(
      proposals,
      {
        route: ({ route }) => route,
        "would have rung": ({ rings }) => rings,
        "instead of": ({ insteadOf }) => insteadOf,
        "the furthest held": worst,
        with: ({ options }) => options,
      },
      { title: "Options that would have rung less:", keep: ["with"] },
    ),
  ];
}

function examplesTable(title: string, examples: Tally["newlySent"]): Section | false {
  const columns = {
    "received (UTC)": ({ receivedAt }) => toSeconds(Date.parse(receivedAt)),
    destination: ({ destination }) => destination,
    alert: (example) => example.title,
    because: ({ reason }) => reason,
    id: ({ id }) => id,
  } satisfies Record<string, (example: Tally["newlySent"][number]) => string>;
  return tableOf(examples, columns, { title, keep: ["received (UTC)", "id"] });
}

export interface TypedRules {
  file: string;
  days: string;
}

export function tryFilePanel({ file, days }: TypedRules): Section {
  const choices = ["1", "7", "30"].map((one) => [one, countOf(Number(one), "day")] as const);
  return groupOf({ title: "Try another file", id: "try-file-title" }, [
    paragraph`The stored alerts are routed by its ${{ code: "routes" }}, ${{ code: "mutes" }} and
      ${{ code: "inhibit" }}, with the destinations of now, and compared with what happened. Nothing is sent or
      changed.`,
    actsOf({
      label: "Compare",
      post: "/routes",
      inputs: [
        {
          name: "file",
          label: "File",
          value: file,
          lines: 12,
          placeholder: "routes:\n  - { name: all, to: desk }",
        },
        { name: "days", label: "Alerts of the last", value: days, options: choices },
      ],
    }),
    aside`${{ code: "tocsin backtest --config FILE" }} compares whole files, with more alerts.`,
  ]);
}
