import { createHash } from "node:crypto";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import type { WatchStore } from "../core/ports/watch.ts";
import type { Decision, Route } from "../core/rules.ts";
import type { MatchInput } from "../matching/judge.ts";
import { type AskedRoute, createTellAll, type TellAll } from "./router.ts";

/*
 * Of hundreds of routes most do not take an alert, and a line of each would be most of what is stored of it. So the routes of
 * each configuration are kept once, and an alert has one line for all that did not take it. Who looks at the alert is told the
 * reason of each: the routes of then are asked again about its facts, as they are stored, and its body, which is read again.
 */

/** A larger body is not read again for a page: it would take the time that pages have. So its alerts have a line for each route. */
export const mostReadAgainBytes = 64 * 1024;

/** Compiled routes that are remembered: those of now, and of the configuration before. */
const mostCompiled = 2;

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
  const compiled = new Map<string, TellAll>();

  /** @returns or a text that says why there is none */
  async function findTeller(name: string): Promise<TellAll | string> {
    const known = compiled.get(name);
    if (known !== undefined) return known;
    const routes = await store.loadWatchState(name);
    if (routes === undefined) return "the routes of that time are not in the log";
    try {
      const teller = createTellAll(routes as AskedRoute[]);
      for (const oldest of [...compiled.keys()].slice(0, compiled.size + 1 - mostCompiled)) compiled.delete(oldest);
      compiled.set(name, teller);
      return teller;
    } catch {
      return "this version cannot read the routes of that time";
    }
  }

  /** @returns or a text that says why they cannot be told */
  async function tellAll(name: string, took: Decision[], alert: DecidedAlert): Promise<Decision[] | string> {
    const { facts, origin } = alert;
    const teller = await findTeller(name);
    if (typeof teller === "string") return teller;
    if (facts === undefined) return "its facts are not in the log";
    let read: { again: ReturnType<typeof readPayload> } | undefined;
    const input: MatchInput = {
      facts,
      origin,
      get payload() {
        read ??= { again: readPayload(alert) };
        return typeof read.again === "object" ? read.again.payload : undefined;
      },
    };
    const all = teller(took, input);
    if (read !== undefined && typeof read.again !== "object") return "its body cannot be read again";
    return all ?? "its body is read otherwise now";
  }

  return async (alert) => {
    const { decisions } = alert;
    const line = decisions.find(({ routes }) => routes !== undefined);
    if (line?.routes === undefined) return decisions;
    const took = decisions.filter((decision) => decision !== line);
    const all = await tellAll(line.routes, took, alert);
    if (typeof all !== "string") return all;
    const { route, result, reason } = line;
    return [...took, { route, result, reason: `${reason}; the reason of each is not known: ${all}` }];
  };
}
