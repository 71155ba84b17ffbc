import type { FailedAtDestination, ResendPreview, ResendResult } from "../contract/operations.ts";
import { countOf } from "../ground/text/count-of.ts";
import { relativeTime } from "../ground/time/ages.ts";
import { failingWords } from "./destinations.ts";
import { type Action, type Cell, noteDone, noteFailed, type Panel, paragraph, say } from "./panel.ts";

/** What a resend would take up, and what not. `acts`: what can be done then; `isNone`: where nothing can be. */
export function failedPanel(
  { destinations }: ResendPreview,
  now: number,
  { acts = [], isNone }: { acts?: Action[]; isNone?: Cell } = {},
): Panel {
  const ready = destinations.filter(({ health }) => health !== undefined);
  const gone = destinations.filter(({ health }) => health === undefined);
  return [
    ready.length === 0
      ? { kind: "empty", empty: "Nothing failed that was not resent", text: isNone }
      : { kind: "list", items: ready.map((one) => describeFailed(one, now)) },
    ready.length > 0 && {
      kind: "text",
      isSoft: true,
      text: say`They are sent marked "Resent": one message in four while new alerts come. Failures after this moment are not included.`,
    },
    ready.length > 0 && { kind: "acts", acts },
    gone.length > 0 && { kind: "list", title: "Not among them", items: gone.map((one) => describeFailed(one, now)) },
  ];
}

function describeFailed(failed: FailedAtDestination, now: number): Cell {
  const { destination, deliveries, alerts, oldestAt, newestAt, health, paused, asDigests } = failed;
  const several = deliveries !== alerts && say` (${deliveries} deliveries)`;
  const from = relativeTime(oldestAt, now) !== relativeTime(newestAt, now) && say`${{ age: oldestAt }} to `;
  const how = asDigests ? ", as digests." : alerts > 1 ? ", one message each." : ".";
  return [
    say`${{ bold: destination }}: ${{ words: countOf(alerts, "alert") }}${several}, received ${from}${{ age: newestAt }}${{ words: how }}`,
    health === undefined &&
      say` It is no longer configured. Under a new name: open an alert, and resend it to the new destination.`,
    paused && say` Somebody has paused it: they wait until it is resumed.`,
    (health === "dead" || health === "paused") &&
      say` It is failing (${{ words: failingWords[health] }}): it is tried first, and if it still refuses, nothing is resent to it.`,
    health === "down" && say` It is down: they wait until it answers.`,
  ];
}

/** What came of it. */
export function resentPanel({ resent, left }: ResendResult): Panel {
  return [
    resent > 0 &&
      noteDone`${resent} ${{ words: resent === 1 ? "is" : "are" }} on the way again, marked "Resent": one message in four while new alerts come. The top of each page says how many have arrived, until all have, and so does ${{ code: "tocsin status" }}.`,
    ...left.map(
      ({ destination, deliveries, why }) =>
        noteFailed`${{ bold: say`${deliveries} to ${destination} stay failed:` }} ${why}.`,
    ),
    resent === 0 && left.length === 0 && paragraph`Nothing is left that failed: perhaps somebody else has resent it.`,
  ];
}
