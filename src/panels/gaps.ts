import type { GapReport } from "../contract/operations.ts";
import {
  type Downtime,
  describeCrossings,
  describeLoss,
  describeTurn,
  describeUnknown,
  describeValues,
  type GapVerdict,
  summarizeGaps,
} from "../core/gaps.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { type Panel, paragraph, say, type Tone } from "./panel.ts";

const tones: Record<GapVerdict, Tone> = { sure: "bad", likely: "busy" };

/** Alerts that should have come and did not, as one look has found. */
export function gapsPanel(report: Omit<GapReport, "sight">): Panel {
  const { since, until, checkedAt, downtimes, missing, outages, unknown, freshMs, recordEveryMs } = report;
  const summary = summarizeGaps(report);
  return [
    missing.length === 0 && { kind: "empty", empty: summary },
    missing.length > 0 && {
      kind: "table",
      title: summary,
      columns: [
        { title: "how sure", keep: true },
        { title: "alert" },
        { title: "metric", optional: true, where: "page" },
        { title: "when" },
        { title: "value" },
        { title: "why" },
      ],
      rows: missing.map((one) => [
        { chip: one.verdict, tone: tones[one.verdict] },
        describeTurn(one),
        one.metricName !== undefined && one.metricKey,
        say`${{ at: one.toAt }}, or up to ${formatDuration(one.toAt - one.fromAt)} before`,
        describeValues(one),
        one.reason,
      ]),
    },
    missing.length > 0 && paragraph`Missing alerts are listed here, not sent.`,
    {
      kind: "facts",
      title: "What was compared",
      rows: [
        ["looked", { at: checkedAt }],
        ["since", { at: since }],
        ["until", until !== checkedAt && { at: until }],
        ["found", describeCrossings(report)],
        ["too fresh", `an alert may be on its way for ${formatDuration(freshMs)}, as the past shows`],
        [
          "not seen",
          recordEveryMs !== undefined &&
            `crossings that begin and end between two records, ${formatDuration(recordEveryMs)}`,
        ],
      ],
    },
    outages.length > 0 && {
      kind: "list",
      title: "Outages",
      items: outages.map(
        (one) => say`${{ at: one.fromAt }}, ${formatDuration(one.toAt - one.fromAt)}: ${describeLoss(one)}`,
      ),
    },
    downtimes.length > 0 && { kind: "list", title: "Tocsin did not run", items: downtimes.map(describeDowntime) },
    unknown.length > 0 && { kind: "list", title: "What it cannot tell", items: unknown.map(describeUnknown) },
  ];
}

function describeDowntime({ fromAt, toAt, asleep, restored }: Downtime) {
  const why = asleep
    ? " (the machine was asleep, or its clock was set)"
    : restored && " (not in the log: it was restored from a backup)";
  return say`${{ at: fromAt }}, ${formatDuration(toAt - fromAt)}${why}`;
}
