import { setImmediate as nextTurn } from "node:timers/promises";
import { toIso } from "../contract/encode.ts";
import type { Alert } from "../core/alert.ts";
import type { RingRule } from "../core/ring.ts";
import type { PlannedDelivery } from "../core/rules.ts";
import type { RingTally } from "../core/tally.ts";
import { triedOptions, triedPercents, writeRinging } from "../ringing/advise-on-rings.ts";
import type { RingJudgement } from "../ringing/judge-ring.ts";
import { ringEventOf } from "../ringing/ring-event.ts";
import { vendorOf } from "../vendors/index.ts";
import { KeptAlerts, mostKept, type Place, type Visit } from "./kept-alerts.ts";
import { RingCounter } from "./ring-count.ts";
import { mayWait, RingTrial } from "./ring-trial.ts";

/** Options are proposed for this many routes: the routes that ring most. */
const mostRoutes = 3;
/** Alerts that are judged before the relay's other work gets its turn. */
const judgedAtOnce = 100;
/** Options that save less than this part of the rings are not proposed. */
const leastSaved = 0.1;

export function createRingTally() {
  const alerts = new KeptAlerts();
  const places = new Map<string, Place>();
  const visitsByName = new Map<string, readonly Visit[]>();
  let isFull = false;

  function placeOf({ destination, route, ring, channel }: PlannedDelivery): Place | undefined {
    if (ring === undefined && vendorOf(channel).can.informsPrograms) return undefined;
    // No name of a destination has a line break.
    const name = `${destination}\n${route}`;
    const known = places.get(name);
    if (known !== undefined) return known;
    const rule = ring ?? { flapping: false };
    const place = { index: places.size, destination, route, rule, oldest: { alert: 0, visit: 0 } };
    places.set(name, place);
    return place;
  }

  /** One list for all alerts that go to the same places in the same way. */
  function visitsOf(deliveries: readonly PlannedDelivery[]): readonly Visit[] {
    const visits = [...new Map(deliveries.map((one) => [one.destination, one])).values()].flatMap((one): Visit[] => {
      const place = placeOf(one);
      if (place === undefined) return [];
      const { state, dueAt, extras, freshnessMs, group } = one;
      const quietUntil = state === "held" ? dueAt : undefined;
      const isSilent = extras?.silent === true;
      return [{ place, quietUntil, isMuted: state === "muted", isSilent, freshnessMs, group }];
    });
    const name = JSON.stringify(visits.map(({ place, ...how }) => [place.index, how]));
    const known = visitsByName.get(name) ?? visits;
    visitsByName.set(name, known);
    return known;
  }

  /** Tries options on the loudest routes and returns those that make them quieter. */
  async function propose(asIs: RingTally["places"]): Promise<RingTally["proposals"]> {
    const rang = new Map<string, number>();
    for (const { route, rings } of asIs) rang.set(route, (rang.get(route) ?? 0) + rings);
    const loudest = [...rang].sort(([, one], [, other]) => other - one).slice(0, mostRoutes);
    const proposals: RingTally["proposals"] = [];
    for (const [route, insteadOf] of loudest) {
      const tried = triedPercents.map(triedOptions);
      const changes = tried.map((options) => (place: Place) => {
        return place.route === route ? { ...place.rule, ...options } : undefined;
      });
      let least = insteadOf;
      for (const [index, counts] of (await countRings(alerts, [...places.values()], changes, route)).entries()) {
        const all = new RingCounter();
        for (const one of counts.values()) all.addUp(one);
        const sum = all.view();
        if (least === 0 || sum.rings > least * (1 - leastSaved)) continue;
        least = sum.rings;
        proposals.push({ route, options: writeRinging(tried[index] ?? {}), insteadOf, ...sum });
      }
    }
    return proposals;
  }

  return {
    add(alert: Pick<Alert, "id" | "receivedAt" | "facts">, deliveries: readonly PlannedDelivery[]): void {
      const visits = visitsOf(deliveries);
      if (visits.length === 0) return;
      isFull = alerts.count >= mostKept;
      if (!isFull) alerts.add(ringEventOf(alert), alert.facts.alertKey, visits);
    },
    async tally(): Promise<RingTally> {
      const [counts = []] = await countRings(alerts, [...places.values()], [({ rule }) => rule]);
      const asIs = [...counts].map(([{ destination, route }, one]) => ({ destination, route, ...one.view() }));
      return {
        places: asIs.toSorted((one, other) => other.rings - one.rings),
        proposals: await propose(asIs),
        ...(isFull && { judgedFrom: toIso(alerts.eventOf(mostKept - 1).at) }),
      };
    },
  };
}

/** @param route only its places are judged, each trial by other rules. Default: all places */
async function countRings(
  alerts: KeptAlerts,
  all: readonly Place[],
  changes: readonly ((place: Place) => RingRule | undefined)[],
  route?: string,
) {
  const there = new Set(all.flatMap((one) => (route === undefined || one.route === route ? [one.destination] : [])));
  const isThere = all.map(({ destination }) => there.has(destination));
  // An alert of this route may wait behind a cause of another route.
  const keys = route && alerts.keysWith(({ place, group }) => place.route === route || !!group?.holds?.length);
  const trials = changes.map((change) => new RingTrial(alerts, all, change));
  let isAnyWaiting = false;
  let left = judgedAtOnce;
  for (const [key, oldest] of alerts.oldestOf.entries()) {
    if (keys && !keys[key]) continue;
    for (const trial of trials) trial.beginKey();
    for (let alert = oldest; alert !== -1; alert = alerts.nextOf[alert] as number) {
      const event = alerts.eventOf(alert);
      for (const [visit, found] of (alerts.visits[alert] as readonly Visit[]).entries()) {
        if (!isThere[found.place.index]) continue;
        isAnyWaiting ||= mayWait(found);
        let first: RingJudgement | undefined;
        for (const trial of trials) first = trial.judge(alert, event, visit, first);
        left -= trials.length;
      }
      if (left > 0) continue;
      left = judgedAtOnce;
      await nextTurn();
    }
  }
  // One trial at a time: each keeps many groups in memory.
  for (const trial of isAnyWaiting ? trials : []) {
    const gathering = trial.gathering();
    for (let alert = alerts.count - 1; alert >= 0; alert -= 1) {
      if (alert % judgedAtOnce === 0) await nextTurn();
      if (keys && !keys[alerts.keyOf[alert] as number]) continue;
      for (const [visit, found] of (alerts.visits[alert] as readonly Visit[]).entries())
        if (mayWait(found) && isThere[found.place.index]) gathering.visit(alert, visit);
    }
    gathering.end();
  }
  return trials.map((trial) => trial.end());
}
