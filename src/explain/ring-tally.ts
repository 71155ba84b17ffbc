import { setImmediate as nextTurn } from "node:timers/promises";
import { toIso } from "../contract/encode.ts";
import type { Alert } from "../core/alert.ts";
import type { GroupEvent, GroupRule } from "../core/group.ts";
import type { RingEvent, RingMemory, RingRule } from "../core/ring.ts";
import type { PlannedDelivery } from "../core/rules.ts";
import type { RingCount, RingTally } from "../core/tally.ts";
import { writeChange } from "../ground/numbers/format-number.ts";
import { triedOptions, triedPercents, writeRinging } from "../ringing/advise-on-rings.ts";
import { furtherBy } from "../ringing/distance.ts";
import { createGroupBook } from "../ringing/group-book.ts";
import { createRingBook } from "../ringing/ring-book.ts";
import { ringEventOf } from "../ringing/ring-event.ts";
import { vendorOf } from "../vendors/index.ts";
import { createGroupMessages } from "./group-messages.ts";

/** Alerts come newest first and are judged oldest first, so they are kept in between. Older ones than these are not judged. */
const mostKept = 100_000;
/** Options are proposed for these many routes, those that ring most. */
const mostRoutes = 3;
/** Judged in one turn: a relay has more to do meanwhile. */
const judgedAtOnce = 100;
/** Options that save fewer rings than this part of those before are not worth a line. */
const leastSaved = 0.1;

interface Place {
  destination: string;
  route: string;
  rule: RingRule;
}

const none: readonly string[] = [];

interface Judged {
  event: RingEvent;
  alertKey: string;
  places: Place[];
  /** Destinations whose quiet hours hold it: nobody is woken there. */
  quiet: readonly string[];
  /** Those where it is muted. */
  muted: readonly string[];
  /** Absent where it waits for nothing. */
  groups?: { event: GroupEvent; rules: ReadonlyMap<string, GroupRule> };
}

type Counted = RingCount & { joined: number; messages: number; far: number };

type Counts = Map<Place, Counted>;

/**
 * @param change of the rules; undefined where they are as they are, and nothing is counted
 * @param keys those that are judged; default: all
 */
type Count = (change: (place: Place) => RingRule | undefined, keys?: ReadonlySet<string>) => Promise<Counts>;

const nothing: Counted = { alerts: 0, rings: 0, heldBack: 0, joined: 0, messages: 0, far: 0 };

/** Judges alerts by the rule of the relay. */
export function createRingTally() {
  const newestFirst: Judged[] = [];
  const places = new Map<string, Place>();
  let isFull = false;

  function placeOf({ destination, route, ring, channel }: PlannedDelivery): Place | undefined {
    if (ring === undefined && vendorOf(channel).can.informsPrograms) return undefined;
    const name = JSON.stringify([destination, route]);
    const known = places.get(name) ?? { destination, route, rule: ring ?? { flapping: false } };
    places.set(name, known);
    return known;
  }

  const count: Count = async (change, keys) => {
    const counts = new Map<Place, Counted>();
    const book = createRingBook();
    const groups = createGroupBook();
    const messages = createGroupMessages();
    for (let index = newestFirst.length - 1; index >= 0; index -= 1) {
      if (index % judgedAtOnce === 0) await nextTurn();
      const { event: heard, alertKey, places, quiet, muted, groups: grouped } = newestFirst[index] as Judged;
      if (keys?.has(alertKey) === false) continue;
      for (const place of places) {
        const changed = change(place);
        const isQuiet = quiet.includes(place.destination);
        const isMuted = muted.includes(place.destination);
        const event = isQuiet || isMuted ? { ...heard, isQuiet, isMuted } : heard;
        const judged = book.judge({ ...place, alertKey }, event, changed ?? place.rule);
        const rule = grouped?.rules.get(place.destination);
        const gathered =
          grouped && rule && groups.judge(place.destination, grouped.event, rule, judged.rings && !isQuiet && !isMuted);
        const rings = judged.asNew && !isQuiet;
        const one = counts.get(place) ?? { ...nothing };
        counts.set(place, one);
        if (gathered) messages.add(place.destination, { event: grouped.event, rings, count: one }, gathered);
        if (changed === undefined || isMuted || event.status === "resolved") continue;
        one.alerts += 1;
        if (rings && gathered?.held === undefined) one.rings += 1;
        if (judged.rings) continue;
        one.heldBack += 1;
        noteWorst(one, event, judged.memory);
      }
    }
    messages.end();
    return new Map([...counts].filter(([place, { alerts, joined }]) => change(place) && alerts + joined > 0));
  };

  return {
    /** Newest first. */
    add(alert: Pick<Alert, "id" | "receivedAt" | "facts">, deliveries: readonly PlannedDelivery[]): void {
      const byDestination = new Map(deliveries.map((one) => [one.destination, one]));
      const itsPlaces = [...byDestination.values()].flatMap((one) => placeOf(one) ?? []);
      if (itsPlaces.length === 0) return;
      isFull = newestFirst.length >= mostKept;
      if (isFull) return;
      const [quiet, muted] = (["held", "muted"] as const).map((asked) => {
        const its = deliveries.filter(({ state }) => state === asked);
        return its.length === 0 ? none : its.map(({ destination }) => destination);
      }) as [readonly string[], readonly string[]];
      const groups = groupsOf(alert, deliveries);
      newestFirst.push({
        ...{ event: ringEventOf(alert), alertKey: alert.facts.alertKey, places: itsPlaces, quiet, muted },
        ...(groups && { groups }),
      });
    },
    async tally(): Promise<RingTally> {
      const counts = await count(({ rule }) => rule);
      return {
        places: [...counts]
          .map(([{ destination, route }, one]) => ({ destination, route, ...toRingCount(one) }))
          .sort((one, other) => other.rings - one.rings),
        proposals: await propose(newestFirst, count, counts),
        ...(isFull && { judgedFrom: toIso(newestFirst.at(-1)?.event.at ?? 0) }),
      };
    },
  };
}

/** Options that would make the loudest routes quieter, each by trying it. */
async function propose(judged: readonly Judged[], count: Count, asIs: Counts): Promise<RingTally["proposals"]> {
  const rang = new Map<string, number>();
  for (const [{ route }, { rings }] of asIs) rang.set(route, (rang.get(route) ?? 0) + rings);
  const loudest = [...rang].sort(([, one], [, other]) => other - one).slice(0, mostRoutes);
  const proposals: RingTally["proposals"] = [];
  for (const [route, insteadOf] of loudest) {
    const isItsOwn = ({ places }: Judged) => places.some((place) => place.route === route);
    // What is tried may wait behind a cause of another route.
    const isCause = ({ groups }: Judged) =>
      groups?.event.status === "firing" && [...groups.rules.values()].some(({ holds }) => holds !== undefined);
    const keys = new Set(judged.filter((one) => isItsOwn(one) || isCause(one)).map(({ alertKey }) => alertKey));
    let least = insteadOf;
    for (const percent of triedPercents) {
      const options = triedOptions(percent);
      const changed = (place: Place) => (place.route === route ? { ...place.rule, ...options } : undefined);
      const counts = await count(changed, keys);
      const sum = [...counts.values()].reduce(addUp, nothing);
      if (least === 0 || sum.rings > least * (1 - leastSaved)) continue;
      least = sum.rings;
      proposals.push({ route, options: writeRinging(options), insteadOf, ...toRingCount(sum) });
    }
  }
  return proposals;
}

function groupsOf(
  { id, receivedAt: at, facts }: Pick<Alert, "id" | "receivedAt" | "facts">,
  deliveries: readonly PlannedDelivery[],
): Judged["groups"] {
  const rules = new Map(
    deliveries.flatMap(({ destination, group }) => (group === undefined ? [] : [[destination, group] as const])),
  );
  if (rules.size === 0) return undefined;
  const { alertKey, severity, status, title } = facts;
  return { event: { id, at, alertKey, severity, status, title }, rules };
}

function toRingCount({ far: _, joined, messages, ...count }: Counted): RingCount {
  return { ...count, ...(messages > 0 && { joined, messages }) };
}

function noteWorst(count: Counted, { id, at, value }: RingEvent, { rings }: RingMemory): void {
  const last = rings.at(-1);
  if (value === undefined || !last?.value) return;
  const far = furtherBy(value, last.value, last.direction) / Math.abs(last.value);
  const change = far > count.far ? writeChange(String(last.value), String(value)) : undefined;
  if (change === undefined) return;
  count.far = far;
  count.worst = { id, receivedAt: toIso(at), change };
}

function addUp(one: Counted, other: Counted): Counted {
  const { far, worst } = other.far > one.far ? other : one;
  return {
    alerts: one.alerts + other.alerts,
    rings: one.rings + other.rings,
    heldBack: one.heldBack + other.heldBack,
    joined: one.joined + other.joined,
    messages: one.messages + other.messages,
    far,
    worst,
  };
}
