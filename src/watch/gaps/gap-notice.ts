import type { GapReport, MissingAlert } from "../../contract/operations.ts";
import type { AlertFacts } from "../../core/alert.ts";
import { describeOdds, describeTurn, describeValues } from "../../core/gaps.ts";
import { ownFacts } from "../../core/own-facts.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { createTimeFormat, formatDuration } from "../../ground/time/time-format.ts";
import type { GapNews } from "./plan-gap-notices.ts";

const mostListed = 10;

/** Writes one notice. It takes neither the severity nor the routes of the missing alerts. */
export function writeGapNotice(
  { says, id, ...news }: Omit<GapNews, "memory">,
  report: Pick<GapReport, "recordEveryMs">,
  { link, source }: { link: string; source?: string },
): AlertFacts {
  const { title, text } =
    says === "lost" ? writeLoss(news, report) : says === "over" ? writeEnd(news) : writeLapse(news);
  return ownFacts({
    key: `gaps:${source === undefined ? "" : `${source}:`}${id}`,
    link,
    title: `${source === undefined ? "" : `${source}: `}${title}`,
    text,
    severity: says === "lost" ? "warning" : "info",
    status: says === "lost" ? "firing" : "resolved",
  });
}

type Told = Omit<GapNews, "memory" | "says" | "id">;

function writeLoss({ missing, outages, isOver }: Told, { recordEveryMs }: Pick<GapReport, "recordEveryMs">) {
  const sure = missing.filter(({ verdict }) => verdict === "sure");
  const likely = missing.filter(({ verdict }) => verdict === "likely");
  const away = outages.every(({ whileDown }) => whileDown)
    ? " while Tocsin was down"
    : outages.every(({ asleep }) => asleep)
      ? " while Tocsin's machine was asleep or its clock was set"
      : "";
  const lines = [...sure, ...likely]
    .slice(0, mostListed)
    .map((one) => `${describeVerdict(one)}: ${describeMissing(one)}`);
  const again = againOf(outages);
  return {
    title: `${countMissing(sure.length, likely.length)}${away}`,
    text: [
      ...lines,
      ...(missing.length > mostListed ? [`And ${missing.length - mostListed} more, see Gaps on the page.`] : []),
      ...(away === "" ? [again === undefined ? "No alert has come since." : writeAgain(again, isOver)] : []),
      ...(isOver ? [] : ["You get one more notice, when alerts come again and no more are lost."]),
      `The service's records show ${missing.length === 1 ? "this crossing" : "these crossings"}, and no alert of ` +
        `${missing.length === 1 ? "it" : "them"} is in the log. Tocsin does not send afterwards what is missing: ` +
        `look at the metrics themselves. ${describeBlindness(recordEveryMs)}`,
    ].join("\n"),
  };
}

function writeEnd({ missing, outages, toldBefore, arrived }: Told) {
  const again = againOf(outages);
  const untold = toldBefore - missing.length - arrived;
  const ofOutages = outages.reduce((sum, one) => sum + one.due, 0);
  const due = Math.max(ofOutages, toldBefore);
  const whose = outages.flatMap(({ rule }) => rule ?? []);
  const seemed = `of ${groupThousands(toldBefore)} that seemed lost`;
  const count =
    missing.length > 0
      ? `${groupThousands(missing.length)} of ${groupThousands(due)} did not arrive`
      : untold === 0
        ? `${seemed} none is missing now`
        : `${seemed} ${arrived === 0 ? "none is known to have arrived" : `${groupThousands(arrived)} arrived late`}`;
  return {
    title: `Alerts come again; ${count}`,
    text: [
      ...(whose.length === 0 ? [] : [`It was about ${whose.join(", ")}.`]),
      ...(missing.length > 0 && arrived > 0 ? [`${groupThousands(arrived)} that seemed lost arrived late.`] : []),
      ...(untold > 0 ? [`Of ${groupThousands(untold)} it cannot be told any more whether they arrived.`] : []),
      ...(again === undefined ? [] : [writeAgain(again, true)]),
      ...(missing.length === 0 ? [] : ["See Gaps on the page for each of them."]),
    ].join("\n"),
  };
}

/** Does not say whether alerts come again: nobody knows. */
function writeLapse({ toldBefore }: Told) {
  return {
    title: `Nothing more can be told of ${countOf(toldBefore, "alert")} that seemed lost`,
    text:
      "The rules were changed, switched off or deleted, or it was more than seven days ago, of which the " +
      "service has no records. Whether alerts of them come again is not known; a new loss is a notice of its own.",
  };
}

const utc = createTimeFormat("UTC");

function againOf(outages: Told["outages"]): number | undefined {
  const own = outages.filter(({ whileDown, asleep }) => !whileDown && !asleep);
  const times = own.flatMap(({ comesAgainAt }) => comesAgainAt ?? []);
  return own.length === 0 || times.length < own.length ? undefined : Math.max(...times);
}

/** One alert amid a loss is not its end. */
function writeAgain(at: number, isOver: boolean): string {
  return `${isOver ? "Alerts come again since" : "The first alert behind it came at"} ${utc.full(at)}.`;
}

function describeVerdict({ verdict, odds }: MissingAlert): string {
  return verdict === "sure" ? "Sure" : `Likely (${describeOdds(odds)} that it is chance)`;
}

function countMissing(sure: number, likely: number): string {
  if (sure === 0) return `${countOf(likely, "alert")} probably did not arrive`;
  const more = likely === 0 ? "" : `, and probably ${groupThousands(likely)} more`;
  return `${countOf(sure, "alert")} did not arrive${more}`;
}

/** Writes "USDC price above 3,300: 21 Nov 2026, 14:00:00 UTC to 21 Nov 2026, 14:05:00 UTC, 3,290 → 3,312". */
function describeMissing(missing: MissingAlert): string {
  // Instants in this form are shown in the destination's time zone.
  const when = `${utc.full(missing.fromAt)} to ${utc.full(missing.toAt)}`;
  return `${describeTurn(missing)}: ${when}, ${describeValues(missing)}`;
}

/** The limits of every such check. */
function describeBlindness(recordEveryMs: number | undefined): string {
  const every = recordEveryMs === undefined ? "" : ` (${formatDuration(recordEveryMs)})`;
  return `What began and ended between two records${every} is not seen, so there may be more.`;
}
