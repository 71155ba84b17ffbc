import { isInstant } from "../ground/time/time-format.ts";

/** Smaller Unix timestamps are in seconds, others in milliseconds: 1e11 s is the year 5138, 1e11 ms is March 1973. */
const leastMilliseconds = 1e11;

/** Keeps out texts that Node also reads as dates: "valid 12" would be the first of December 2001. */
const iso8601 = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Epoch milliseconds from seconds, milliseconds, either as text, or ISO 8601 (UTC when it names no zone). */
export function toEpochMs(value: unknown): number | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const text = String(value).trim();
  const number = text === "" ? Number.NaN : Number(text);
  if (Number.isFinite(number)) {
    const ms = Math.round(Math.abs(number) < leastMilliseconds ? number * 1000 : number);
    return isInstant(ms) ? ms : undefined;
  }
  const parts = iso8601.exec(text);
  if (parts === null) return undefined;
  const [, time, , , zone] = parts;
  const ms = Date.parse(time === undefined || zone !== undefined ? text : `${text}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

export type TimestampUnit = "seconds" | "milliseconds";

/** Undefined when none of the timestamps is a number. */
export function unitOfTimestamps(values: readonly (number | string)[]): TimestampUnit | undefined {
  const numbers = values.map(Number).filter(Number.isFinite);
  if (numbers.length === 0) return undefined;
  return numbers.some((number) => Math.abs(number) >= leastMilliseconds) ? "milliseconds" : "seconds";
}
