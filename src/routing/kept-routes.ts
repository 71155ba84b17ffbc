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
 * With hundreds of routes, a line for each that did not take an alert would be most of the alert's bytes. The routes of
 * each configuration are therefore stored once, and all that did not take an alert share one line. A reader still gets
 * the reason of each: the stored routes are asked again about the alert's facts and its body.
 */

/** Reading a larger body again would slow pages down. Its alerts have a line for each route. */
export const mostReadAgainBytes = 64 * 1024;

/** Compiled configurations in memory: the current one and the one before. */
const mostCompiled = 2;

/** How often a relay notes that its configuration is in use. Routes are removed long after their last use. */
const everyMs = 3_600_000;
const againAfterMs = 60_000;

/** Stored under the name that `Decision.routes` has. */
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

/** Stores the routes of a configuration once, where they are too many for a line each. */
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
    /** Undefined: the routes are not stored, or not yet. */
    name: () => (isKept ? name : undefined),
    /** Stores the routes at once, and notes each hour that they are used. Tries again within a minute after a failure. */
    async run(stop: AbortSignal): Promise<void> {
      if (routes.length > mostWithOwnLine) await poll.run(stop);
    },
  };
}

export type DecidedAlert = Pick<AlertDetail, "decisions" | "facts" | "origin" | "request" | "receivedAt" | "routedAt">;

/**
 * The decisions of an alert with one for each route, in order. Routes that cannot be asked again keep their common line.
 * @param readPayload `too large`: the body is not read again. Undefined: it cannot be read
 */
export function createTellDecisions(
  store: Pick<WatchStore, "loadWatchState">,
  readPayload: (alert: DecidedAlert) => Pick<MatchInput, "payload"> | "too large" | undefined,
): (alert: DecidedAlert) => Promise<Decision[]> {
  const compiled = new Map<string, TellAll>();

  /** @returns a string where the routes are no longer stored: the reason for people */
  async function findTeller(name: string): Promise<TellAll | string> {
    const known = compiled.get(name);
    if (known !== undefined) return known;
    const kept = (await store.loadWatchState(name)) as Kept | AskedRoute[] | undefined;
    if (kept === undefined) return "the routes of that time are not in the log";
    try {
      // An earlier version kept the routes without `usedAt`.
      const teller = createTellAll(Array.isArray(kept) ? kept : kept.routes);
      for (const oldest of [...compiled.keys()].slice(0, compiled.size + 1 - mostCompiled)) compiled.delete(oldest);
      compiled.set(name, teller);
      return teller;
    } catch {
      return "this version cannot read the routes of that time";
    }
  }

  /** @returns a string where the routes cannot be asked again: the reason for people */
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
