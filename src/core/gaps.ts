import { groupThousands, writeNumber } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";

/** How certain it is that an alert is missing. */
export const gapVerdicts = ["sure", "likely"] as const;
export type GapVerdict = (typeof gapVerdicts)[number];

/** A crossing of a rule's threshold. The name of the rule's subscription does not matter. Epoch milliseconds. */
export interface RuleTurn {
  metricKey: string;
  condition: string;
  status: "firing" | "resolved";
  fromAt: number;
  toAt: number;
}

/** Names a rule by metric and condition, since its subscription may get another name. */
export function ruleOfTurn({ metricKey, condition }: Pick<RuleTurn, "metricKey" | "condition">): string {
  return `${metricKey} ${condition}`;
}

/** Epoch milliseconds. */
export interface GapWindow {
  /** Default: seven days ago, as far back as the service has records. */
  since?: number;
  /** Default: now. */
  until?: number;
}

/** A time in which no relay was running, by what the store shows. */
export interface Downtime {
  fromAt: number;
  toAt: number;
  /** A relay ran and did nothing: its machine slept, or its clock was set. */
  asleep?: boolean;
  /** A relay may have run: a backup without the alerts of that time has replaced its log. */
  restored?: boolean;
}

/** What one search for gaps has seen. It decides which gaps of earlier searches are still open. */
export interface GapSight {
  answers: RuleTurn[];
  /** Rules whose history was compared, see `ruleOfTurn`. */
  compared: string[];
  /** All rules of the account. Absent: not all are known. */
  existing?: string[];
  /** Alerts that have arrived still wait to be read. */
  isBehind: boolean;
}

/** Interface document, section 8: history covers up to seven days. */
export const gapHistoryMs = 7 * 24 * 3_600_000;

type Counts = Record<"rules" | "crossings" | "answered" | "fresh" | "unclear" | "notDue", number> & {
  missing: readonly { verdict: GapVerdict }[];
  unknown: readonly unknown[];
};

/** The result in one sentence, without a full stop. */
export function summarizeGaps(counts: Counts): string {
  const { missing, rules, crossings, answered, fresh, unclear } = counts;
  if (missing.length > 0) {
    const sure = missing.filter(({ verdict }) => verdict === "sure").length;
    const likely = missing.length - sure;
    if (sure === 0) return `${countOf(likely, "alert")} likely missing, none for sure`;
    return `${countOf(sure, "alert")} missing for sure${likely === 0 ? "" : `, ${groupThousands(likely)} likely`}`;
  }
  if (isUndecided(counts)) return "It cannot tell whether alerts are missing";
  if (rules === 0) return "The account has no subscription, so no alert is expected";
  if (crossings === 0) return "No metric crossed a threshold, so no alert was due";
  if (answered === 0) return "No alert was due yet";
  return unclear + fresh > 0
    ? `No alert is missing of the ${groupThousands(answered)} crossings that can be judged`
    : "No alert is missing, as far as the records show";
}

/** Whether no crossing could be judged, and some rules could not be read. */
export function isUndecided({ answered, missing, unknown }: Counts): boolean {
  return answered + missing.length === 0 && unknown.length > 0;
}

/** `6 crossings of 24 rules: 2 brought an alert, 1 is too fresh to judge, 3 are of a time when no alert was due` */
export function describeCrossings(counts: Omit<Counts, "unknown">): string {
  const { rules, crossings, answered, missing, fresh, unclear, notDue } = counts;
  const whole = `${countOf(crossings, "crossing")} of ${countOf(rules, "rule")}`;
  const are = (count: number, words: string) => count > 0 && `${countOf(count, "is", "are")} ${words}`;
  const parts = [
    answered > 0 && `${groupThousands(answered)} brought an alert`,
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
  return `1 to ${groupThousands(Math.floor(odds / digit) * digit)}`;
}

/** `USDC price above 3,300`, `USDC price no longer above 3,300`. */
export function describeTurn(turn: Omit<RuleTurn, "fromAt" | "toAt"> & { metricName?: string }): string {
  const { metricKey, metricName = metricKey, condition, status } = turn;
  const words = condition.split(" ").map((word) => writeNumber(word));
  return `${metricName} ${status === "firing" ? "" : "no longer "}${words.join(" ")}`;
}

/** `3,290 → 3,312` */
export function describeValues({ before, after }: { before: number; after: number }): string {
  const [from, to] = [String(before), String(after)];
  return `${writeNumber(from, { besides: [to] })} → ${writeNumber(to, { besides: [from] })}`;
}

/** `12 of 13 alerts did not arrive, of sub_1 (USDC price above 3,300) alone` */
export function describeLoss(outage: {
  lost: number;
  due: number;
  rule?: string;
  whileDown: boolean;
  asleep?: boolean;
  comesAgainAt?: unknown;
}): string {
  const { lost, due, rule, whileDown, asleep, comesAgainAt } = outage;
  const whose = rule === undefined ? "" : `, of ${rule} alone`;
  const away = whileDown
    ? ", while Tocsin did not run"
    : asleep && ", while Tocsin's machine was asleep or its clock was set";
  const end = away || (comesAgainAt === undefined ? "; none has come since" : "");
  return `${groupThousands(lost)} of ${countOf(due, "alert")} did not arrive${whose}${end}`;
}

/** `sub_1, sub_2 and 47 more: alerting: 502 (12 crossings)` */
export function describeUnknown({ what, why, crossings }: { what: string; why: string; crossings: number }): string {
  return `${what}: ${why}${crossings > 0 ? ` (${countOf(crossings, "crossing")})` : ""}`;
}

const mostNamed = 3;

/** `sub_1, sub_2, sub_3 and 47 more` */
export function listNames(names: readonly string[]): string {
  const more = names.length - mostNamed;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, mostNamed).join(", ")} and ${groupThousands(more)} more`;
}
