import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { toIso } from "../contract/encode.ts";
import type { AlertDetailView } from "../contract/operations.ts";
import type { AlertFacts, Translation } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import { type FactMapping, type MappableFact, mappableFacts } from "../core/mapping.ts";
import type { BodyReader, BodyReading, StoredBody } from "../core/ports/body-reader.ts";
import { type Decision, isShownByOther, type Mute, type PlannedDelivery, type Route } from "../core/rules.ts";
import type { Change, DestinationTally, Tally } from "../core/tally.ts";
import type { Router } from "../routing/router.ts";
import { createRingTally } from "./ring-tally.ts";

/** Kept of each kind, in the order in which alerts are added. */
const mostExamples = 5;
/** Bodies that are read together, since each call waits for the way to the thread and back. */
const readTogether = 200;
const readTogetherBytes = 1024 * 1024;
const countedAtOnce = 20;

export interface BacktestDeps {
  reader: BodyReader;
  router: Router;
  routes: readonly Route[];
  mapping: FactMapping;
  /** Those of the time in which the alerts came, the configuration's left out. */
  mutes: Mute[];
}

/** Compares alert by alert, the newest first; of each it keeps what decides whether it rings, see `createRingTally`. */
export function createBacktest({ reader, router, routes, mapping, mutes }: BacktestDeps) {
  const destinations = new Map<string, DestinationTally>();
  const found = new Map<MappableFact, number>(
    mappableFacts.flatMap((fact) => (mapping[fact] === undefined ? [] : [[fact, 0] as const])),
  );
  const rings = createRingTally();
  const tally: Omit<Tally, "ringing"> = {
    alerts: 0,
    changed: 0,
    unmatched: { before: 0, after: 0 },
    dropped: { before: 0, after: 0 },
    muted: { before: 0, after: 0 },
    destinations: [],
    newlySent: [],
    noLongerSent: [],
  };

  let waiting: Stored[] = [];
  let waitingBytes = 0;
  /** The last ones before those, while more are fetched. */
  let working: Promise<void> = Promise.resolve();

  async function take(): Promise<void> {
    const taken = waiting;
    [waiting, waitingBytes] = [[], 0];
    await working;
    working = countAll(taken);
    // Said by the next wait for it.
    working.catch(() => undefined);
  }

  async function countAll(taken: Stored[]): Promise<void> {
    const bodies = [...new Set(taken.map(({ body }) => body))];
    const readings = await reader.read(bodies);
    const readingOf = new Map(bodies.map((body, index) => [body, readings[index] as BodyReading]));
    for (const [index, { alert, item, body }] of taken.entries()) {
      // A relay has more to do meanwhile.
      if (index % countedAtOnce === 0) await nextTurn();
      const rerouted = reroute(alert, item, readingOf.get(body) as BodyReading);
      if (rerouted === undefined) continue;
      for (const fact of found.keys())
        if (rerouted.mapped?.[fact] !== undefined) found.set(fact, (found.get(fact) ?? 0) + 1);
      count(alert, rerouted);
      const { facts, deliveries } = rerouted;
      // What could not be read is not judged by the relay either.
      if (facts !== undefined) rings.add({ id: alert.id, receivedAt: alert.receivedAt, facts }, deliveries);
    }
  }

  return {
    /**
     * Routes an alert as at the time it came, together with others. One that another alert's message shows counts nowhere.
     * @throws AppError `failed` where nothing can be read now
     */
    async add(alert: AlertDetailView): Promise<void> {
      const { request, ...rest } = alert;
      if (request === null || isShownByOther(alert.decisions)) return;
      const body = {
        body: Buffer.from(request.body, request.bodyEncoding),
        contentType: request.contentType,
        source: rest.source,
      };
      // The alerts of a batch stand one after another in the log; its body is read once for all of them.
      const last = waiting.at(-1)?.body;
      const isSame = last !== undefined && isDeepStrictEqual(last, body);
      waiting.push({ alert: rest, item: request.item, body: isSame ? last : body });
      if (!isSame) waitingBytes += body.body.byteLength;
      if (waiting.length >= readTogether || waitingBytes >= readTogetherBytes) await take();
    },
    /** Of all that were added. */
    async tally(): Promise<Tally> {
      await take();
      await working;
      return {
        ...tally,
        destinations: [...destinations.values()].sort((a, b) => a.destination.localeCompare(b.destination)),
        ringing: rings.tally(),
        ...(found.size > 0 && { mapping: [...found].map(([fact, number]) => ({ fact, found: number })) }),
      };
    },
  };

  function reroute(alert: Stored["alert"], item: number, reading: BodyReading): Rerouted | undefined {
    const { origin, receivedAt, title } = alert;
    const at = alert.routedAt ?? receivedAt;
    const sendUnjudged = (why: string) => {
      const routed = router.routeUnjudged("reading", why, at);
      return { title: title ?? "Unreadable alert", ...routed, explain: () => routed.decisions };
    };
    if (alert.facts?.format === "unreadable") return sendUnjudged("it failed when it arrived");
    if (reading.kind === "not_read") throw new AppError("failed", `alerts cannot be read: ${reading.reason}`);
    if (reading.kind === "unreadable") return sendUnjudged(reading.reason);
    const translation = reading.translations[item - 1];
    if (translation === undefined) return undefined;
    const { facts, payload, mapped } = translation;
    const input = { facts, payload, origin };
    return {
      title: facts.title,
      facts,
      mapped,
      // Why each of hundreds of routes did not take it is said for examples alone.
      ...router.route(input, mutes, at, "others"),
      explain: () => router.route(input, mutes, at).decisions,
    };
  }

  function count(alert: Stored["alert"], { title, decisions, deliveries, explain }: Rerouted): void {
    const planned = [...alert.deliveries.filter(({ purpose }) => purpose === "alert"), ...toldEndsOf(alert.decisions)];
    const isDropped = decisions.some(({ result }) => result === "dropped");
    tally.alerts += 1;
    if (planned.length === 0) tally[alert.dropped ? "dropped" : "unmatched"].before += 1;
    if (deliveries.length === 0) tally[isDropped ? "dropped" : "unmatched"].after += 1;
    if (planned.some(isMuted)) tally.muted.before += 1;
    if (deliveries.some(isMuted)) tally.muted.after += 1;
    const [before, after] = [namesOf(planned), namesOf(deliveries)];
    if (before.size !== after.size || [...before].some((name) => !after.has(name))) tally.changed += 1;
    for (const destination of new Set([...before, ...after])) {
      const one = destinations.get(destination) ?? { destination, before: 0, after: 0, newlySent: 0, noLongerSent: 0 };
      destinations.set(destination, one);
      if (before.has(destination)) one.before += 1;
      if (after.has(destination)) one.after += 1;
      if (before.has(destination) === after.has(destination)) continue;
      const change: Change = after.has(destination) ? "newlySent" : "noLongerSent";
      one[change] += 1;
      if (tally[change].length === mostExamples) continue;
      const reason = whyOf(destination, explain(), routes);
      tally[change].push({ id: alert.id, receivedAt: toIso(alert.receivedAt), title, destination, reason });
    }
  }
}

interface Stored {
  /** Without its request: the others of its batch have it as well. */
  alert: Omit<AlertDetailView, "request">;
  /** Its place in the body, from 1. */
  item: number;
  body: StoredBody;
}

interface Rerouted {
  title: string;
  /** Absent where it could not be read. */
  facts?: AlertFacts;
  mapped?: Translation["mapped"];
  /** With one line for many routes that did not take it. */
  decisions: Decision[];
  /** With one for each route. */
  explain(): Decision[];
  deliveries: PlannedDelivery[];
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
function whyOf(destination: string, decisions: Decision[], routes: readonly Route[]): string {
  const naming = new Set(routes.filter(({ to }) => to.includes(destination)).map(({ name }) => name));
  const decision =
    decisions.find((one) => one.destination === destination && one.result !== "skipped") ??
    decisions.find(({ route }) => naming.has(route));
  return decision === undefined ? "no route names this destination" : `${decision.route}: ${decision.reason}`;
}
