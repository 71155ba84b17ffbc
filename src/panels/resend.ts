import type { FailedAtDestination, ResendPreview, ResendResult } from "../contract/operations.ts";
import { countOf } from "../ground/text/count-of.ts";
import { relativeTime } from "../ground/time/ages.ts";
import { failingWords } from "./destinations.ts";
import type { Action, Cell, Panel } from "./panel.ts";
import { actsOf, emptyOf, noteDone, noteFailed, paragraph, say } from "./sections.ts";

/** The deliveries that a resend or a release includes, and the others. `isNone`: no action is possible. */
export function failedPanel(
  { destinations, over }: ResendPreview,
  now: number,
  { acts = [], isNone }: { acts?: Action[]; isNone?: Cell } = {},
): Panel {
  const ready = destinations.filter(({ health }) => health !== undefined);
  const gone = destinations.filter(({ health }) => health === undefined);
  return [
    ready.length === 0
      ? emptyOf(nothingWords(over !== undefined), isNone)
      : { kind: "list", items: ready.map((one) => describeFailed(one, now)) },
    ready.length > 0 && {
      kind: "text",
      isSoft: true,
      text:
        over === undefined
          ? say`They are sent marked "Resent": one message in four while new alerts come. Failures after this moment are not included.`
          : say`The latest of each alert key is sent once, with how late it is: one message in four while new alerts come.`,
    },
    over !== undefined && over > 0 && leftOutAsOver(over),
    ready.length > 0 && actsOf(...acts),
    gone.length > 0 && { kind: "list", title: "Not among them", items: gone.map((one) => describeFailed(one, now)) },
  ];
}

const nothingWords = (isMute: boolean) =>
  isMute
    ? "Nothing is left to release: it was released already, or nothing was held back that still fires"
    : "Nothing failed that was not resent";

function leftOutAsOver(over: number) {
  const left = `${countOf(over, "message")} of alerts that are over already ${over === 1 ? "is" : "are"} left out`;
  return paragraph`${left}: “Also what is over” (${{ code: "--all" }}) sends them too.`;
}

function describeFailed(failed: FailedAtDestination, now: number): Cell {
  const { destination, deliveries, alerts, heldBack = alerts, oldestAt, newestAt, health, paused, asDigests } = failed;
  const all = heldBack !== alerts && say` (of ${heldBack})`;
  const several = deliveries !== alerts && say` (${deliveries} deliveries)`;
  const from = relativeTime(oldestAt, now) !== relativeTime(newestAt, now) && say`${{ age: oldestAt }} to `;
  const how = asDigests ? ", as digests." : alerts > 1 ? ", one message each." : ".";
  return [
    say`${{ bold: destination }}: ${{ words: countOf(alerts, "alert") }}${all}${several}, received
      ${from}${{ age: newestAt }}${{ words: how }}`,
    health === undefined &&
      say` It is no longer configured. Under a new name: open an alert, and resend it to the new destination.`,
    paused && say` Somebody has paused it: they wait until it is resumed.`,
    (health === "dead" || health === "paused") &&
      say` It is failing (${{ words: failingWords[health] }}): it is tried first, and if it still refuses, nothing is resent to it.`,
    health === "down" && say` It is down: they wait until it answers.`,
  ];
}

/** `isRelease`: of deliveries that a mute has held back. */
export function resentPanel({ resent, left }: ResendResult, isRelease = false): Panel {
  const how = isRelease ? ", marked as late" : ' again, marked "Resent"';
  return [
    resent > 0 &&
      noteDone`${resent} ${{ words: resent === 1 ? "is" : "are" }} on the way${{ words: how }}: one message in four
        while new alerts come. The top of each page says how many have arrived, until all have, and so does
        ${{ code: "tocsin status" }}.`,
    ...left.map(
      ({ destination, deliveries, why }) =>
        noteFailed`${{ bold: say`${deliveries} to ${destination} stay ${{ words: isRelease ? "muted" : "failed" }}:` }} ${why}.`,
    ),
    resent === 0 &&
      left.length === 0 &&
      (isRelease
        ? paragraph`${{ words: nothingWords(true) }}.`
        : paragraph`Nothing is left that failed: perhaps somebody else has resent it.`),
  ];
}
