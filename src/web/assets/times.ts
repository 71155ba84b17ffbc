import { relativeTime } from "../../ground/time/ages.ts";
import { keepWish, wish } from "./wishes.ts";
import { formatsOf, type Zone } from "./zones.ts";

export const utc = formatsOf("UTC");
const own = formatsOf(undefined);
const ownIsUtc = own.exact.resolvedOptions().timeZone === "UTC";

export const zone = (): Zone => (wish("zone") === "utc" ? utc : own);

export function showTimes(root: ParentNode = document): void {
  const now = Date.now();
  const { exact: inZone, clock } = zone();
  const other = zone() === utc ? own : utc;
  for (const time of root.querySelectorAll<HTMLTimeElement>("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    const [relative, exact, hours] = [".relative", ".exact", ".clock"].map((part) => time.querySelector(part));
    const isOver = at <= now && time.hasAttribute("data-coming");
    if (relative) relative.textContent = isOver ? "now" : relativeTime(at, now);
    if (exact) exact.textContent = ` ${inZone.format(at)}`;
    if (hours) hours.textContent = clock.format(at);
    if (time.classList.contains("since")) time.textContent = `since ${sinceText(at, now)}`;
    time.title = `${relativeTime(at, now)}: ${inZone.format(at)}${ownIsUtc ? "" : `, ${other.exact.format(at)}`}`;
  }
}

/** The server writes times in the same way: `21:42 CET`, and for another day `20 Nov, 21:42 CET`. */
function sinceText(at: number, now: number): string {
  const { clock, day, name } = zone();
  const time = `${clock.format(at).slice(0, 5)} ${name}`;
  const date = day.format(at);
  return date === day.format(now) ? time : `${date.replace(/^\w+,? | \d{4}$/g, "")}, ${time}`;
}

/** Keeps the zone in a cookie, since the relay draws its pictures in this zone. */
function keepZone(): void {
  const name = zone().exact.resolvedOptions().timeZone;
  // biome-ignore lint/suspicious/noDocumentCookie: other browsers than Chromium have no other way.
  document.cookie = `zone=${encodeURIComponent(name)}; path=/; max-age=31536000; samesite=lax`;
}

export function offerZones(onChanged: () => void): void {
  keepZone();
  const button = document.getElementById("zone");
  if (!button || ownIsUtc) return;
  const show = () => {
    const word = document.createElement("span");
    word.textContent = "Times: ";
    button.replaceChildren(word, zone().name);
    button.title = zone() === utc ? "Show times in your own time zone" : "Show times in UTC";
  };
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    keepWish("zone", zone() === utc ? undefined : "utc");
    show();
    keepZone();
    showTimes();
    onChanged();
  });
}
