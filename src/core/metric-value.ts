import { type AlertFacts, limitsChange, multiplies, toNumber } from "./alert.ts";
import type { AlertDetail } from "./ports/alert-log.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The sender's time of the alert. The arrival, where that time is a day old or in the future. */
export function momentOf({ facts, receivedAt }: Pick<AlertDetail, "facts" | "receivedAt">): number {
  const at = facts?.occurredAt;
  return at !== undefined && at <= receivedAt && at > receivedAt - dayMs ? at : receivedAt;
}

/** A number without a unit that is this many times beyond all records measures something else. */
const farTimes = 10;

/** Null where the value may not be comparable with the records: 24.3 million next to single units, or a change in percent. */
export function valueAmong(facts: AlertFacts, records: readonly { value: number | null }[]): number | null {
  const value = toNumber(facts.value);
  if (value === null || multiplies(facts.unit)) return null;
  const unit = facts.unit?.trim() ?? "";
  const isOfChange = limitsChange(facts);
  if (isOfChange && unit === "%") return null;
  let [low, high, least] = [Number.POSITIVE_INFINITY, 0, 0];
  for (const { value: known } of records) {
    if (known === null || !Number.isFinite(known)) continue;
    low = Math.min(low, Math.abs(known));
    high = Math.max(high, Math.abs(known));
    least = Math.min(least, known);
  }
  // Where no record is negative, a negative value is a change.
  if (value < 0 && least === 0 && high > 0) return null;
  const isFar = Math.abs(value) * farTimes < low || Math.abs(value) > high * farTimes;
  const isDoubtful = unit === "%" || (isOfChange && unit === "");
  return isDoubtful && isFar && high > 0 ? null : value;
}

type Series = Partial<Pick<AlertFacts, "metric" | "token" | "chain" | "unit">>;

/** Whether two alerts of a key may share a line: a rule may watch many pools, and a sender may switch to millions. */
export function isSameSeries(one: Series, other: Series): boolean {
  if (multiplies(one.unit) !== multiplies(other.unit)) return false;
  return (["metric", "token", "chain", "unit"] as const).every((name) => {
    const [own, its] = [one[name]?.trim().toLowerCase() || undefined, other[name]?.trim().toLowerCase() || undefined];
    return own === undefined || its === undefined || own === its;
  });
}
