import { createZonedClock } from "../ground/time/zoned-time.ts";
import type { Hours } from "./rules.ts";

/** Finds the window that contains an instant. `endsAt`: the first instant after the window, epoch milliseconds. */
export type FindWindow = (at: number) => { endsAt: number } | undefined;

/**
 * Windows follow the wall clock, so they are an hour longer or shorter when clocks change. A time that the clocks jump
 * over is the instant of the jump. Where a time comes twice, the first counts. `from` equal to `to` is a whole day.
 */
export function compileHours(hours: Hours, timeZone: string): FindWindow {
  const clock = createZonedClock(timeZone);
  const from = parseTimeOfDay(hours.from);
  const to = parseTimeOfDay(hours.to);
  const endsNextDay = hours.to <= hours.from;

  let known: LocalDay | undefined;

  /** Reading the wall clock costs a tenth of a millisecond, so each day is read once. */
  function dayAt(at: number): LocalDay {
    if (known !== undefined && known.startsAt <= at && at < known.endsAt) return known;
    const { year, month, day, weekday } = clock.wallTimeAt(at);
    const windows = [1, 0].flatMap((daysAgo) => {
      if (hours.days !== undefined && !hours.days.includes((weekday - daysAgo + 7) % 7)) return [];
      const firstDay = day - daysAgo;
      const startsAt = clock.instantOf(year, month, firstDay, ...from);
      const lastDay = endsNextDay ? firstDay + 1 : firstDay;
      return [{ startsAt, endsAt: clock.instantOf(year, month, lastDay, ...to) }];
    });
    known = {
      startsAt: clock.instantOf(year, month, day, 0, 0),
      endsAt: clock.instantOf(year, month, day + 1, 0, 0),
      windows,
    };
    return known;
  }

  return (at) => dayAt(at).windows.find(({ startsAt, endsAt }) => startsAt <= at && at < endsAt);
}

interface Span {
  startsAt: number;
  endsAt: number;
}

/** A day on the wall clock, with the windows that began on it or the day before. */
interface LocalDay extends Span {
  windows: Span[];
}

export function parseTimeOfDay(text: string): [hour: number, minute: number] {
  const [hour = 0, minute = 0] = text.split(":").map(Number);
  return [hour, minute];
}
