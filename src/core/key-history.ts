import type { KeyEvent, KeyHistory } from "./ports/alert-log.ts";

/** The state of an alert key, as seen from one of its alerts. */
export interface KeyState {
  /** The state of the key's latest alert. `unknown`: its alerts say neither that they fire nor that they are over. */
  now: "firing" | "over" | "unknown";
  /** When the state began. For `unknown`: when the latest alert came. */
  since: number;
  /** Whether `since` may be earlier in truth: older alerts of the key were not read. */
  isSinceLeast: boolean;
  /** False: the trouble of this alert is over, and the key has fired again since. */
  isCurrent: boolean;
  /** When the trouble of this alert began and ended, as far as known. */
  episode?: { from: number; to?: number };
  /** How often the key has fired in a row with less than a day between, and since when. */
  time?: { number: number; isLeast: boolean; since: number };
}

/** Alerts further apart are unrelated. Their messages are not joined either. */
const joinedWithinMs = 24 * 60 * 60 * 1000;

/** Undefined when the alert is unknown. A repeat gets the description of the alert that it repeats. */
export function describeKey({ events, hasOlder, hasGap }: KeyHistory, id: string): KeyState | undefined {
  const asked = events.findIndex((event) => event.id === id);
  const happened = asked === -1 ? undefined : events.slice(asked).find(({ isRepeat }) => !isRepeat);
  const ownId = happened?.id ?? id;
  const oldestFirst = events.filter((event) => !event.isRepeat || event.id === ownId).reverse();
  const at = oldestFirst.findIndex((event) => event.id === ownId);
  const own = oldestFirst[at];
  const latest = oldestFirst.at(-1);
  if (own === undefined || latest === undefined) return undefined;
  const isOver = (event: KeyEvent | undefined) => event?.status === "resolved";
  const before = oldestFirst.slice(0, at + 1);
  const sayWhich = oldestFirst.some(({ status }) => status !== "unknown");

  /** The first of the alerts up to `last` that have the same state as it, without a break. */
  const startOf = (last: number): number => {
    let start = last;
    while (start > 0 && isOver(oldestFirst[start - 1]) === isOver(oldestFirst[last])) start -= 1;
    return start;
  };
  const lastIndex = oldestFirst.length - 1;
  const start = startOf(lastIndex);
  const nextOver = oldestFirst.findIndex((event, index) => index > at && isOver(event));
  const firingStart = isOver(own) ? startOf(at) - 1 : at;
  const episodeStart = firingStart < 0 ? undefined : oldestFirst[startOf(firingStart)];
  const ownEnd = isOver(own) ? oldestFirst[startOf(at)] : oldestFirst[nextOver];
  const endIndex = isOver(own) ? at : nextOver;
  const isEndKnown = endIndex !== -1;

  return {
    now: sayWhich ? (isOver(latest) ? "over" : "firing") : "unknown",
    since: (sayWhich ? oldestFirst[start] : latest)?.receivedAt ?? latest.receivedAt,
    isSinceLeast: sayWhich && ((start === 0 && hasOlder) || (hasGap && start <= at + 1)),
    isCurrent: !sayWhich || endIndex === -1 || !oldestFirst.slice(endIndex).some((event) => !isOver(event)),
    episode:
      sayWhich && episodeStart !== undefined
        ? { from: episodeStart.receivedAt, to: isEndKnown ? ownEnd?.receivedAt : undefined }
        : undefined,
    time: timeOf(before, hasOlder),
  };

  function timeOf(upTo: readonly KeyEvent[], mayBeMore: boolean): KeyState["time"] {
    let number = 0;
    let since: KeyEvent | undefined;
    let index = upTo.length - 1;
    for (; index >= 0; index -= 1) {
      const event = upTo[index] as KeyEvent;
      const following = upTo[index + 1];
      if (following !== undefined && following.receivedAt - event.receivedAt > joinedWithinMs) break;
      if (isOver(event)) continue;
      number += 1;
      since = event;
    }
    return since === undefined ? undefined : { number, isLeast: index < 0 && mayBeMore, since: since.receivedAt };
  }
}
