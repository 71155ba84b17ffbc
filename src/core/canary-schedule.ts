import { listed } from "../ground/text/count-of.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { createZonedClock, dayNames } from "../ground/time/zoned-time.ts";
import { parseTimeOfDay } from "./hours.ts";

export type CanarySchedule =
  | { kind: "every"; everyMs: number }
  | {
      kind: "at";
      /** `07:30`; at least one. */
      times: string[];
      /** 0 (Sunday) to 6; at least one. Absent: every day. */
      days?: number[];
      /** IANA name. */
      timeZone: string;
    };

/** For people, after "Tocsin sends a test": `every 1 h`, `at 07:30 and 19:30 on Mon, Tue, Europe/Zurich`. */
export function describeCanarySchedule(schedule: CanarySchedule): string {
  if (schedule.kind === "every") return `every ${formatDuration(schedule.everyMs)}`;
  const { times, days, timeZone } = schedule;
  const on = days === undefined ? "" : ` on ${days.map((day) => dayNames[day]).join(", ")}`;
  return `at ${listed(times, "and")}${on}, ${timeZone}`;
}

/** Finds the first time after an instant, epoch milliseconds. A skipped time counts as the instant of the clocks' jump. */
export function compileCanarySchedule(schedule: CanarySchedule): (after: number) => number {
  if (schedule.kind === "every") return (after) => after + schedule.everyMs;
  const { times, days, timeZone } = schedule;
  const clock = createZonedClock(timeZone);
  return (after) => {
    const { year, month, day, weekday } = clock.wallTimeAt(after);
    // Eight days: today's times may be over, so the same weekday in a week is needed.
    const instants = Array.from({ length: 8 }, (_, ahead) => ahead)
      .filter((ahead) => days === undefined || days.includes((weekday + ahead) % 7))
      .flatMap((ahead) => times.map((time) => clock.instantOf(year, month, day + ahead, ...parseTimeOfDay(time))));
    return Math.min(...instants.filter((at) => at > after));
  };
}
