const clockStyle = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
const dateStyle = { day: "numeric", month: "short", year: "numeric" } as const;

export type Zone = ReturnType<typeof formatsOf>;

/** @param timeZone IANA; undefined: the browser's */
export function formatsOf(timeZone: string | undefined) {
  const format = (style: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-GB", { ...style, timeZone });
  const exact = format({ ...dateStyle, ...clockStyle, timeZoneName: "short" });
  /** `CET` */
  const name = exact.formatToParts(Date.now()).find(({ type }) => type === "timeZoneName")?.value ?? "";
  return { exact, clock: format(clockStyle), day: format({ ...dateStyle, weekday: "short" }), name };
}

/** Counts days, not 24 hours: a day of a clock change has 23 or 25. */
export function dayBefore(now: number, day: Intl.DateTimeFormat): string {
  let at = now;
  while (day.format(at) === day.format(now)) at -= 1_800_000;
  return day.format(at);
}
