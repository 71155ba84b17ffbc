import type { GroupEvent } from "../core/group.ts";
import type { RingEvent, RingMemory, RingRule } from "../core/ring.ts";
import { groupBy } from "../ground/group-by.ts";
import { createGroupBook } from "../ringing/group-book.ts";
import type { Gathered } from "../ringing/judge-group.ts";
import { beginsAnew, judgeRing, type RingJudgement } from "../ringing/judge-ring.ts";
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

/** A visit that waits for a group, a cause, or the end of quiet hours goes out later. It may ring then. */
const [goesOut, isRing] = [1, 2];

/**
 * Counts rings by other rules, one key after another, so only one memory is kept. Groups come afterwards: whether an
 * alert rings does not depend on its group.
 */
export class RingTrial {
  readonly #alerts: KeptAlerts;
  readonly #places: readonly Tried[];
  /** The memories of the current key, by the number of the destination. */
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
   * @param visit its number among those of the alert @param first what another trial returned for the key's first alert
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
    // The summary of quiet hours rings for each alert in it, whether the alert is a message of its own or not.
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

  /** Called after all judgements. Takes the visits that may wait, in the order of the log. */
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

  /** In the order of the places' oldest alerts. */
  end(): Map<Place, RingCounter> {
    const counted = this.#places.filter(({ isCounted, count }) => isCounted && count.alerts + count.joined > 0);
    counted.sort(({ place: { oldest: one } }, { place: { oldest: other } }) => {
      return other.alert - one.alert || one.visit - other.visit;
    });
    return new Map(counted.map(({ place, count }) => [place, count]));
  }
}

/** Whether the visit may go out later, together with others. */
export function mayWait({ group, quietUntil }: Visit): boolean {
  return group !== undefined || quietUntil !== undefined;
}

/** False for a silent route, and for an alert that is too old for its route when quiet hours end. */
function sounds({ isSilent, quietUntil, freshnessMs }: Visit, at: number): boolean {
  const isStale = quietUntil !== undefined && freshnessMs !== undefined && quietUntil - at > freshnessMs;
  return !isSilent && !isStale;
}

interface Waiting {
  event: GroupEvent;
  rings: boolean;
  count: RingCounter;
  dueAt: number;
  /** Its key ends before its cause is over, so nobody hears of it. */
  isOver?: boolean;
}

/** Lanes send waiting alerts of one name that are due at one time as one message, which rings once. */
function createGroupMessages() {
  /** Keyed by destination and name. The alert that is due first comes first. */
  const byName = new Map<string, Waiting[]>();
  /** Alerts that were due at one time went out in one message. */
  const tell = (due: Waiting[]): void => {
    const told = due.filter(({ isOver }) => !isOver);
    for (const together of groupBy(told, ({ dueAt }) => dueAt).values()) {
      const endOf = new Map<string, number>();
      for (const [index, { event }] of together.entries())
        if (event.status === "resolved") endOf.set(event.alertKey, index);
      // What is over in its own message makes no sound.
      const rung = together.find(({ event, rings }, index) => rings && !((endOf.get(event.alertKey) ?? -1) > index));
      if (rung) rung.count.ring(rung.dueAt);
      if (together.length < 2) continue;
      for (const { count } of together) count.joined += 1;
      for (const count of new Set(together.map((one) => one.count))) count.messages += 1;
    }
  };
  return {
    add(
      destination: string,
      alert: Omit<Waiting, "dueAt">,
      { held, changes }: Pick<Gathered, "held" | "changes">,
    ): void {
      /** The alerts that still wait under a name. Those that were due before this alert are counted first. */
      const waitingFor = (name: string): Waiting[] => {
        const key = `${destination}\n${name}`;
        const all = byName.get(key) ?? [];
        byName.set(key, all);
        tell(all.splice(0, all.findLastIndex(({ dueAt }) => dueAt < alert.event.at) + 1));
        return all;
      };
      for (const { name, dueAt, ...change } of changes) {
        const all = waitingFor(name);
        if (change.kind === "move") {
          const isMoved = ({ event }: Waiting) => change.keys.includes(event.alertKey);
          const left = all.splice(0);
          all.push(...left.filter((one) => !isMoved(one)));
          const there = waitingFor(change.to);
          there.push(...left.filter(isMoved).map((one) => Object.assign(one, { dueAt })));
          there.sort((one, other) => one.event.at - other.event.at);
          continue;
        }
        const ended = new Set<string>();
        for (const one of all.toReversed()) {
          if (one.event.status === "resolved" && change.kind === "release") ended.add(one.event.alertKey);
          one.isOver ||= ended.has(one.event.alertKey);
          one.dueAt = Math.min(one.dueAt, dueAt);
        }
      }
      if (held !== undefined) waitingFor(held.name).push({ ...alert, dueAt: held.dueAt });
    },
    /** No alert follows: those that still wait go out when they are due. */
    end(): void {
      for (const all of byName.values()) tell(all);
    },
  };
}
