import { toIso } from "../../contract/encode.ts";
import type { AlertDetailView } from "../../contract/operations.ts";
import type { Decision, PlannedDelivery, Route } from "../../core/rules.ts";

/** Kept of each kind, newest first. */
const mostExamples = 5;

export interface DestinationTally {
  destination: string;
  /** Alerts that went there, were held for later, or said an end that was told there already. */
  before: number;
  /** Alerts that would have gone there by the configuration that is tried. */
  after: number;
  newlySent: number;
  noLongerSent: number;
}

export interface Example {
  id: string;
  /** ISO 8601. */
  receivedAt: string;
  title: string;
  destination: string;
  /** Why, by the configuration that is tried. */
  reason: string;
}

export interface Tally {
  alerts: number;
  /** Alerts whose destinations differ. */
  changed: number;
  /** Alerts that no destination got because no route wanted them. */
  unmatched: { before: number; after: number };
  /** Alerts that a route dropped on purpose, and no other sent anywhere. */
  dropped: { before: number; after: number };
  /** Alerts that were kept back at a destination by a mute. */
  muted: { before: number; after: number };
  destinations: DestinationTally[];
  newlySent: Example[];
  noLongerSent: Example[];
}

export interface Rerouted {
  decisions: Decision[];
  deliveries: PlannedDelivery[];
}

export interface TallyBook {
  add(alert: AlertDetailView, title: string, rerouted: Rerouted): void;
  close(): Tally;
}

/** Compares alert by alert; its memory depends on the number of destinations only. */
export function createTallyBook(routes: Route[]): TallyBook {
  const byName = new Map<string, DestinationTally>();
  const tally: Tally = {
    alerts: 0,
    changed: 0,
    unmatched: { before: 0, after: 0 },
    dropped: { before: 0, after: 0 },
    muted: { before: 0, after: 0 },
    destinations: [],
    newlySent: [],
    noLongerSent: [],
  };

  function entry(destination: string): DestinationTally {
    const known = byName.get(destination);
    if (known !== undefined) return known;
    const made = { destination, before: 0, after: 0, newlySent: 0, noLongerSent: 0 };
    byName.set(destination, made);
    return made;
  }

  return {
    add(alert, title, { decisions, deliveries }) {
      const sent = alert.deliveries.filter(({ purpose }) => purpose === "alert");
      const planned = [...sent, ...toldEndsOf(alert.decisions)];
      const before = namesOf(planned);
      const after = namesOf(deliveries);
      tally.alerts += 1;
      if (planned.length === 0) tally[alert.dropped ? "dropped" : "unmatched"].before += 1;
      if (deliveries.length === 0) tally[isDropped(decisions) ? "dropped" : "unmatched"].after += 1;
      if (planned.some(isMuted)) tally.muted.before += 1;
      if (deliveries.some(isMuted)) tally.muted.after += 1;
      const added = [...after].filter((name) => !before.has(name));
      const removed = [...before].filter((name) => !after.has(name));
      if (added.length + removed.length > 0) tally.changed += 1;
      for (const name of before) entry(name).before += 1;
      for (const name of after) entry(name).after += 1;
      const example = (destination: string): Example => ({
        id: alert.id,
        receivedAt: toIso(alert.receivedAt),
        title,
        destination,
        reason: whyOf(destination, decisions, routes),
      });
      for (const name of added) {
        entry(name).newlySent += 1;
        if (tally.newlySent.length < mostExamples) tally.newlySent.push(example(name));
      }
      for (const name of removed) {
        entry(name).noLongerSent += 1;
        if (tally.noLongerSent.length < mostExamples) tally.noLongerSent.push(example(name));
      }
    },
    close: () => ({
      ...tally,
      destinations: [...byName.values()].sort((a, b) => a.destination.localeCompare(b.destination)),
    }),
  };
}

function isDropped(decisions: Decision[]): boolean {
  return decisions.some(({ result }) => result === "dropped");
}

/** Where the routes sent an alert whose end was told there already. */
function toldEndsOf(decisions: AlertDetailView["decisions"]): { destination: string; state: string }[] {
  return decisions.flatMap(({ result, destination }) =>
    result === "contained" && destination !== undefined ? [{ destination, state: result }] : [],
  );
}

function isMuted({ state }: { state: string }): boolean {
  return state === "muted";
}

function namesOf(deliveries: { destination: string; state: string }[]): Set<string> {
  return new Set(deliveries.filter((delivery) => !isMuted(delivery)).map(({ destination }) => destination));
}

/** What was decided of this destination, or of the first route that names it. */
function whyOf(destination: string, decisions: Decision[], routes: Route[]): string {
  const own = decisions.find((decision) => decision.destination === destination && decision.result !== "skipped");
  if (own !== undefined) return `${own.route}: ${own.reason}`;
  const naming = routes.filter(({ to }) => to.includes(destination)).map(({ name }) => name);
  if (naming.length === 0) return "no route names this destination";
  const verdict = decisions.find((decision) => naming.includes(decision.route));
  return verdict === undefined ? "no route names this destination" : `${verdict.route}: ${verdict.reason}`;
}
