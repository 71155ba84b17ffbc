import { AppError } from "../core/errors.ts";
import { type TimestampUnit, unitOfTimestamps } from "./instants.ts";
import { refusalOf } from "./refusal.ts";

export interface HistoryRange {
  fromAt?: number;
  toAt?: number;
}

type History = { points: readonly { timestamp: number | string }[] };

/**
 * The service names no unit for its timestamps. The first request is in seconds. If the answer is in milliseconds, the
 * request is repeated in them. Where no answer shows the unit, a request without a range finds it. The unit is kept.
 */
export function createRangeReader() {
  let known: TimestampUnit | undefined;

  const learn = ({ points }: History): TimestampUnit | undefined => {
    known = unitOfTimestamps(points.map(({ timestamp }) => timestamp)) ?? known;
    return known;
  };

  /** @throws as `ask` does for the range. A refusal of the request that only finds the unit is ignored */
  return async function readRange<T extends History>(
    range: HistoryRange,
    ask: (parameters: Partial<ReturnType<typeof toParameters>>) => Promise<T>,
  ): Promise<T> {
    const { fromAt, toAt } = range;
    if (fromAt === undefined && toAt === undefined) {
      const all = await ask({});
      learn(all);
      return all;
    }
    if (known !== undefined) return ask(toParameters(range, known));
    // A service may refuse a time in the year 57000, or one in 1970.
    const first = await ask(toParameters(range, "seconds")).catch(refusalOf);
    const isUnclear = first instanceof AppError || first.points.length === 0;
    const shown = isUnclear ? await ask({}).catch(refusalOf) : first;
    const unit = shown instanceof AppError ? undefined : learn(shown);
    if (unit === "milliseconds") return ask(toParameters(range, unit));
    if (first instanceof AppError) throw first;
    return first;
  };
}

/** The range in the service's unit, rounded outwards to whole units. */
function toParameters({ fromAt, toAt }: HistoryRange, unit: TimestampUnit) {
  const unitMs = unit === "seconds" ? 1000 : 1;
  return {
    fromTimestamp: fromAt === undefined ? undefined : Math.floor(fromAt / unitMs),
    toTimestamp: toAt === undefined ? undefined : Math.ceil(toAt / unitMs),
  };
}
