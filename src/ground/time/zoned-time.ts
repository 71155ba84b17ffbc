import { remember } from "../remember.ts";
import { dayMs, minuteMs } from "./spans.ts";

/** `month` is 1 to 12, `weekday` 0 (Sunday) to 6. */
export interface WallTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  weekday: number;
}

export const dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** Making a clock is slow (a tenth of a millisecond), using it is not. */
export interface ZonedClock {
  wallTimeAt(at: number): WallTime;
  /** The first instant with this wall clock time, or the instant of the jump over it. `day` may be outside of its month. */
  instantOf(year: number, month: number, day: number, hour: number, minute: number): number;
}

/** Throws a RangeError for an unknown IANA name, see `isTimeZone`. */
export function createZonedClock(timeZone: string): ZonedClock {
  const offsetAt = timeZone === "UTC" ? () => 0 : offsetsOf(timeZone);

  /** The wall clock as if it were UTC: differences of such readings are differences of clocks. */
  function readingAt(at: number): number {
    return Math.floor(at / 1000) * 1000 + offsetAt(at);
  }

  function wallTimeAt(at: number): WallTime {
    const reading = new Date(readingAt(at));
    return {
      year: reading.getUTCFullYear(),
      month: reading.getUTCMonth() + 1,
      day: reading.getUTCDate(),
      hour: reading.getUTCHours(),
      minute: reading.getUTCMinutes(),
      second: reading.getUTCSeconds(),
      weekday: reading.getUTCDay(),
    };
  }

  function instantOf(year: number, month: number, day: number, hour: number, minute: number): number {
    const wanted = Date.UTC(year, month - 1, day, hour, minute);
    // No zone is more than a day from UTC, so the offset of a day before or after applies.
    const candidates = [wanted - dayMs, wanted + dayMs]
      .map((near) => wanted - (readingAt(near) - near))
      .filter((at) => readingAt(at) === wanted);
    return candidates.length > 0 ? Math.min(...candidates) : firstInstantPast(wanted);
  }

  /** Finds the jump by halving the two days around a skipped reading. */
  function firstInstantPast(wanted: number): number {
    let before = wanted - dayMs;
    let after = wanted + dayMs;
    while (after - before > 1000) {
      const middle = Math.floor((before + after) / 2000) * 1000;
      if (readingAt(middle) < wanted) before = middle;
      else after = middle;
    }
    return after;
  }

  return { wallTimeAt, instantOf };
}

function offsetsOf(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });

  function readFormatted(at: number): number {
    const parts = new Map(format.formatToParts(at).map((part) => [part.type, Number(part.value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  }

  return oncePerMinute((at) => readFormatted(at) - Math.floor(at / 1000) * 1000);
}

/** From then on all clocks change at whole minutes of UTC. Liberia was the last exception. */
const wholeMinutesSince = Date.UTC(1973, 0, 1);
/** Enough for several readers' charts, each with its own span. */
const keptMinutes = 500;
const keptZones = 64;

/** Asks `Intl` about a zone once for each minute: messages show the same few minutes again and again. */
export function oncePerMinute<T>(read: (at: number) => T): (at: number) => T {
  const readOnce = remember(keptMinutes, (minute: number) => read(minute * minuteMs));
  return (at) => (at < wholeMinutesSince ? read(at) : readOnce(Math.floor(at / minuteMs)));
}

/** Once for each zone. Readers name their own zones. */
export const oncePerZone = <T>(make: (timeZone: string) => T): ((timeZone: string) => T) => remember(keptZones, make);

export function isTimeZone(name: string): boolean {
  // Most relays know only UTC, and the platform's first answer takes 10 ms.
  if (name === "UTC") return true;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
