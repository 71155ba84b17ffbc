import type { AlertFacts } from "../../core/alert.ts";
import { describeTurn, describeValues, describeWhen, type GapReport, type MissingAlert } from "../../core/gaps.ts";
import { formatDuration } from "../../ground/time/time-format.ts";

const mostListed = 10;

/**
 * What is news of missing alerts, in one notice. It is about alerts and is none: it names no severity of theirs, and
 * nothing of it is sent where their routes lead.
 */
export function writeGapNotice(
  news: readonly MissingAlert[],
  { checkedAt, recordEveryMs }: Pick<GapReport, "checkedAt" | "recordEveryMs">,
  { link, source }: { link: string; source?: string },
): AlertFacts {
  const sure = news.filter(({ verdict }) => verdict === "sure");
  const likely = news.length - sure.length;
  const isDown = news.every(({ whileDown }) => whileDown);
  const lines = [...sure, ...news.filter(({ verdict }) => verdict === "likely")]
    .slice(0, mostListed)
    .map((one) => `${one.verdict === "sure" ? "Sure" : "Likely"}: ${describeMissing(one)}`);
  return {
    title: `${source === undefined ? "" : `${source}: `}${countMissing(sure.length, likely)}${isDown ? " while Tocsin was down" : ""}`,
    text: [
      ...lines,
      ...(news.length > mostListed ? [`And ${news.length - mostListed} more, see Gaps on the page.`] : []),
      `The service's records show ${news.length === 1 ? "this crossing, and no alert of it" : "these crossings, and no alert of them"} is in the log. Tocsin does not send afterwards what is missing: look at the metrics themselves. ${describeBlindness(recordEveryMs)}`,
    ].join("\n"),
    severity: "warning",
    status: "firing",
    format: "empty",
    alertKey: `tocsin:gaps:${source === undefined ? "" : `${source}:`}${checkedAt}`,
    source: "Tocsin",
    link,
    fields: [],
    notes: [],
  };
}

function countMissing(sure: number, likely: number): string {
  const alerts = (count: number) => (count === 1 ? "1 alert" : `${count.toLocaleString("en")} alerts`);
  if (sure === 0) return `${alerts(likely)} probably did not arrive`;
  const more = likely === 0 ? "" : `, and probably ${likely.toLocaleString("en")} more`;
  return `${alerts(sure)} did not arrive${more}`;
}

/** "USDC price above 3,300: 21 Nov 2026, 14:00 to 14:05 UTC, 3,290 → 3,312" */
function describeMissing(missing: MissingAlert): string {
  return `${describeTurn(missing)}: ${describeWhen(missing.fromAt, missing.toAt)}, ${describeValues(missing)}`;
}

/** What no such check can see. */
function describeBlindness(recordEveryMs: number | undefined): string {
  const every = recordEveryMs === undefined ? "" : ` (${formatDuration(recordEveryMs)})`;
  return `What began and ended between two records${every} is not seen, so there may be more.`;
}
