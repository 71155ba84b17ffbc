import type { Operations, RoutedAgain, RoutingPart } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { AlertDetail, AlertLog } from "../core/ports/alert-log.ts";
import { type Decision, type Destination, isActive, isShownByOther, type Mute } from "../core/rules.ts";
import type { FindMute } from "../delivery/duties/follow-quiet-hours.ts";
import type { MatchInput } from "../matching/judge.ts";
import { createMuteFinder, type Router, type RoutingResult } from "../routing/router.ts";
import { readStoredPayload } from "./processing.ts";

export interface RouteAgainDeps {
  router: Router;
  destinations: readonly Destination[];
  activeMutes(): Mute[];
  now(): number;
}

/** The relay's own router judges the facts that were stored with the alert. See `Operations.routeAgain`. */
export function createRouteAgain(deps: RouteAgainDeps): Operations["routeAgain"] {
  const { router, now } = deps;
  const configured = new Set(deps.destinations.map(({ name }) => name));

  return (alert) => {
    const { facts, request, decisions: then } = alert;
    // No route is asked for Tocsin's own notices, for a repeat, and for an alert that another message shows.
    if (facts === undefined || request === undefined || alert.routedAt === undefined || then.length === 0) return;
    if (isShownByOther(then)) return undefined;
    const at = now();
    const { input, isTooLarge } = inputOf({ ...alert, facts });
    const routeAt = (instant: number): RoutingResult =>
      facts.format === "unreadable"
        ? router.routeUnjudged("reading", "as it was then", instant)
        : router.route(input, deps.activeMutes(), instant);
    const { decisions } = routeAt(at);
    const differences = compare(then, decisions, () => routeAt(alert.routedAt ?? at).decisions);
    return {
      at,
      isSame: differences.every(({ onlyByHour }) => onlyByHour),
      decisions,
      differences,
      isTooLarge: isTooLarge(),
    };
  };

  /** @param inThatHour decides by today's routes and mutes, as of the hour in which the alert came */
  function compare(then: Decision[], now: Decision[], inThatHour: () => Decision[]) {
    const named = new Set([...then, ...now].flatMap(placesOf));
    const places: ReadonlySet<string | undefined> = named.size === 0 ? new Set([undefined]) : named;
    return [...places]
      .map((destination) => {
        const after = partOf(now, destination);
        const before = asRouted(partOf(then, destination), after);
        return {
          destination: destination ?? null,
          before: before ?? absentBefore(then, after),
          now: after ?? absentNow(now, before, destination),
          onlyByHour: isOnlyByHour(before, after, () => partOf(inThatHour(), destination)),
        };
      })
      .filter((one) => one.before.result !== one.now.result)
      .sort((one, other) => rankOf(one) - rankOf(other));
  }

  function absentNow(now: Decision[], before: Decision | undefined, destination: string | undefined): RoutingPart {
    if (destination !== undefined && !configured.has(destination))
      return { result: "nothing", reason: `there is no destination ${destination} any more` };
    if (before === undefined) return { result: "nothing", reason: "no route takes it" };
    const asked = now.find(({ route }) => route === before.route);
    return { result: "nothing", reason: asked ? whyNot(asked) : `there is no route ${before.route} any more` };
  }
}

/** The payload is read only when a route or a mute looks into it. */
function inputOf(alert: AlertDetail & { facts: AlertFacts }) {
  const { facts, origin } = alert;
  let read: { stored: ReturnType<typeof readStoredPayload> } | undefined;
  const input: MatchInput = {
    facts,
    origin,
    get payload() {
      read ??= { stored: readStoredPayload(alert) };
      return read.stored === "too large" ? undefined : read.stored?.payload;
    },
  };
  return { input, isTooLarge: () => read?.stored === "too large" };
}

/** See `EngineDeps.findMute`. @param mutes all mutes, with those of the configuration */
export function createFindMute(store: Pick<AlertLog, "getAlert">, mutes: () => Mute[]): FindMute {
  const find = createMuteFinder();
  return async (alertId, now) => {
    const active = mutes().filter((mute) => isActive(mute, now));
    if (active.length === 0) return undefined;
    const alert = await store.getAlert(alertId);
    if (alert?.facts === undefined || alert.origin === "test") return undefined;
    return find(inputOf({ ...alert, facts: alert.facts }).input, active, now).mute;
  };
}

/** Whether only quiet or active hours make the difference. A mute is not such a difference. */
function isOnlyByHour(
  then: Decision | undefined,
  now: Decision | undefined,
  inThatHour: () => Decision | undefined,
): boolean {
  if (then?.result === now?.result || [then?.result, now?.result].includes("muted")) return false;
  return inThatHour()?.result === then?.result;
}

function absentBefore(then: Decision[], after: Decision | undefined): RoutingPart {
  if (after === undefined) return { result: "nothing", reason: "no route took it" };
  const asked = then.find(({ route }) => route === after.route);
  return { result: "nothing", reason: asked ? whyNot(asked) : `there was no route ${after.route}` };
}

/** Says why a route named other destinations, or why it did not take the alert. */
function whyNot({ route, result, destination, reason }: Decision): string {
  const took = destination !== undefined || result === "dropped";
  return took ? `route ${route} names others` : `route ${route}: ${reason}`;
}

function placesOf({ destination, result }: Decision): string[] {
  return destination === undefined || result === "skipped" ? [] : [destination];
}

/** The decision for this destination. Without a destination: the decision that dropped the alert on purpose. */
function partOf(decisions: Decision[], place: string | undefined): Decision | undefined {
  if (place === undefined) return decisions.find(({ result }) => result === "dropped");
  const there = decisions.filter((decision) => placesOf(decision).includes(place));
  return there.find(({ result }) => result !== "standby") ?? there[0];
}

/** Undoes what routes do not decide: an end that was sent before, and an alert that does not ring. */
function asRouted(before: Decision | undefined, after: Decision | undefined): Decision | undefined {
  if (before?.result !== "contained" && before?.result !== "damped") return before;
  return { ...before, result: after?.result === "held" ? "held" : "deliver" };
}

/** Lost destinations come first, then gained ones, and differences of the hour last. */
function rankOf({ before, now, onlyByHour }: RoutedAgain["differences"][number]): number {
  if (onlyByHour) return 3;
  if (now.result === "nothing") return 0;
  return before.result === "nothing" ? 2 : 1;
}
