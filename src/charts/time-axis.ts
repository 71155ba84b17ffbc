import { dayMs, minuteMs } from "../ground/time/spans.ts";
import { months, twoDigits } from "../ground/time/time-format.ts";
import { createZonedClock, isTimeZone, oncePerZone, type ZonedClock } from "../ground/time/zoned-time.ts";
import type { Tick } from "./plot.ts";

const daySteps = [1, 2, 7, 14, 30, 91, 182, 365];
/** Steps for ranges below a minute or two, in seconds. */
const secondSteps = [1, 2, 5, 10, 15, 30];
const stepsInDay = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720];

/** `18:00:30` within minutes, `18:00` within a day, `21 Nov` at midnight and beyond. An unknown zone is UTC. */
export function timeTicks(from: number, to: number, count: number, timeZone = "UTC"): Tick[] {
  const clock = clockOf(timeZone);
  const span = Math.max(1, to - from);
  const most = Math.max(1, count);
  const seconds = secondSteps.find((step) => span / (step * 1000) <= most);
  // A lone instant on a whole minute needs no seconds.
  const needsSeconds = to > from || from % minuteMs !== 0;
  if (seconds !== undefined && needsSeconds) return secondTicks(clock, from, to, seconds);
  const minutes = stepsInDay.find((step) => span / (step * minuteMs) <= most);
  return minutes === undefined ? dayTicks(clock, from, to, most) : minuteTicks(clock, from, to, minutes);
}

const clockOf = oncePerZone((timeZone) => createZonedClock(isTimeZone(timeZone) ? timeZone : "UTC"));

/** Since 1973 all clocks differ by whole minutes, so round seconds are round everywhere. */
function secondTicks(clock: ZonedClock, from: number, to: number, step: number): Tick[] {
  const stepMs = step * 1000;
  const ticks: Tick[] = [];
  for (let at = Math.ceil(from / stepMs) * stepMs; at <= to; at += stepMs) {
    ticks.push({ value: at, label: `${clockLabel(clock, at)}:${twoDigits(clock.wallTimeAt(at).second)}` });
  }
  return ticks;
}

function minuteTicks(clock: ZonedClock, from: number, to: number, step: number): Tick[] {
  const { year, month, day, hour, minute } = clock.wallTimeAt(from);
  const ticks: Tick[] = [];
  // Follows the wall clock from there, over midnights and over skipped or repeated hours.
  let minutes = Math.floor((hour * 60 + minute) / step) * step;
  for (let dayOffset = 0; dayOffset < 60; dayOffset += 1) {
    for (; minutes < 24 * 60; minutes += step) {
      const at = clock.instantOf(year, month, day + dayOffset, Math.floor(minutes / 60), minutes % 60);
      if (at > to) return ticks;
      if (at < from || at === ticks.at(-1)?.value) continue;
      ticks.push({ value: at, label: minutes === 0 ? dayLabel(clock, at) : clockLabel(clock, at) });
    }
    minutes = 0;
  }
  return ticks;
}

function dayTicks(clock: ZonedClock, from: number, to: number, count: number): Tick[] {
  const days = (to - from) / dayMs;
  const step = daySteps.find((candidate) => days / candidate <= count) ?? Math.ceil(days / count / 365) * 365;
  const { year, month, day } = clock.wallTimeAt(from);
  // Counted from a fixed day, so the same days stay marked while the picture moves on.
  const sinceFixed = Math.floor(Date.UTC(year, month - 1, day) / dayMs) % step;
  const ticks: Tick[] = [];
  for (let offset = -sinceFixed; ; offset += step) {
    const at = clock.instantOf(year, month, day + offset, 0, 0);
    if (at > to) return ticks;
    if (at >= from) ticks.push({ value: at, label: dayLabel(clock, at, step >= 182) });
  }
}

function dayLabel(clock: ZonedClock, at: number, withYear = false): string {
  const wall = clock.wallTimeAt(at);
  return `${wall.day} ${months[wall.month - 1]}${withYear ? ` ${wall.year}` : ""}`;
}

function clockLabel(clock: ZonedClock, at: number): string {
  const { hour, minute } = clock.wallTimeAt(at);
  return `${twoDigits(hour)}:${twoDigits(minute)}`;
}
