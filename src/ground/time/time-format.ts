import { relativeTime } from "./ages.ts";
import { createZonedClock, isTimeZone, oncePerMinute } from "./zoned-time.ts";

export type TimeFormat = ReturnType<typeof createTimeFormat>;

export const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** English speakers of these places have letters for different zones (CET, EST, IST, AEDT, NZDT). */
const abbreviatingLocales = ["en-GB", "en-US", "en-IN", "en-AU", "en-NZ", "en-ZA"];
const unknownTime = "an unknown time";

/** Shows instants in a zone (IANA name; unknown: UTC). Making a format is slow except for UTC, using it is not. */
export function createTimeFormat(timeZone: string) {
  const zone = isTimeZone(timeZone) ? timeZone : "UTC";
  const zonedClock = createZonedClock(zone);
  const zoneNameAt = createZoneNames(zone);

  return {
    /** `21 Nov 2026, 14:02:05 CET` */
    full(at: number): string {
      if (!isInstant(at)) return unknownTime;
      const wall = zonedClock.wallTimeAt(at);
      const date = `${wall.day} ${months[wall.month - 1]} ${wall.year}`;
      return `${date}, ${twoDigits(wall.hour)}:${twoDigits(wall.minute)}:${twoDigits(wall.second)} ${zoneNameAt(at)}`;
    },
    /** `14:02 CET` */
    clock(at: number): string {
      if (!isInstant(at)) return unknownTime;
      const wall = zonedClock.wallTimeAt(at);
      return `${twoDigits(wall.hour)}:${twoDigits(wall.minute)} ${zoneNameAt(at)}`;
    },
  };
}

/** `2026-11-21T12:00:00Z (3 min ago)` */
export function withAge(at: number, now: number): string {
  return isInstant(at) ? `${toSeconds(at)} (${relativeTime(at, now)})` : unknownTime;
}

/** ISO 8601 in UTC without the milliseconds, which are of no use to people. */
export function toSeconds(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Splits a text at instants that `full` has written in UTC: texts and epoch milliseconds, in order. */
export function splitInstants(words: string): (string | number)[] {
  return words.split(/(\b\d{1,2} (?:[A-Z][a-z]{2}) \d{4}, \d\d:\d\d:\d\d UTC\b)/).map((part, index) => {
    const at = index % 2 === 1 ? Date.parse(part.replace(",", "")) : Number.NaN;
    return Number.isNaN(at) ? part : at;
  });
}

/** `90 s`, `12 min`, `2 h 5 min`, `3 d 4 h`: at most two units, rounded. Negative durations count as zero. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.max(0, Math.round(durationMs / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return twoUnits(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(minutes / 60);
  return twoUnits(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** Whether `Date` can represent the number. Senders write anything. */
export function isInstant(at: number): boolean {
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15;
}

/** English letters where the zone has some, otherwise the offset (`GMT+9`). */
function createZoneNames(zone: string): (at: number) => string {
  if (zone === "UTC") return () => zone;
  const formats = abbreviatingLocales.map(
    (locale) => new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: "short" }),
  );
  const nameIn = (format: Intl.DateTimeFormat, at: number): string =>
    format.formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? zone;
  return oncePerMinute((at) => {
    for (const format of formats) {
      const name = nameIn(format, at);
      if (!/^GMT[+-−]/.test(name)) return name;
    }
    return formats[0] === undefined ? zone : nameIn(formats[0], at);
  });
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
