import { type AlertFacts, canaryMark } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import { compileHours, type FindWindow } from "../core/hours.ts";
import { isJsonObject, type Json } from "../core/json.ts";
import type { RoutingDraft } from "../core/ports/routing-desk.ts";
import { inSightMs, quickRepeatMs, type RingRule } from "../core/ring.ts";
import {
  type Decision,
  type Destination,
  describeHours,
  isActive,
  keptNameOf,
  type Matcher,
  type MessageExtras,
  type Mute,
  type PlannedDelivery,
  planDeliveries,
  type Route,
  type Rules,
  routesThatTook,
} from "../core/rules.ts";
import { remember } from "../ground/remember.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { fillLink } from "../matching/fill-link.ts";
import { fillTitle } from "../matching/fill-title.ts";
import { compileMatchers, type MatchInput, SharedMatches } from "../matching/judge.ts";
import type { AdviseOnMissing } from "../matching/near-path.ts";
import { recipientsOf, vendorOf } from "../vendors/index.ts";
import { compileGroups } from "./grouping.ts";

/**
 * `decisions`: one for each destination of a route that was used, one for its fallback, and one without a destination
 * for each other route. In the order of the routes. `deliveries`: none when no route wanted the alert, or a route
 * dropped it (decision `dropped`).
 */
export type RoutingResult = Pick<RoutingDraft, "decisions" | "deliveries">;

export type Router = ReturnType<typeof createRouter>;

/**
 * Decides where an alert is sent. Each answer of a route, a mute or quiet hours is a decision with its reason. Each
 * message to send is a delivery.
 *
 *     routes ──▶ matched ──▶ the first that names a destination owns it ──▶ muted? held? ──▶ delivery, and its fallback
 *
 * Throws `config_invalid` for rules that name unknown destinations, and `invalid_request` for fields or patterns that
 * cannot be read.
 * @param options.adviseOnMissing advice for authors of routes, see `createMissingAdvice`. It reads the payload of each
 * alert. Default: none
 */
export function createRouter(rules: Rules, { adviseOnMissing }: { adviseOnMissing?: AdviseOnMissing } = {}) {
  const targets = new Targets(rules.destinations);
  const askRoutes = compileRoutes(rules.routes, adviseOnMissing);
  const findMute = createMuteFinder();
  const noteGroups = compileGroups(rules);
  const canaryTo = (rules.canaryTo ?? []).flatMap((name) => targets.get(name)?.destination ?? []);
  for (const route of rules.routes)
    for (const name of [...route.to, ...(route.fallback ? [route.fallback.to] : [])]) targets.named(name, route);
  /** Where no route is configured, the alert's page shows one decision that says so. */
  const orNowhere = (routed: RoutingResult): RoutingResult =>
    routed.decisions.length === 0 && rules.routes.length === 0 ? { ...routed, decisions: [nowhere] } : routed;

  /**
   * Pure: the same alert, mutes and instant give the same result.
   *
   * - A destination gets an alert once. The first of several routes that name it wins.
   * - A muted alert keeps its deliveries, in state `muted`, so the page can show them.
   * - A test (origin `test`) takes the same routes. It is neither muted nor held, since a person waits for it.
   * - Notices (origin `notice`) get nothing here. The engine plans them.
   * @param mutes those made at run time. The configuration's apply as well
   * @param now epoch milliseconds
   * @param keptRoutes the name of all routes, see `createKeptRoutes`. More than eight routes that did not take the
   * alert then share one line. Default: each has its own line
   */
  function route(input: MatchInput, mutes: Mute[], now: number, keptRoutes?: string): RoutingResult {
    let lineOfAll: Decision | undefined;
    const routed = routeBy(input, mutes, now, ({ took, all }) => {
      const others = rules.routes.length - took.length;
      if (keptRoutes === undefined || others <= mostWithOwnLine) return all();
      lineOfAll = lineOfOthers(others, keptRoutes);
      return took;
    });
    if (lineOfAll !== undefined) routed.decisions.push(lineOfAll);
    return routed;
  }

  function routeBy(
    input: MatchInput,
    mutes: Mute[],
    now: number,
    choose: (asked: AskedRoutes<Route>) => RouteVerdict[],
  ): RoutingResult {
    if (input.origin === "notice") return { decisions: [], deliveries: [] };
    if (input.origin === "test" && isCanary(input.payload)) return routeCanary(canaryTo, now);
    if (isPing(input)) return { decisions: [ping], deliveries: [] };
    const muted = input.origin === "test" ? { notes: [] } : findMute(input, [...rules.mutes, ...mutes], now);
    const verdicts = choose(askRoutes(input, now));
    const planned = planAll(verdicts, targets, muted, (target, one) => startOf(target, one, input, muted, now));
    if (input.origin === "hook") noteGroups(planned.deliveries, input);
    return orNowhere(planned);
  }

  /**
   * Routes an alert whose reading or routing (`what`) failed twice: to the destinations of the default routes, or else to every
   * destination. No mute and no quiet hours apply, since the alert may be the worst of all.
   */
  function routeUnjudged(what: "reading" | "routing", why: string, now: number): RoutingResult {
    const named = rules.routes.filter((one) => one.isDefault && !one.isDisabled && one.to.length > 0);
    const where =
      named.length > 0 ? "to the default destinations" : "to every destination, as no default route names one";
    if (rules.destinations.length === 0) return { decisions: [nowhere], deliveries: [] };
    const routes = named.length > 0 ? named : [everyDestination(rules.destinations)];
    const failed = what === "reading" ? "could not be read" : "could not be routed";
    const reason = `${failed}: ${why}; ${what === "reading" ? "sent as received" : "sent"} ${where}`;
    const verdicts = routes.map(
      (one): RouteVerdict => ({ route: { ...one, updates: "new" }, result: "matched", reason: () => reason }),
    );
    return planAll(verdicts, targets, { notes: [] }, () => ({ state: "queued", dueAt: now, words: [] }));
  }

  return {
    route,
    routeUnjudged,
    /** For alerts that are only counted: without reasons, and without lines for routes that did not take the alert. */
    routeUntold: (input: MatchInput, mutes: Mute[], now: number) =>
      routeBy(input, mutes, now, ({ took }) => took.map((verdict) => ({ ...verdict, reason: () => "" }))),
    /** Whether a destination's quiet hours hold such an alert now. */
    findHold(destination: string, facts: Pick<AlertFacts, "severity" | "status">, now: number) {
      const target = targets.get(destination);
      return target && holdOf(target, facts, now);
    },
  };
}

/** One decision for each destination of a route that matched, one for each other route, and the deliveries. */
function planAll(
  verdicts: RouteVerdict[],
  targets: Targets,
  muted: MuteVerdict,
  startAt: (target: Target, route: Route) => Start,
): RoutingResult {
  const owners = findOwners(verdicts);
  const decisions: Decision[] = [];
  const deliveries: PlannedDelivery[] = [];
  for (const verdict of verdicts) {
    const { route, result } = verdict;
    if (result !== "matched") {
      decisions.push(toldOf(verdict));
      continue;
    }
    const because = verdict.reason();
    if (route.to.length === 0) {
      const reason = `${because}; dropped on purpose by route ${route.name}`;
      decisions.push({ route: route.name, result: "dropped", reason });
    }
    for (const name of new Set(route.to)) {
      const owner = owners.get(name);
      if (owner !== undefined && owner !== route) {
        decisions.push(skip(route, name, `${because}; route ${owner.name} already delivers it there`));
        continue;
      }
      const target = targets.named(name, route);
      const start = startAt(target, route);
      const reason = [because, ...start.words].join("; ");
      decisions.push(decide(route, name, start, reason));
      const planned = muted.mute === undefined ? route : { ...route, fallback: undefined };
      deliveries.push(...planFor(planned, target.destination, start, reason, owners));
    }
    if (route.fallback !== undefined) decisions.push(decideFallback(route, route.fallback, owners, muted));
  }
  return { decisions, deliveries };
}

/** GitHub sends a ping when a webhook is added: a saying (`zen`), the webhook's id, and its settings. */
function isPing(input: MatchInput): boolean {
  // Avoids parsing the payload of most alerts.
  if (input.mayName?.("hook_id") === false) return false;
  const { payload } = input;
  return isJsonObject(payload) && typeof payload.zen === "string" && "hook_id" in payload && isJsonObject(payload.hook);
}

const ping: Decision = {
  route: "ping",
  result: "dropped",
  reason: "GitHub's ping: it says that the webhook was added, and arrived; it goes to nobody",
};

/** A canary tests whether alerts arrive. Only destinations that are configured for canaries get a message. */
function routeCanary(to: Destination[], dueAt: number): RoutingResult {
  const route = "canary";
  const reason = "a canary: Tocsin's own test of the way from its public address";
  if (to.length === 0)
    return { decisions: [{ route, result: "dropped", reason: `${reason}; it goes to nobody` }], deliveries: [] };
  return {
    decisions: to.map(({ name }) => ({ route, destination: name, result: "deliver", reason })),
    deliveries: to.flatMap((destination) =>
      planDeliveries(destination, recipientsOf(destination), { route, state: "queued", reason, dueAt, updates: "new" }),
    ),
  };
}

function isCanary(payload: Json | undefined): boolean {
  return (
    isJsonObject(payload) && Object.entries(canaryMark).every(([key, value]) => Reflect.get(payload, key) === value)
  );
}

/** `skipped`: the route was not asked, since it is disabled or an earlier route ended the search. */
interface RouteVerdict<R extends AskedRoute = Route> {
  route: R;
  result: "matched" | "not_matched" | "skipped";
  reason(): string;
}

/** The members of a route that decide whether it takes an alert. */
export type AskedRoute = Pick<Route, "name" | "matchers" | "continue" | "isDefault" | "isDisabled" | "activeHours">;

/** In the order of the configuration. */
interface AskedRoutes<R extends AskedRoute> {
  took: RouteVerdict<R>[];
  all(): RouteVerdict<R>[];
}

/**
 * Routes are asked in order. The first that matches ends the search, unless it has `continue`. Default routes are asked
 * last, wherever they are in the file, and only if the search has not ended. A default destination thus also gets the
 * alerts that an archive gets a copy of.
 */
function compileRoutes<R extends AskedRoute>(
  routes: readonly R[],
  adviseOnMissing?: AdviseOnMissing,
): (input: MatchInput, now: number) => AskedRoutes<R> {
  const shared = new SharedMatches();
  const compiled = routes.map((route, place) => ({
    route,
    place,
    whyResting: compileRest(route),
    match: compileMatchers(route.matchers, { adviseOnMissing, shared }),
  }));
  const inTurn = [
    ...compiled.filter(({ route }) => !route.isDefault),
    ...compiled.filter(({ route }) => route.isDefault),
  ];
  type Compiled = (typeof compiled)[number];

  return (input, now) => {
    const matched: Compiled[] = [];
    let endedBy: Compiled | undefined;
    for (const one of inTurn) {
      if (!one.match.holds(input) || one.whyResting?.(now) !== undefined) continue;
      matched.push(one);
      if (one.route.continue) continue;
      endedBy = one;
      break;
    }
    const verdictOf = (one: Compiled): RouteVerdict<R> => {
      const { route, match } = one;
      if (route.isDisabled) return { route, result: "skipped", reason: () => "disabled in the configuration" };
      if (matched.includes(one)) {
        const why = route.isDefault ? whyDefault(matched.map((other) => other.route)) : "";
        return { route, result: "matched", reason: () => matchedBecause(route, why, match.reason(input)) };
      }
      if (endedBy === undefined || inTurn.indexOf(one) < inTurn.indexOf(endedBy))
        return { route, result: "not_matched", reason: () => one.whyResting?.(now) ?? match.reason(input) };
      const { name, isDefault } = endedBy.route;
      if (route.isDefault && !isDefault) {
        const reason = () => `the default route is not used: route ${name} has matched`;
        return { route, result: "not_matched", reason };
      }
      const reason = () => `not asked: route ${name} has matched before it and does not continue`;
      return { route, result: "skipped", reason };
    };
    return {
      took: matched.toSorted((one, other) => one.place - other.place).map(verdictOf),
      all: () => compiled.map(verdictOf),
    };
  };
}

/** Why a route takes nothing now. */
function compileRest({ isDisabled, activeHours }: AskedRoute): ((now: number) => string | undefined) | undefined {
  if (isDisabled) return () => "disabled";
  if (activeHours === undefined) return undefined;
  const findWindow = compileHours(activeHours, activeHours.timeZone);
  const why = `outside its active hours ${describeHours(activeHours, activeHours.timeZone)}`;
  return (now) => (findWindow(now) === undefined ? why : undefined);
}

/** Why a default route is asked. One without matchers needs no other reason. */
function whyDefault(matched: readonly AskedRoute[]): string {
  const passed = matched.filter(({ isDefault }) => !isDefault).map(({ name }) => name);
  return passed.length === 0
    ? "default route: no other route matched"
    : `default route: only routes that continue matched (${passed.join(", ")})`;
}

/** More routes than this that did not take an alert share a line. */
export const mostWithOwnLine = 8;

/**
 * The decisions of an alert, with one for each route that did not take it, in the order of the routes. Undefined: other
 * routes would take the alert, as its body is now read in another way.
 * @param decisions those of the routes that took the alert then
 */
export type TellAll = (decisions: readonly Decision[], input: MatchInput, routedAt: number) => Decision[] | undefined;

/** @param routes all of them, as they were when the alert was routed */
export function createTellAll(routes: readonly AskedRoute[]): TellAll {
  const askRoutes = compileRoutes(routes);
  const names = new Set(routes.map(({ name }) => name));
  return (decisions, input, routedAt) => {
    const took = new Set(routesThatTook(decisions));
    const verdicts = askRoutes(input, routedAt).all();
    if (verdicts.some(({ route, result }) => (result === "matched") !== took.has(route.name))) return undefined;
    const ofRoutes = verdicts.flatMap((verdict) =>
      verdict.result === "matched" ? decisions.filter(({ route }) => route === verdict.route.name) : [toldOf(verdict)],
    );
    return [...ofRoutes, ...decisions.filter(({ route }) => !names.has(route))];
  };
}

function toldOf({ route, result, reason }: RouteVerdict<AskedRoute>): Decision {
  return { route: route.name, result: result === "skipped" ? result : "not_matched", reason: reason() };
}

function lineOfOthers(count: number, keptAs: string): Decision {
  return {
    route: `(${count} routes)`,
    result: "not_matched",
    reason: `${count} routes did not take it`,
    routes: keptAs,
  };
}

function matchedBecause({ matchers }: AskedRoute, why: string, reason: string): string {
  if (why === "") return reason;
  return matchers.length === 0 ? why : `${why}; ${reason}`;
}

/** The route that delivers to each destination: the first that matched and names it. */
function findOwners(verdicts: RouteVerdict[]): Map<string, Route> {
  const owners = new Map<string, Route>();
  for (const { route, result } of verdicts) {
    if (result !== "matched") continue;
    for (const name of route.to) if (!owners.has(name)) owners.set(name, route);
  }
  return owners;
}

export interface MuteVerdict {
  /** The matching mute that lasts longest. */
  mute?: { id: string; reason: string; keptName: string };
  /** Lines about disabled or unreadable mutes. These silence nothing: a broken mute must not cost an alert. */
  notes: string[];
}

const rememberedMutes = 500;

/** The store gives all mutes anew with every alert, so compiled matchers are remembered by their text. */
export function createMuteFinder(): (input: MatchInput, mutes: Mute[], now: number) => MuteVerdict {
  const compile = remember(rememberedMutes, (matchers: string) => compileMatchers(JSON.parse(matchers) as Matcher[]));

  return (input, mutes, now) => {
    const notes: string[] = [];
    let longest: Mute | undefined;
    let why = "";
    for (const mute of mutes) {
      if (!isActive(mute, now) || isItsEnd(mute, input.facts)) continue;
      try {
        const match = compile(JSON.stringify(mute.matchers));
        if (!match.holds(input) || (longest !== undefined && longest.endsAt >= mute.endsAt)) continue;
        if (mute.isDisabled) {
          notes.push(`mute ${mute.id} is disabled`);
          continue;
        }
        longest = mute;
        why = match.reason(input);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        notes.push(`mute ${mute.id} was ignored (${error.message})`);
      }
    }
    if (longest === undefined) return { notes };
    const instant = describeInstant(longest.endsAt);
    const until = longest.untilOver === undefined ? instant : `it is over, at the latest ${instant}`;
    const reason = `muted until ${until}: ${longest.reason} (${why})`;
    return { mute: { id: longest.id, reason, keptName: keptNameOf(longest) }, notes };
  };
}

/** Whether the alert ends the key that the mute was made for. People wait for it. */
const isItsEnd = ({ untilOver }: Mute, { status, alertKey }: AlertFacts): boolean =>
  status === "resolved" && alertKey === untilOver;

/** `2026-11-21 12:00 UTC`. */
function describeInstant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

interface Target {
  destination: Destination;
  findQuietWindow?: FindWindow;
}

class Targets extends Map<string, Target> {
  constructor(destinations: readonly Destination[]) {
    super();
    for (const destination of destinations) {
      const { quietHours, timeZone } = destination;
      this.set(destination.name, { destination, findQuietWindow: quietHours && compileHours(quietHours, timeZone) });
    }
  }

  named(name: string, route: Route): Target {
    const target = this.get(name);
    if (target !== undefined) return target;
    throw new AppError("config_invalid", `Route ${route.name} names the unknown destination ${name}.`, {
      hint: `Define it under destinations, or remove it from the route (${route.definedAt}).`,
    });
  }
}

interface Start {
  state: PlannedDelivery["state"];
  dueAt: number;
  /** Follow the reason of the route. May be empty. */
  words: string[];
  mute?: MuteVerdict["mute"];
  /** Whether earlier rings may hold the delivery back. Default false. */
  isDamped?: boolean;
  extras?: MessageExtras;
}

function startOf(target: Target, route: Route, input: MatchInput, muted: MuteVerdict, now: number): Start {
  const isDamped = input.origin !== "test";
  const isLetThrough = muted.mute !== undefined && endsIncident(target, input.facts);
  if (muted.mute !== undefined && !isLetThrough) {
    const words = [muted.mute.reason, ...muted.notes];
    return { state: "muted", dueAt: now, words, mute: muted.mute, isDamped };
  }
  const { severity } = input.facts;
  const isSilent = isDamped && route.silent?.includes(severity) === true;
  const { leftOut, ...filled } = fillExtras(route, input, target.destination.timeZone);
  const extras = { ...(isSilent && { silent: true as const }), ...(route.note && { note: route.note }), ...filled };
  const silence = isSilent ? [`without a sound: ${severity} is silent on this route`] : [];
  const unmuted = isLetThrough ? ["muted, but this ends an incident that would keep paging"] : [];
  const notes = [...unmuted, ...silence, ...leftOut, ...muted.notes];
  const hold = isDamped ? holdOf(target, input.facts, now) : undefined;
  if (hold === undefined) return { state: "queued", dueAt: now, words: notes, isDamped, extras };
  return { state: "held", dueAt: hold.until, words: [hold.words, ...notes], isDamped, extras };
}

/** @returns the extras, and words for parts that are left out */
function fillExtras(
  { links = [], title: template }: Route,
  input: MatchInput,
  timeZone: string,
): Pick<MessageExtras, "links" | "title"> & { leftOut: string[] } {
  const filled: NonNullable<MessageExtras["links"]> = [];
  const leftOut: string[] = [];
  for (const { label, url } of links) {
    const found = fillLink(url, input);
    if ("url" in found) filled.push({ label, url: found.url });
    else leftOut.push(`link ${label} left out: ${found.leftOut}`);
  }
  const { title, leftOut: noTitle }: { title?: string; leftOut?: string } =
    template === undefined ? {} : fillTitle(template, input, timeZone);
  if (noTitle !== undefined) leftOut.push(`title left out: ${noTitle}`);
  return { ...(title !== undefined && { title }), ...(filled.length > 0 && { links: filled }), leftOut };
}

/** A vendor that joins by key gets a resolving alert in spite of mutes and quiet hours: its incident would keep paging. */
const endsIncident = ({ destination }: Target, { status }: Pick<AlertFacts, "status">): boolean =>
  status === "resolved" && vendorOf(destination.type).can.joinsByKey;

/** Quiet hours hold a resolving alert. */
function holdOf(target: Target, facts: Pick<AlertFacts, "severity" | "status">, now: number) {
  const { destination, findQuietWindow } = target;
  const isExcepted = destination.quietHours?.except.includes(facts.severity) ?? false;
  if (endsIncident(target, facts) || (isExcepted && facts.status !== "resolved")) return undefined;
  const window = findQuietWindow?.(now);
  if (window === undefined) return undefined;
  const why = isExcepted ? "; resolved: waits for the end of the quiet hours" : "";
  const { from, to } = destination.quietHours ?? { from: "", to: "" };
  const hours = `quiet hours ${from} to ${to} ${destination.timeZone}`;
  return {
    /** The first instant after the quiet hours. Epoch milliseconds. */
    until: window.endsAt,
    /** For people: "held until 2026-11-21 13:00 UTC by quiet hours 11:00 to 13:00 UTC". */
    words: `held until ${describeInstant(window.endsAt)} by ${hours}${why}`,
  };
}

function planFor(
  route: Route,
  destination: Destination,
  { state, dueAt, isDamped, extras, mute }: Start,
  reason: string,
  owners: Map<string, Route>,
): PlannedDelivery[] {
  const { name, fallback, freshnessMs, updates } = route;
  const mayFallBack = fallback !== undefined && !owners.has(fallback.to);
  return planDeliveries(destination, recipientsOf(destination), {
    route: name,
    state,
    reason,
    dueAt,
    updates,
    freshnessMs,
    extras: extras && Object.keys(extras).length > 0 ? extras : undefined,
    fallback: mayFallBack ? { to: fallback.to, at: dueAt + fallback.afterMs } : undefined,
    mutedBy: mute?.keptName,
    ring: isDamped ? ringRuleOf(route, destination) : undefined,
  });
}

/** Undefined for programs, unless the route asks. Remembered even if it holds nothing: another route may send there. */
function ringRuleOf({ ringing, updates }: Route, { type }: Destination): RingRule | undefined {
  const { edits, informsPrograms } = vendorOf(type).can;
  if (informsPrograms && ringing === undefined) return undefined;
  const rule: RingRule = { flapping: !informsPrograms, ...ringing };
  if (edits && updates === "auto") rule.editsForMs = quickRepeatMs;
  if (edits && updates === "edit") rule.editsForMs = inSightMs;
  return rule;
}

const resultOfState = { queued: "deliver", muted: "muted", held: "held" } as const;

function decide(route: Route, destination: string, start: Start, reason: string): Decision {
  return { route: route.name, destination, result: resultOfState[start.state], reason, muteId: start.mute?.id };
}

function skip(route: Route, destination: string, reason: string): Decision {
  return { route: route.name, destination, result: "skipped", reason };
}

function decideFallback(
  route: Route,
  fallback: NonNullable<Route["fallback"]>,
  owners: Map<string, Route>,
  muted: MuteVerdict,
): Decision {
  const owner = owners.get(fallback.to);
  if (owner !== undefined) {
    return skip(route, fallback.to, `not needed as fallback: route ${owner.name} already delivers it there`);
  }
  if (muted.mute !== undefined) {
    return skip(route, fallback.to, "not needed as fallback: what it would replace is muted");
  }
  const reason = `fallback: used if a delivery of this route fails or takes longer than ${formatDuration(fallback.afterMs)}`;
  return { route: route.name, destination: fallback.to, result: "standby", reason };
}

function everyDestination(destinations: Destination[]): Route {
  const to = destinations.map(({ name }) => name);
  return {
    name: "(every destination)",
    matchers: [],
    to,
    continue: false,
    isDefault: true,
    updates: "new",
    definedAt: "",
  };
}

const nowhere: Decision = {
  route: "(none)",
  result: "skipped",
  reason: "no route and no destination is configured",
};
