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
import type { Panel, Tone } from "./panel.ts";
import { emptyOf, paragraph, say, tableOf, titledFacts } from "./sections.ts";

const tones: Record<GapVerdict, Tone> = { sure: "bad", likely: "busy" };

export function gapsPanel(report: Omit<GapReport, "sight">): Panel {
  const { since, until, checkedAt, downtimes, missing, outages, unknown, freshMs, recordEveryMs } = report;
  const summary = summarizeGaps(report);
  return [
    missing.length === 0 && emptyOf(summary),
    tableOf(
      missing,
      {
        "how sure": ({ verdict }) => ({ chip: verdict, tone: tones[verdict] }),
        alert: describeTurn,
        metric: { of: ({ metricName, metricKey }) => metricName !== undefined && metricKey, where: "page" },
        when: ({ fromAt, toAt }) => say`${{ at: toAt }}, or up to ${formatDuration(toAt - fromAt)} before`,
        value: describeValues,
        why: ({ reason }) => reason,
      },
      { title: summary },
    ),
    missing.length > 0 && paragraph`Missing alerts are listed here, not sent.`,
    titledFacts({ title: "What was compared" }, [
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
    ]),
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
