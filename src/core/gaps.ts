import { writeNumber } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";

/** How certain it is that an alert is missing. What cannot be told is not in the list, see `UnknownGap`. */
export const gapVerdicts = ["sure", "likely"] as const;
export type GapVerdict = (typeof gapVerdicts)[number];

/** A crossing of a rule, whatever its subscription is called. Epoch milliseconds. */
export interface RuleTurn {
  metricKey: string;
  condition: string;
  status: "firing" | "resolved";
  fromAt: number;
  toAt: number;
}

/** The rule of a turn, whatever its subscription is called: that may be another name each time. */
export function ruleOfTurn({ metricKey, condition }: Pick<RuleTurn, "metricKey" | "condition">): string {
  return `${metricKey} ${condition}`;
}

/** An alert that should have come and is not in the log. */
export interface MissingAlert {
  verdict: GapVerdict;
  /** It is 1 to so many that nothing is wrong, and the rule was silent by habit or by the usual noise. */
  odds: number;
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
  /** The `id` of the outage that it is part of, a downtime or a sleep too; absent: it is missing alone, which is worth no notice. */
  outage?: string;
}

/** A time in which alerts did not arrive, more than chance explains. */
export interface GapOutage {
  /** In this report alone. */
  id: string;
  /** From the record before the first crossing without an alert to the record that shows the last one. */
  fromAt: number;
  toAt: number;
  /** Alerts that were due in it, and those of them that are missing. */
  due: number;
  lost: number;
  /** Of one rule alone, in words, while alerts of others came. Absent: it is about the account. */
  rule?: string;
  /** The relay did not run then. */
  whileDown: boolean;
  /** The relay ran and did nothing: its machine was asleep, or its clock was set. Absent: no. */
  asleep?: boolean;
  /** When the first alert behind it arrived, or the relay was there again; absent: not so far. */
  comesAgainAt?: number;
}

/** What the check cannot tell, and why: each reason once. */
export interface UnknownGap {
  /** Subscriptions, metrics, or the whole: the first of their names. */
  what: string;
  /** How many names there are. */
  names: number;
  /** One clause for people. */
  why: string;
  /** Crossings of which it cannot be told for this reason. */
  crossings: number;
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

/** What a look could see, by which it is told what became of alerts that seemed lost before. */
export interface GapSight {
  /** Crossings of which an alert came. */
  answers: RuleTurn[];
  /** Rules that were compared, see `ruleOfTurn`. */
  compared: string[];
  /** All rules that there are. Absent: not all are known. */
  existing?: string[];
  /** Alerts that arrived wait to be read. */
  isBehind: boolean;
}

/** What one check has found. */
export interface GapReport {
  since: number;
  until: number;
  checkedAt: number;
  downtimes: Downtime[];
  /** The newest first. */
  missing: MissingAlert[];
  outages: GapOutage[];
  unknown: UnknownGap[];
  /** Rules that were followed. */
  rules: number;
  /** That the records show: each is answered, missing, fresh, unclear or not due. */
  crossings: number;
  /** An alert of them came. */
  answered: number;
  /** Their alert may still be on its way. */
  fresh: number;
  /** It cannot be told whether an alert was due: `unknown` says why. */
  unclear: number;
  /** No alert was due: before the first one came here, before the rule was there, while the account was off. */
  notDue: number;
  /** For so long after its time an alert may be on its way: how late they have come is learned. */
  freshMs: number;
  /** When the newest of the alerts that came happened; absent: none came. */
  lastAlertAt?: number;
  /** The longest usual time between two records: what happens and ends within it is not seen. Absent: no records. */
  recordEveryMs?: number;
  sight: GapSight;
}

/** The interface document, section 8: history covers up to seven days. */
export const gapHistoryMs = 7 * 24 * 3_600_000;

type Counts = Pick<GapReport, "rules" | "crossings" | "answered" | "fresh" | "unclear" | "notDue"> & {
  missing: readonly { verdict: GapVerdict }[];
  unknown: readonly unknown[];
};

/** What a report comes to, in one sentence without its end. */
export function summarizeGaps(counts: Counts): string {
  const { missing, rules, crossings, answered, fresh, unclear } = counts;
  if (missing.length > 0) {
    const sure = missing.filter(({ verdict }) => verdict === "sure").length;
    const likely = missing.length - sure;
    if (sure === 0) return `${countOf(likely, "alert")} likely missing, none for sure`;
    return `${countOf(sure, "alert")} missing for sure${likely === 0 ? "" : `, ${likely.toLocaleString("en")} likely`}`;
  }
  if (isUndecided(counts)) return "It cannot tell whether alerts are missing";
  if (rules === 0) return "The account has no subscription, so no alert is expected";
  if (crossings === 0) return "No metric crossed a threshold, so no alert was due";
  if (answered === 0) return "No alert was due yet";
  return unclear + fresh > 0
    ? `No alert is missing of the ${answered.toLocaleString("en")} crossings that can be judged`
    : "No alert is missing, as far as the records show";
}

/** Nothing was found well, and something could not be looked at. */
export function isUndecided({ answered, missing, unknown }: Counts): boolean {
  return answered + missing.length === 0 && unknown.length > 0;
}

/** `6 crossings of 24 rules: 2 brought an alert, 3 came before an alert was due, 1 is too fresh to judge` */
export function describeCrossings({
  rules,
  crossings,
  answered,
  missing,
  fresh,
  unclear,
  notDue,
}: Omit<Counts, "unknown">): string {
  const whole = `${countOf(crossings, "crossing")} of ${countOf(rules, "rule")}`;
  const are = (count: number, words: string) =>
    count > 0 && `${count.toLocaleString("en")} ${count === 1 ? "is" : "are"} ${words}`;
  const parts = [
    answered > 0 && `${answered.toLocaleString("en")} brought an alert`,
    are(missing.length, "missing"),
    are(fresh, "too fresh to judge"),
    are(unclear, "unclear"),
    are(notDue, "of a time when no alert was due"),
  ].filter((part) => part !== false);
  return parts.length === 0 ? whole : `${whole}: ${parts.join(", ")}`;
}

const mostOdds = 1_000_000;

/** `1 to 300`, rounded down to one digit; `less than 1 to a million`. */
export function describeOdds(odds: number): string {
  if (odds >= mostOdds) return "less than 1 to a million";
  const digit = 10 ** Math.floor(Math.log10(Math.max(1, odds)));
  return `1 to ${(Math.floor(odds / digit) * digit).toLocaleString("en")}`;
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

/** `12 of 13 alerts did not arrive, of sub_1 (USDC price above 3,300) alone` */
export function describeLoss({
  lost,
  due,
  rule,
  whileDown,
  asleep,
  comesAgainAt,
}: Pick<GapOutage, "lost" | "due" | "rule" | "whileDown" | "asleep"> & { comesAgainAt?: unknown }): string {
  const whose = rule === undefined ? "" : `, of ${rule} alone`;
  const away = whileDown
    ? ", while Tocsin did not run"
    : asleep && ", while Tocsin's machine was asleep or its clock was set";
  const end = away || (comesAgainAt === undefined ? "; none has come since" : "");
  return `${lost.toLocaleString("en")} of ${countOf(due, "alert")} did not arrive${whose}${end}`;
}

/** `sub_1, sub_2 and 47 more: alerting: 502 (12 crossings)` */
export function describeUnknown({ what, why, crossings }: UnknownGap): string {
  return `${what}: ${why}${crossings > 0 ? ` (${countOf(crossings, "crossing")})` : ""}`;
}

const mostNamed = 3;

/** `sub_1, sub_2, sub_3 and 47 more` */
export function listNames(names: readonly string[]): string {
  const more = names.length - mostNamed;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, mostNamed).join(", ")} and ${more.toLocaleString("en")} more`;
}
