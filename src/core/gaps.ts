import { writeNumber } from "../ground/numbers/format-number.ts";
import { createTimeFormat } from "../ground/time/time-format.ts";

/** How certain it is that an alert is missing. What it cannot tell stands beside the list, see `UnknownGap`. */
export const gapVerdicts = ["sure", "likely"] as const;
export type GapVerdict = (typeof gapVerdicts)[number];

/** An alert that should have come and is not in the log. */
export interface MissingAlert {
  verdict: GapVerdict;
  /** Of the rule that should have sent it: the subscription's id, or made of metric and condition. */
  rule: string;
  metricKey: string;
  /** What the service calls the metric: `USDC price`. Absent: it does not say. */
  metricName?: string;
  /** `above 3300`, `moved 2.5 % in 15 min`. */
  condition: string;
  /** What it would have said: that the condition began to hold, or ended. */
  status: "firing" | "resolved";
  /** The records before and after the crossing: it was due between the two. Epoch milliseconds. */
  fromAt: number;
  toAt: number;
  before: number;
  after: number;
  /** Why it is missing, and what speaks against it where it is no more than likely. One sentence. */
  reason: string;
  /** The relay did not run then. */
  whileDown: boolean;
}

/** What the check cannot tell, and why. */
export interface UnknownGap {
  /** A subscription, a metric, or the whole. */
  what: string;
  /** One clause for people. */
  why: string;
}

/** Epoch milliseconds. */
export interface GapWindow {
  /** Default: as far back as the service has records, seven days. */
  since?: number;
  /** Default: now. */
  until?: number;
}

/** Time in which the relay did not run, as far as its store shows. */
export interface Downtime {
  fromAt: number;
  toAt: number;
  /** A relay ran and did nothing: its machine was asleep, or its clock was set. */
  asleep?: boolean;
  /** A relay may have run: its log was replaced by a backup, in which the alerts of that time are missing. */
  restored?: boolean;
}

/** What one check has found. */
export interface GapReport {
  since: number;
  until: number;
  checkedAt: number;
  downtimes: Downtime[];
  /** The newest first. */
  missing: MissingAlert[];
  unknown: UnknownGap[];
  /** Rules that were followed, and crossings that the records show, with how many of them brought an alert. */
  rules: number;
  crossings: number;
  answered: number;
  /** The longest usual time between two records: what happens and ends within it is not seen. Absent: no records. */
  recordEveryMs?: number;
}

/** The interface document, section 8: history covers up to seven days. */
export const gapHistoryMs = 7 * 24 * 3_600_000;

/** What a report comes to, in one sentence without its end. */
export function summarizeGaps({
  missing,
  unknown,
  rules,
  crossings,
}: {
  missing: readonly { verdict: GapVerdict }[];
  unknown: readonly UnknownGap[];
  rules: number;
  crossings: number;
}): string {
  if (missing.length > 0) {
    const sure = missing.filter(({ verdict }) => verdict === "sure").length;
    const likely = missing.length - sure;
    const alerts = (count: number) => `${count.toLocaleString("en")} ${count === 1 ? "alert" : "alerts"}`;
    if (sure === 0) return `${alerts(likely)} likely missing, none for sure`;
    return `${alerts(sure)} missing for sure${likely === 0 ? "" : `, ${likely.toLocaleString("en")} likely`}`;
  }
  if (crossings === 0 && unknown.length > 0) return "It cannot tell whether alerts are missing";
  if (rules === 0) return "The account has no subscription, so no alert is expected";
  if (crossings === 0) return "No metric crossed a threshold, so no alert was due";
  return unknown.length > 0
    ? "No alert is missing of those that can be compared"
    : "No alert is missing, as far as the records show";
}

/** `USDC price above 3,300`, `USDC price no longer above 3,300`. */
export function describeTurn({
  metricKey,
  metricName = metricKey,
  condition,
  status,
}: Pick<MissingAlert, "metricKey" | "metricName" | "condition" | "status">): string {
  const words = condition.split(" ").map((word) => writeNumber(word));
  return `${metricName} ${status === "firing" ? "" : "no longer "}${words.join(" ")}`;
}

/** `3,290 → 3,312` */
export function describeValues({ before, after }: Pick<MissingAlert, "before" | "after">): string {
  const [from, to] = [String(before), String(after)];
  return `${writeNumber(from, { besides: [to] })} → ${writeNumber(to, { besides: [from] })}`;
}

const utc = createTimeFormat("UTC");

/** `21 Nov 2026, 13:55 to 14:00 UTC`; with seconds where the two are near. */
export function describeWhen(fromAt: number, toAt: number): string {
  const [day, from] = split(fromAt);
  const [lastDay, to] = split(toAt);
  const length = toAt - fromAt < 2 * 60_000 ? 8 : 5;
  return `${day}, ${from.slice(0, length)} to ${lastDay === day ? "" : `${lastDay}, `}${to.slice(0, length)} UTC`;
}

function split(at: number): [string, string] {
  const [day = "", time = ""] = utc.full(at).split(", ");
  return [day, time];
}

/** What cannot be told for the same reason, together. */
export function groupUnknown(unknown: readonly UnknownGap[]): { what: string[]; why: string }[] {
  const groups = new Map<string, string[]>();
  for (const { what, why } of unknown) groups.set(why, [...(groups.get(why) ?? []), what]);
  return [...groups].map(([why, what]) => ({ what, why }));
}

const mostNamed = 3;

/** `sub_1, sub_2, sub_3 and 47 more` */
export function listNames(names: readonly string[]): string {
  const more = names.length - mostNamed;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, mostNamed).join(", ")} and ${more.toLocaleString("en")} more`;
}
