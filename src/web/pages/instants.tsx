import { relativeTime } from "../../ground/time/ages.ts";
import { dayMs } from "../../ground/time/spans.ts";
import { isInstant } from "../../ground/time/time-format.ts";

const dayStyle = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" } as const;
/** Made once: to make a format takes longer than to format a hundred days. */
const dayFormat = new Intl.DateTimeFormat("en-GB", dayStyle);
const longDayFormat = new Intl.DateTimeFormat("en-GB", { ...dayStyle, weekday: "short" });

/** Most times of a page share a day, and to format a day takes ten times as long as a clock time. */
let lastDay = { number: Number.NaN, words: "" };

function dayOf(at: number): string {
  const number = Math.floor(at / dayMs);
  if (lastDay.number !== number) lastDay = { number, words: dayFormat.format(at) };
  return lastDay.words;
}

/** `21 Nov 2026, 14:02:05 UTC` */
export function exactTime(at: number): string {
  if (!isInstant(at)) return "an unknown time";
  const iso = new Date(at).toISOString();
  return `${dayOf(at)}, ${iso.slice(-13, -5)} UTC`;
}

/** `21:42 UTC`, and for another day `20 Nov, 21:42 UTC`. */
function minuteOf(at: number, now: number): string {
  const time = `${new Date(at).toISOString().slice(11, 16)} UTC`;
  return Math.floor(at / dayMs) === Math.floor(now / dayMs) ? time : `${dayOf(at).replace(/ \d+$/, "")}, ${time}`;
}

/** `since 21:42 UTC`, on one line. */
export function Since({ at, now }: { at: number; now: number }) {
  if (!isInstant(at)) return <span>since an unknown time</span>;
  return (
    <time datetime={new Date(at).toISOString()} title={exactTime(at)} class="since">
      since {minuteOf(at, now)}
    </time>
  );
}

/** `Today, Sat 21 Nov 2026`: the day in UTC. The script shows it in the reader's own zone. */
export function dayWords(at: number, now: number): string {
  const daysAgo = Math.floor(now / dayMs) - Math.floor(at / dayMs);
  const day = longDayFormat.format(at).replace(",", "");
  if (daysAgo === 0) return `Today, ${day}`;
  return daysAgo === 1 ? `Yesterday, ${day}` : day;
}

export const isSameDay = (one: number, other: number): boolean => Math.floor(one / dayMs) === Math.floor(other / dayMs);

interface InstantProps {
  at: number;
  now: number;
  /** `both`: relative, then exact. Default `both`. */
  show?: "relative" | "both";
  /** The instant is in the future: once it has passed, it reads `now`. */
  isComing?: boolean;
}

/** An instant in UTC. The script updates the relative part, and shows the exact part in the reader's own zone. */
export function Instant({ at, now, show = "both", isComing = false }: InstantProps) {
  if (!isInstant(at)) return <span>an unknown time</span>;
  const exact = exactTime(at);
  return (
    <time datetime={new Date(at).toISOString()} title={exact} data-coming={isComing ? "" : undefined}>
      <span class="relative">{isComing && at <= now ? "now" : relativeTime(at, now)}</span>
      {show === "both" && <span class="exact"> {exact}</span>}
    </time>
  );
}

/** `14:02:05`, where the page says day and zone elsewhere. The script shows it in the reader's own zone. */
export function ClockTime({ at }: { at: number }) {
  if (!isInstant(at)) return <span>an unknown time</span>;
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={exactTime(at)}>
      <span class="clock">{iso.slice(-13, -5)}</span>
    </time>
  );
}
