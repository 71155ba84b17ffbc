import { field, listOf } from "../ground/shape/field.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggest } from "../ground/text/suggest.ts";

/** From Sunday, as `Date.getDay` counts. */
const dayNames = [
  ["sun", "sunday"],
  ["mon", "monday"],
  ["tue", "tuesday", "tues"],
  ["wed", "wednesday", "weds"],
  ["thu", "thursday", "thur", "thurs"],
  ["fri", "friday"],
  ["sat", "saturday"],
];
const allNames = dayNames.flat();
const daysExample = "write days or ranges of days, e.g. [mon, wed], mon-fri or fri-mon";

/** A day (`mon`, `Monday`), a range with both ends (`mon-fri`, also `fri-mon`), or several, with commas. */
function readDays(value: unknown): number[] | Refusal {
  if (typeof value !== "string") return new Refusal(`${showValue(value)} is not a day of the week`, daysExample);
  const days: number[] = [];
  for (const part of value.split(",")) {
    const ends = part.trim().split(/\s*(?:-|–|\.\.)\s*|\s+to\s+/i);
    const from = dayIndex(ends[0] ?? "");
    const to = dayIndex(ends.at(-1) ?? "");
    if (ends.length > 2 || from === undefined || to === undefined) return refuseDays(value, part.trim(), ends);
    for (let day = from; ; day = (day + 1) % 7) {
      days.push(day);
      if (day === to) break;
    }
  }
  return days;
}

function dayIndex(name: string): number | undefined {
  const index = dayNames.findIndex((names) => names.includes(name.toLowerCase()));
  return index < 0 ? undefined : index;
}

function refuseDays(value: string, part: string, ends: string[]): Refusal {
  const shown = part === value.trim() ? showValue(value) : `${showValue(part)} in ${showValue(value)}`;
  const message = `${shown} is not a day of the week, nor a range of days`;
  const listed = part.split(/[/;&+\s]+|\band\b/i).filter((name) => name !== "");
  if (listed.length > 1 && listed.every((name) => dayIndex(name) !== undefined)) {
    return new Refusal(message, `write [${listed.join(", ").toLowerCase()}]`);
  }
  if (/^(week|work(ing)?)\s*days?$/i.test(part)) return new Refusal(message, "write mon-fri");
  if (/^week\s*ends?$/i.test(part)) return new Refusal(message, "write [sat, sun]");
  if (/^(daily|every\s*day|all|\*)$/i.test(part))
    return new Refusal(message, "leave days out: every day is the default");
  const wrong = ends.find((name) => dayIndex(name) === undefined) ?? part;
  const near = suggest(wrong, allNames);
  return new Refusal(message, near === undefined ? daysExample : `did you mean ${near}? Otherwise ${daysExample}`);
}

/** The days in order, each once. */
export function daysOfWeek() {
  return listOf(field(readDays, { type: "string", examples: ["mon-fri"] }), "e.g. mon-fri or [sat, sun]").transform(
    (days) => [...new Set(days.flat())].sort(),
  );
}
