import type { AlertFacts } from "../../core/alert.ts";
import {
  describeOdds,
  describeTurn,
  describeValues,
  describeWhen,
  type GapReport,
  type MissingAlert,
} from "../../core/gaps.ts";
import { createTimeFormat, formatDuration } from "../../ground/time/time-format.ts";
import type { GapNews } from "./plan-gap-notices.ts";

const mostListed = 10;

/**
 * What is news of missing alerts, in one notice. It is about alerts and is none: it names no severity of theirs, and
 * nothing of it is sent where their routes lead.
 */
export function writeGapNotice(
  { says, id, ...news }: Omit<GapNews, "memory">,
  report: Pick<GapReport, "recordEveryMs">,
  { link, source }: { link: string; source?: string },
): AlertFacts {
  const { title, text } = says === "over" ? writeEnd(news) : writeLoss(news, report);
  return {
    title: `${source === undefined ? "" : `${source}: `}${title}`,
    text,
    severity: says === "over" ? "info" : "warning",
    status: says === "over" ? "resolved" : "firing",
    format: "empty",
    alertKey: `tocsin:gaps:${source === undefined ? "" : `${source}:`}${id}`,
    source: "Tocsin",
    link,
    fields: [],
    notes: [],
  };
}

type Told = Omit<GapNews, "memory" | "says" | "id">;

function writeLoss(
  { missing, outages }: Told,
  { recordEveryMs }: Pick<GapReport, "recordEveryMs">,
): { title: string; text: string } {
  const sure = missing.filter(({ verdict }) => verdict === "sure");
  const likely = missing.filter(({ verdict }) => verdict === "likely");
  const isDown = missing.every(({ whileDown }) => whileDown);
  const lines = [...sure, ...likely]
    .slice(0, mostListed)
    .map((one) => `${describeVerdict(one)}: ${describeMissing(one)}`);
  const again = againOf(outages);
  return {
    title: `${countMissing(sure.length, likely.length)}${isDown ? " while Tocsin was down" : ""}`,
    text: [
      ...lines,
      ...(missing.length > mostListed ? [`And ${missing.length - mostListed} more, see Gaps on the page.`] : []),
      ...(isDown
        ? []
        : [again === undefined ? "No alert has come since. You get one more notice, when alerts come again." : again]),
      `The service's records show ${missing.length === 1 ? "this crossing, and no alert of it" : "these crossings, and no alert of them"} is in the log. Tocsin does not send afterwards what is missing: look at the metrics themselves. ${describeBlindness(recordEveryMs)}`,
    ].join("\n"),
  };
}

function writeEnd({ missing, outages, toldBefore }: Told): { title: string; text: string } {
  const arrived = toldBefore - missing.length;
  const due = Math.max(
    outages.reduce((sum, one) => sum + one.due, 0),
    toldBefore,
  );
  const whose = outages.flatMap(({ rule }) => rule ?? []);
  const count =
    missing.length === 0
      ? `of ${toldBefore.toLocaleString("en")} that seemed lost none is missing now`
      : `${missing.length.toLocaleString("en")} of ${due.toLocaleString("en")} did not arrive`;
  return {
    title: `Alerts come again; ${count}`,
    text: [
      ...(whose.length === 0 ? [] : [`It was about ${whose.join(", ")}.`]),
      ...(missing.length > 0 && arrived > 0 ? [`${arrived.toLocaleString("en")} that seemed lost arrived late.`] : []),
      ...(againOf(outages) === undefined ? [] : [againOf(outages) ?? ""]),
      ...(missing.length === 0 ? [] : ["See Gaps on the page for each of them."]),
    ].join("\n"),
  };
}

const utc = createTimeFormat("UTC");

/** Undefined: of one of them none has come again. */
function againOf(outages: Told["outages"]): string | undefined {
  const times = outages.map(({ comesAgainAt }) => comesAgainAt);
  if (times.length === 0 || times.includes(undefined)) return undefined;
  return `Alerts come again since ${utc.full(Math.max(...times.map((at) => at ?? 0)))}.`;
}

function describeVerdict({ verdict, odds }: MissingAlert): string {
  return verdict === "sure" ? "Sure" : `Likely (${describeOdds(odds)} that it is chance)`;
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
