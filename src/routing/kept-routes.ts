import { createHash } from "node:crypto";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import type { WatchStore } from "../core/ports/watch.ts";
import { type Decision, type Route, routesThatTook } from "../core/rules.ts";
import type { MatchInput } from "../matching/judge.ts";
import { type AskedRoute, tellOthers } from "./router.ts";

/*
 * Of hundreds of routes most do not take an alert, and a line of each would be most of what is stored of it. So the routes of
 * each configuration are kept once, and an alert has one line for all that did not take it. Who looks at the alert is told the
 * reason of each: the routes are asked again, as they were, about the alert as it was read.
 */

/**
 * Keeps the routes of a configuration, once.
 * @returns the name by which they are found again, see `Decision.routes`
 */
export async function keepRoutes(
  store: Pick<WatchStore, "loadWatchState" | "saveWatchState">,
  routes: readonly Route[],
): Promise<string> {
  const state = routes.map(
    ({ name, matchers, continue: goesOn, isDefault }): AskedRoute => ({ name, matchers, continue: goesOn, isDefault }),
  );
  const digest = createHash("sha256").update(JSON.stringify(state)).digest("hex").slice(0, 16);
  const name = `routes:${digest}`;
  if ((await store.loadWatchState(name)) === undefined) await store.saveWatchState({ name, state });
  return name;
}

/** An alert of the log: what was decided, and what the routes looked at. */
export type DecidedAlert = Pick<AlertDetail, "decisions" | "facts" | "origin" | "request">;

/**
 * The decisions of an alert with one for each route, in the order of the routes. Where they cannot be told again the line that
 * stands for them stays, and says why.
 *
 * @param readPayload `too large`: the body of the alert is not read again. Undefined: it cannot be
 */
export function createTellDecisions(
  store: Pick<WatchStore, "loadWatchState">,
  readPayload: (alert: DecidedAlert) => Pick<MatchInput, "payload"> | "too large" | undefined,
): (alert: DecidedAlert) => Promise<Decision[]> {
  return async (alert) => {
    const { decisions, facts, origin } = alert;
    const line = decisions.find(({ routes }) => routes !== undefined);
    if (line?.routes === undefined || facts === undefined) return decisions;
    const told = decisions.filter((decision) => decision !== line);
    const notTold = (why: string) => {
      const reason = `${line.reason}; the reason of each is not known any more: ${why}`;
      return [...told, { route: line.route, result: line.result, reason }];
    };
    const routes = (await store.loadWatchState(line.routes)) as AskedRoute[] | undefined;
    if (routes === undefined) return notTold("the routes of that time are not in the log");
    const looksIntoBody = routes.some(({ matchers }) => matchers.some(({ field }) => field.startsWith("payload")));
    const read = looksIntoBody ? readPayload(alert) : {};
    if (read === "too large") return notTold("the body is too large to be read again");
    if (read === undefined) return notTold("the body cannot be read again");
    const others = tellOthers(routes, new Set(routesThatTook(told)), { facts, origin, payload: read.payload });
    if (others === undefined) return notTold("the body is read otherwise now");
    const places = new Map(routes.map(({ name }, place) => [name, place]));
    const placeOf = ({ route }: Decision) => places.get(route) ?? routes.length;
    return [...told, ...others].sort((one, other) => placeOf(one) - placeOf(other));
  };
}
