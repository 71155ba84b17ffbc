import type { AlertFacts } from "../../core/alert.ts";
import type { GapReport, MissingAlert } from "../../core/gaps.ts";
import { createTimeFormat, formatDuration } from "../../ground/time/time-format.ts";

const { full, clock } = createTimeFormat("UTC");
const mostListed = 10;

/**
 * What is news of missing alerts, in one notice. It is about alerts and is none: it names no severity of theirs, and
 * nothing of it is sent where their routes lead.
 */
export function writeGapNotice(
  news: readonly MissingAlert[],
  { checkedAt, recordEveryMs }: Pick<GapReport, "checkedAt" | "recordEveryMs">,
  link: string,
): AlertFacts {
  const sure = news.filter(({ verdict }) => verdict === "sure");
  const likely = news.length - sure.length;
  const isDown = news.every(({ whileDown }) => whileDown);
  const lines = [...sure, ...news.filter(({ verdict }) => verdict === "likely")]
    .slice(0, mostListed)
    .map((one) => `${one.verdict === "sure" ? "Sure" : "Likely"}: ${describeMissing(one)}.`);
  return {
    title: `${countMissing(sure.length, likely)}${isDown ? ", from when Tocsin did not run" : ""}`,
    text: [
      ...lines,
      ...(news.length > mostListed ? [`And ${news.length - mostListed} more, see the page.`] : []),
      `The service's records show crossings of which no alert is in the log. ${describeBlindness(recordEveryMs)} Tocsin sends none of them afterwards: look at the metrics themselves.`,
    ].join("\n"),
    severity: "warning",
    status: "firing",
    format: "empty",
    alertKey: `tocsin:gaps:${checkedAt}`,
    source: "Tocsin",
    link,
    fields: [],
    notes: [],
  };
}

function countMissing(sure: number, likely: number): string {
  const alerts = (count: number) => (count === 1 ? "1 alert" : `${count.toLocaleString("en")} alerts`);
  if (sure === 0) return `${alerts(likely)} ${likely === 1 ? "has" : "have"} likely not come`;
  const more = likely === 0 ? "" : `, and likely ${likely} more`;
  return `${alerts(sure)} ${sure === 1 ? "has" : "have"} not come${more}`;
}

/** "eth_token_price_0xabc above 3300, between 21 Nov 2026, 14:00:00 UTC and 14:05 UTC (3290 → 3312)" */
export function describeMissing({ metricKey, condition, status, fromAt, toAt, before, after }: MissingAlert): string {
  const what = status === "firing" ? condition : `${condition} ended`;
  return `${metricKey} ${what}, between ${full(fromAt)} and ${clock(toAt)} (${before} to ${after})`;
}

/** What no such check can see, said wherever its result is. */
export function describeBlindness(recordEveryMs: number | undefined): string {
  const every = recordEveryMs === undefined ? "" : ` (${formatDuration(recordEveryMs)})`;
  return `What began and ended between two records${every} is not seen, and several alerts may be missing where one is listed.`;
}
