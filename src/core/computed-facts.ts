import { parseAmount, percentOf, subtractDecimals } from "../ground/numbers/decimal.ts";
import { writePlain } from "../ground/numbers/format-number.ts";
import { type AlertFacts, limitsChange, multiplies, sideInTitle, sideOfCondition } from "./alert.ts";

/* Facts in percent, exact to six places. Absent where a number is missing or unreadable, or the base is zero. */

/** The change from the previous value, in percent of that: `-5.7` for 94.3 after 100. */
export function changePercentOf({ value, previousValue }: AlertFacts): string | undefined {
  return differenceInPercent(value, previousValue);
}

/**
 * How far the value is past its threshold, in percent: `2.8` for 24.3 below 25 and for 25.7 above 25. Negative before it. Where
 * the sender names no side, it is the value's own, while the alert fires. Absent for a limit of a change, and a unit that
 * multiplies.
 */
export function distancePercentOf(facts: AlertFacts): string | undefined {
  const { value, threshold, status, unit } = facts;
  if (threshold === undefined || limitsChange(facts) || multiplies(unit)) return undefined;
  const above = differenceInPercent(value, threshold);
  if (above === undefined || above === "0") return above;
  const below = above.startsWith("-") ? above.slice(1) : `-${above}`;
  const side = sideOfCondition(facts) ?? sideInTitle(facts);
  if (side !== undefined) return side === "above" ? above : below;
  return status === "resolved" ? undefined : above.replace("-", "");
}

function differenceInPercent(sent: string | undefined, base: string | undefined): string | undefined {
  if (sent === undefined || base === undefined) return undefined;
  const [to, from] = [parseAmount(sent), parseAmount(base)];
  const difference = to && from && subtractDecimals(to, from);
  const percent = difference && percentOf(difference, from);
  return percent && writePlain(percent);
}
