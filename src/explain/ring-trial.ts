import type { RingEvent, RingMemory, RingRule } from "../core/ring.ts";
import { createGroupBook } from "../ringing/group-book.ts";
import { beginsAnew, judgeRing, type RingJudgement } from "../ringing/judge-ring.ts";
import { createGroupMessages } from "./group-messages.ts";
import type { KeptAlerts, Place, Visit } from "./kept-alerts.ts";
import { RingCounter } from "./ring-count.ts";

interface Tried {
  place: Place;
  /** The number of its destination among those of all places. */
  destination: number;
  rule: RingRule;
  isCounted: boolean;
  count: RingCounter;
}

/** What became of a visit that waits for a group, a cause, or the end of quiet hours. */
const [goesOut, isRing] = [1, 2];

/**
 * Counts by other rules. The alerts of a key are judged one behind another, so that one memory is known at a time; groups are judged behind
 * all of them, in the order of the log, since whether an alert rings does not depend on its group.
 */
export class RingTrial {
  readonly #alerts: KeptAlerts;
  readonly #places: readonly Tried[];
  /** The memories of the key that is judged, by the number of the destination. */
  readonly #memories: (RingMemory | undefined)[];
  readonly #outcomes: Uint8Array;

  /** @param change changes a place's rule; undefined: the rule stays, and nothing is counted there */
  constructor(alerts: KeptAlerts, places: readonly Place[], change: (place: Place) => RingRule | undefined) {
    this.#alerts = alerts;
    const destinations = [...new Set(places.map(({ destination }) => destination))];
    this.#memories = destinations.map(() => undefined);
    this.#places = places.map((place) => {
      const rule = change(place);
      const destination = destinations.indexOf(place.destination);
      return { place, destination, rule: rule ?? place.rule, isCounted: rule !== undefined, count: new RingCounter() };
    });
    this.#outcomes = new Uint8Array(alerts.firstVisitOf[alerts.count] as number);
  }

  beginKey(): void {
    this.#memories.fill(undefined);
  }

  /**
   * @param visit its number among those of the alert
   * @param first what another trial judged of it as the first of its key, which rings by each rule
   * @returns the same
   */
  judge(alert: number, heard: RingEvent, visit: number, first: RingJudgement | undefined): RingJudgement | undefined {
    const found = (this.#alerts.visits[alert] as readonly Visit[])[visit] as Visit;
    const { place, quietUntil, isMuted } = found;
    const isQuiet = quietUntil !== undefined;
    const { destination, rule, isCounted, count } = this.#places[place.index] as Tried;
    const event = isQuiet || isMuted ? { ...heard, isQuiet, isMuted } : heard;
    const known = this.#memories[destination];
    const isFirst = beginsAnew(known, event);
    const judged = (isFirst ? first : undefined) ?? judgeRing(isFirst ? undefined : known, event, rule, false);
    this.#memories[destination] = judged.memory;
    // The summary of quiet hours rings for each that goes out with it, whether it is a message of its own or not.
    const rings = (isQuiet ? judged.rings && event.status !== "resolved" : judged.asNew) && sounds(found, event.at);
    if (mayWait(found)) {
      this.#outcomes[(this.#alerts.firstVisitOf[alert] as number) + visit] =
        (judged.rings && !isMuted ? goesOut : 0) | (rings ? isRing : 0);
    }
    if (isCounted && !isMuted && event.status !== "resolved") {
      count.alerts += 1;
      if (rings && !mayWait(found)) count.ring(event.at);
      if (!judged.rings) count.holdBack(alert, event, judged.memory);
    }
    return isFirst ? judged : undefined;
  }

  /** Behind all judgements: takes visits that may wait, in the order of the log, until their end. */
  gathering() {
    const groups = createGroupBook();
    const messages = createGroupMessages();
    const visit = (alert: number, number: number): void => {
      const { place, isMuted, group, quietUntil } = (this.#alerts.visits[alert] as readonly Visit[])[number] as Visit;
      const { isCounted, count } = this.#places[place.index] as Tried;
      const outcome = this.#outcomes[(this.#alerts.firstVisitOf[alert] as number) + number] as number;
      const alertKey = this.#alerts.keys[this.#alerts.keyOf[alert] as number] as string;
      const event = { ...this.#alerts.eventOf(alert), alertKey, title: "" };
      const [rings, isOut] = [(outcome & isRing) !== 0, (outcome & goesOut) !== 0];
      const alone = { event, rings, count };
      if (quietUntil !== undefined && isOut)
        messages.add(place.destination, alone, { held: { name: "quiet hours", dueAt: quietUntil }, changes: [] });
      if (group === undefined) return;
      const gathered = groups.judge(place.destination, event, group, isOut && quietUntil === undefined);
      messages.add(place.destination, alone, gathered);
      const waits = isMuted || quietUntil !== undefined || gathered.held !== undefined;
      if (rings && isCounted && !waits && event.status !== "resolved") count.ring(event.at);
    };
    return { visit, end: messages.end };
  }

  /** What is counted, by place, in the order of their oldest alerts. */
  end(): Map<Place, RingCounter> {
    const counted = this.#places.filter(({ isCounted, count }) => isCounted && count.alerts + count.joined > 0);
    counted.sort(({ place: { oldest: one } }, { place: { oldest: other } }) => {
      return other.alert - one.alert || one.visit - other.visit;
    });
    return new Map(counted.map(({ place, count }) => [place, count]));
  }
}

/** It may go out later, together with others. */
export function mayWait({ group, quietUntil }: Visit): boolean {
  return group !== undefined || quietUntil !== undefined;
}

/** Not where its route is silent, nor what its route finds too old when quiet hours end. */
function sounds({ isSilent, quietUntil, freshnessMs }: Visit, at: number): boolean {
  const isStale = quietUntil !== undefined && freshnessMs !== undefined && quietUntil - at > freshnessMs;
  return !isSilent && !isStale;
}
