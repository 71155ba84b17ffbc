import type { QuietHours } from "../core/rules.ts";
import { createZonedClock } from "../core/zoned-time.ts";

export interface QuietWindow {
  /** Epoch milliseconds; the first instant after the window. */
  endsAt: number;
  /** For people: "quiet hours 22:00 to 07:00 Europe/Zurich". */
  description: string;
}

/** The window that an instant lies in. */
export type FindQuietWindow = (at: number) => QuietWindow | undefined;

/**
 * Windows are read off the wall clock: on the night when clocks change they still begin and end at the times written, and
 * are an hour longer or shorter. A time that the clocks jump over is the instant of the jump; of a time that comes twice
 * the first counts. `from` equal to `to` is a whole day.
 */
export function compileQuietHours(quietHours: QuietHours, timeZone: string): FindQuietWindow {
  const clock = createZonedClock(timeZone);
  const from = parseTimeOfDay(quietHours.from);
  const to = parseTimeOfDay(quietHours.to);
  const description = `quiet hours ${quietHours.from} to ${quietHours.to} ${timeZone}`;
  const endsNextDay = minutesOf(to) <= minutesOf(from);

  return (at) => {
    const today = clock.wallTimeAt(at);
    for (const daysAgo of [1, 0]) {
      const weekday = (today.weekday - daysAgo + 7) % 7;
      if (quietHours.days !== undefined && !quietHours.days.includes(weekday)) continue;
      const day = today.day - daysAgo;
      const endDay = endsNextDay ? day + 1 : day;
      const startsAt = clock.instantOf(today.year, today.month, day, from.hour, from.minute);
      const endsAt = clock.instantOf(today.year, today.month, endDay, to.hour, to.minute);
      if (startsAt <= at && at < endsAt) return { endsAt, description };
    }
    return undefined;
  };
}

interface TimeOfDay {
  hour: number;
  minute: number;
}

function parseTimeOfDay(text: string): TimeOfDay {
  const [hour = 0, minute = 0] = text.split(":").map(Number);
  return { hour, minute };
}

function minutesOf(time: TimeOfDay): number {
  return time.hour * 60 + time.minute;
}
