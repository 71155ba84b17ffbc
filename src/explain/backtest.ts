import { setImmediate as nextTurn } from "node:timers/promises";
import { toIso } from "../contract/encode.ts";
import type { AlertFacts, Translation } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import { ruleOfName } from "../core/group.ts";
import { type FactMapping, type MappableFact, mappableFacts } from "../core/mapping.ts";
import type { AlertLog, PastAlert } from "../core/ports/alert-log.ts";
import type { BodyReader, BodyReading, StoredBody } from "../core/ports/body-reader.ts";
import {
  type Decision,
  isMadeAtRuntime,
  isShownByOther,
  keptNameOf,
  type Mute,
  type PlannedDelivery,
  type Route,
  type Rules,
} from "../core/rules.ts";
import type { Change, DestinationTally, Tally } from "../core/tally.ts";
import { TranslatedInput } from "../routing/judging.ts";
import { createRouter, type Router } from "../routing/router.ts";
import { walkPast } from "./past-pages.ts";
import { createRingTally } from "./ring-tally.ts";

/** Examples of each kind that are kept, in the order in which alerts are added. */
const mostExamples = 5;
const countedAtOnce = 20;

export interface BacktestDeps {
  reader: BodyReader;
  router: Router;
  rules: Rules;
  mapping: FactMapping;
  /** Mutes made at run time that were active when the alerts came. */
  mutes: Mute[];
}

/** Compares alerts, the newest first, and keeps what decides whether each rings, see `createRingTally`. */
export class Backtest {
  readonly #destinations = new Map<string, DestinationTally>();
  readonly #found: Map<MappableFact, number>;
  readonly #rings = createRingTally();
  /** Rules that took no alert yet, in words. */
  readonly #idle: Map<string, string>;
  readonly #tally: Omit<Tally, "ringing" | "idle"> = {
    alerts: 0,
    changed: 0,
    unmatched: { before: 0, after: 0 },
    dropped: { before: 0, after: 0 },
    muted: { before: 0, after: 0 },
    destinations: [],
    newlySent: [],
    noLongerSent: [],
  };
  /** Routes one page while the next page is fetched. */
  #working: Promise<void> = Promise.resolve();
  #added = 0;
  #oldestAt = 0;

  constructor(private readonly deps: BacktestDeps) {
    this.#idle = wordsOfRules(deps.rules);
    this.#found = new Map(mappableFacts.filter((fact) => deps.mapping[fact] !== undefined).map((fact) => [fact, 0]));
  }

  /** Routes alerts as of the time they came. @throws AppError `failed` where the reader cannot work now */
  async add(alerts: readonly PastAlert[]): Promise<void> {
    this.#added += alerts.length;
    this.#oldestAt = alerts.at(-1)?.receivedAt ?? this.#oldestAt;
    const page = alerts.filter(({ decisions }) => !isShownByOther(decisions));
    // A body that was unreadable then would hold up the reader again.
    const bodies = [...new Set(page.flatMap(({ body, wasUnreadable }) => (wasUnreadable ? [] : body)))];
    const reading = this.deps.reader.read(bodies);
    await this.#working;
    this.#working = reading.then((readings) => this.#countAll(page, bodies, readings));
    // `add` or `tally` waits for this work next, and reports the failure.
    this.#working.catch(() => undefined);
  }

  /** @param most the number of alerts that were to be added. Older ones were left out */
  async tally(most: number): Promise<Tally> {
    await this.#working;
    return {
      ...this.#tally,
      destinations: [...this.#destinations.values()].sort((a, b) => a.destination.localeCompare(b.destination)),
      ringing: await this.#rings.tally(),
      idle: [...this.#idle.values()],
      ...(this.#added >= most && { comparedFrom: toIso(this.#oldestAt) }),
      ...(this.#found.size > 0 && { mapping: [...this.#found].map(([fact, found]) => ({ fact, found })) }),
    };
  }

  async #countAll(page: PastAlert[], bodies: StoredBody[], readings: BodyReading[]): Promise<void> {
    const readingOf = new Map(bodies.map((body, index) => [body, readings[index] as BodyReading]));
    for (const [index, alert] of page.entries()) {
      // The relay's other work gets its turn.
      if (index % countedAtOnce === 0) await nextTurn();
      const rerouted = this.#reroute(alert, readingOf.get(alert.body));
      if (rerouted === undefined) continue;
      for (const [fact, found] of this.#found)
        if (rerouted.mapped?.[fact] !== undefined) this.#found.set(fact, found + 1);
      this.#count(alert, rerouted);
      const { facts, deliveries } = rerouted;
      for (const rule of this.#idle.size === 0 ? [] : rulesThatTook(rerouted)) this.#idle.delete(rule);
      // The relay does not judge an unreadable alert either.
      if (facts !== undefined) this.#rings.add({ id: alert.id, receivedAt: alert.receivedAt, facts }, deliveries);
    }
  }

  #reroute(
    { routedAt: at, title, wasUnreadable, body, item }: PastAlert,
    reading: BodyReading | undefined,
  ): Rerouted | undefined {
    const { router, mutes } = this.deps;
    const sendUnjudged = (why: string) => {
      const routed = router.routeUnjudged("reading", why, at);
      return { title: title ?? "Unreadable alert", ...routed, explain: () => routed.decisions };
    };
    if (wasUnreadable || reading === undefined) return sendUnjudged("it failed when it arrived");
    if (reading.kind === "not_read") throw new AppError("failed", `alerts cannot be read: ${reading.reason}`);
    if (reading.kind === "unreadable") return sendUnjudged(reading.reason);
    const translation = reading.translations[item];
    if (translation === undefined) return undefined;
    const { facts, mapped } = translation;
    const input = new TranslatedInput(translation, "hook", body.body);
    return {
      title: facts.title,
      facts,
      mapped,
      // Only examples need reasons.
      ...router.routeUntold(input, mutes, at),
      explain: () => router.route(input, mutes, at).decisions,
    };
  }

  #count(alert: PastAlert, { title, decisions, deliveries, explain }: Rerouted): void {
    const tally = this.#tally;
    const planned = [...alert.deliveries, ...toldEndsOf(alert.decisions)];
    const isDropped = decisions.some(({ result }) => result === "dropped");
    tally.alerts += 1;
    if (planned.length === 0) tally[alert.dropped ? "dropped" : "unmatched"].before += 1;
    if (deliveries.length === 0) tally[isDropped ? "dropped" : "unmatched"].after += 1;
    if (planned.some(isMuted)) tally.muted.before += 1;
    if (deliveries.some(isMuted)) tally.muted.after += 1;
    const [before, after] = [namesOf(planned), namesOf(deliveries)];
    if (before.size !== after.size || [...before].some((name) => !after.has(name))) tally.changed += 1;
    for (const destination of new Set([...before, ...after])) {
      const one = this.#tallyOf(destination);
      if (before.has(destination)) one.before += 1;
      if (after.has(destination)) one.after += 1;
      if (before.has(destination) === after.has(destination)) continue;
      const change: Change = after.has(destination) ? "newlySent" : "noLongerSent";
      one[change] += 1;
      if (tally[change].length === mostExamples) continue;
      const reason = whyOf(destination, explain(), this.deps.rules.routes);
      tally[change].push({ id: alert.id, receivedAt: toIso(alert.receivedAt), title, destination, reason });
    }
  }

  #tallyOf(destination: string): DestinationTally {
    const begun = { destination, before: 0, after: 0, newlySent: 0, noLongerSent: 0 };
    const known = this.#destinations.get(destination) ?? begun;
    this.#destinations.set(destination, known);
    return known;
  }
}

interface Rerouted {
  title: string;
  facts?: AlertFacts;
  mapped?: Translation["mapped"];
  decisions: Decision[];
  explain(): Decision[];
  deliveries: PlannedDelivery[];
}

/** The rules that are not disabled, by the names that `rulesThatTook` gives. */
function wordsOfRules({ routes, mutes, inhibit = [] }: Rules): Map<string, string> {
  return new Map([
    ...routes.flatMap(({ name, isDisabled }) => (isDisabled ? [] : [[`route ${name}`, `route ${name}`] as const])),
    ...inhibit.flatMap(({ name }) =>
      ["while", "hold"].map((side) => [`${side} ${name}`, `${side} of ${name}`] as const),
    ),
    ...mutes.flatMap((mute) => (mute.isDisabled ? [] : [[keptNameOf(mute), `mute “${mute.reason}”`] as const])),
  ]);
}

function rulesThatTook({ decisions, deliveries }: Pick<Rerouted, "decisions" | "deliveries">): string[] {
  return [
    ...decisions.map(({ route }) => `route ${route}`),
    ...deliveries.flatMap(({ mutedBy = [], group }) => [
      ...(group?.holds ?? []).map(({ name }) => `while ${ruleOfName(name)}`),
      ...(group?.heldBy ?? []).map((name) => `hold ${ruleOfName(name)}`),
      ...[mutedBy].flat(),
    ]),
  ];
}

/** The destinations of an alert whose end was already reported there. */
function toldEndsOf(decisions: readonly Decision[]): { destination: string; state: string }[] {
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

/** The reason for this destination, or for the first route that names it. */
function whyOf(destination: string, decisions: Decision[], routes: readonly Route[]): string {
  const naming = new Set(routes.filter(({ to }) => to.includes(destination)).map(({ name }) => name));
  const decision =
    decisions.find((one) => one.destination === destination && one.result !== "skipped") ??
    decisions.find(({ route }) => naming.has(route));
  return decision === undefined ? "no route names this destination" : `${decision.route}: ${decision.reason}`;
}

/** The newest alerts that are tried: the relay has other work to do. */
const mostTried = 10_000;

export interface TryRulesDeps {
  store: Pick<AlertLog, "listPast">;
  reader: BodyReader;
  listMutes(): Promise<Mute[]>;
}

/** Does what `tocsin backtest` does, in a relay, one try at a time. See `WebDeps.tryFile`. */
export function createTryRules({ store, reader, listMutes }: TryRulesDeps) {
  async function tryRules(rules: Rules, fromAt: number): Promise<Tally> {
    const mutes = (await listMutes()).filter(isMadeAtRuntime);
    const backtest = new Backtest({ rules, reader, router: createRouter(rules), mapping: {}, mutes });
    for await (const page of walkPast(store, { fromAt, most: mostTried })) await backtest.add(page);
    return backtest.tally(mostTried);
  }

  let isTrying = false;
  return async (...asked: Parameters<typeof tryRules>): Promise<Tally> => {
    if (isTrying)
      throw new AppError("conflict", "Another file is being compared at this moment.", {
        hint: "Send it again in some seconds.",
      });
    isTrying = true;
    return tryRules(...asked).finally(() => {
      isTrying = false;
    });
  };
}
