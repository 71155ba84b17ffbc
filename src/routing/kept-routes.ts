import { createHash } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { type Log, logFailure } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import type { WatchStore } from "../core/ports/watch.ts";
import type { Decision, Route } from "../core/rules.ts";
import type { MatchInput } from "../matching/judge.ts";
import { type AskedRoute, createTellAll, mostWithOwnLine, type TellAll } from "./router.ts";

/*
 * Most of hundreds of routes do not take an alert, and a line of each would be most of what is stored of it. The routes of each
 * configuration are therefore kept once, and an alert has one line for all that did not take it. The reader of an alert gets the
 * reason of each: the routes of then are asked again about its facts, as they are stored, and its body, which is read again.
 */

/** A larger body is not read again for a page: it would take the time that pages have. Its alerts have a line for each route. */
export const mostReadAgainBytes = 64 * 1024;

/** Compiled routes that are remembered: those of now, and of the configuration before. */
const mostCompiled = 2;

/** While a relay uses a configuration it says so this often. What is removed was last used long before the oldest alert came. */
const everyMs = 3_600_000;
const againAfterMs = 60_000;

/** As they are kept, by the name that `Decision.routes` has. */
interface Kept {
  /** Epoch milliseconds. */
  usedAt: number;
  routes: AskedRoute[];
}

interface KeptRoutesDeps {
  store: Pick<WatchStore, "saveWatchState">;
  routes: readonly Route[];
  clock: Clock;
  log: Log;
}

/** The routes of a configuration, which are kept once. Where they are so few that none ever share a line, none are kept. */
export function createKeptRoutes({ store, routes, clock, log }: KeptRoutesDeps) {
  const asked = routes.map(({ name, matchers, continue: goesOn, isDefault, isDisabled, activeHours }): AskedRoute => {
    return { name, matchers, continue: goesOn, isDefault, isDisabled, activeHours };
  });
  const digest = createHash("sha256").update(JSON.stringify(asked)).digest("hex").slice(0, 16);
  const name = `routes:${digest}`;
  let isKept = false;
  let waitMs = againAfterMs;
  const poll = createPoll({
    async look() {
      waitMs = againAfterMs;
      const state: Kept = { usedAt: clock.now(), routes: asked };
      await store.saveWatchState({ name, state });
      isKept = true;
      waitMs = everyMs;
    },
    everyMs: () => waitMs,
    clock,
    onFailed: logFailure(log, "routing.routes_not_kept"),
  });
  return {
    /** See `Router.route`. Undefined: they are not kept, or not yet. */
    name: () => (isKept ? name : undefined),
    /** Keeps them at once, and says again and again that they are used. Where that fails it is tried again within a minute. */
    async run(stop: AbortSignal): Promise<void> {
      if (routes.length > mostWithOwnLine) await poll.run(stop);
    },
  };
}

/** An alert of the log: what was decided, and what the routes looked at. */
export type DecidedAlert = Pick<AlertDetail, "decisions" | "facts" | "origin" | "request" | "receivedAt" | "routedAt">;

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

  /** @returns a text where there is none: it says why */
  async function findTeller(name: string): Promise<TellAll | string> {
    const known = compiled.get(name);
    if (known !== undefined) return known;
    const kept = (await store.loadWatchState(name)) as Kept | AskedRoute[] | undefined;
    if (kept === undefined) return "the routes of that time are not in the log";
    try {
      // A version before kept the routes alone.
      const teller = createTellAll(Array.isArray(kept) ? kept : kept.routes);
      for (const oldest of [...compiled.keys()].slice(0, compiled.size + 1 - mostCompiled)) compiled.delete(oldest);
      compiled.set(name, teller);
      return teller;
    } catch {
      return "this version cannot read the routes of that time";
    }
  }

  /** @returns or a text that says why they cannot be told */
  async function tellAll(name: string, took: Decision[], alert: DecidedAlert): Promise<Decision[] | string> {
    const { facts, origin, receivedAt, routedAt = receivedAt } = alert;
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
    const all = teller(took, input, routedAt);
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
