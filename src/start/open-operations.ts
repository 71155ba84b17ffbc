import type { Config } from "../config/config.ts";
import type { Operations } from "../contract/operations.ts";
import type { HookReport } from "../core/ports/relays.ts";
import { describeCheck } from "../core/source.ts";
import { createBodyExplainer } from "../explain/explain-body.ts";
import { createRouteAgain } from "../explain/route-again.ts";
import { readVersion } from "../ground/version.ts";
import { createOperations, type OperationsDeps } from "../operations/operations.ts";
import { judgeUnheld, viewRelays } from "../operations/relays.ts";
import { readDowntimes } from "../watch/running-times.ts";
import type { Accepting } from "./accepting.ts";
import type { Relaying } from "./relaying.ts";

type Given = "configuration" | "runsSince" | "socketIsHeld" | "stopping" | "draining";

export interface OpenOperationsDeps extends Pick<OperationsDeps, Given> {
  accepting: Accepting;
  relaying: Relaying;
}

export function openOperations(
  { rules, sources, intake, server, upstream, retention }: Config,
  { accepting, relaying, ...deps }: OpenOperationsDeps,
): Operations {
  const { relayId, store, health, door, spool, publicUrl, clock, newId, log } = accepting;
  const { processing, pictures, market, nameOf, engine, mutes, watches, routing } = relaying;
  const { destinations, routes } = rules;
  const { reader, router } = processing;
  const { maxBodyBytes } = intake;
  const activeMutes = mutes.active;
  const viewSources = (hooks: ReadonlyMap<string, HookReport>) =>
    sources.map(({ name, checks }) => ({
      name,
      checks: checks.map(describeCheck),
      account: watches.accountOf(name)?.known(),
      ...(hooks.get(name) ?? { accepted: 0, refused: {} }),
    }));
  return createOperations({
    ...deps,
    ...{ store, inbox: routing.arrival, health, spool: spool?.view, engine, mutes, clock, newId, log },
    destinations,
    routes,
    pictures: pictures.notes,
    market: () => market.opened()?.views() ?? [],
    parts: {
      tryBody: createBodyExplainer({
        reader,
        router,
        composer: processing.createComposer(publicUrl, log, { nameOf }),
        destinations,
        activeMutes,
        sources,
        maxBodyBytes,
        now: clock.now,
        newId,
      }),
      routeAgain: createRouteAgain({ router, destinations, activeMutes, now: clock.now }),
      downtimes: () => readDowntimes(store, clock.now(), true),
      maxBodyBytes,
      doorRefusals: () => door.refusals(),
      shapes: () => watches.shapes(),
      watches: watches.watches,
      silence: watches.silence,
      canary: watches.canary,
      sources: () => viewSources(watches.hooks()),
      routeNames: () => routes.map(({ name }) => name),
      relays: () =>
        viewRelays({
          relays: engine.membership.relays,
          selfId: relayId,
          laneGroups: engine.laneGroups,
          isAlone: !store.capabilities.sharedByRelays,
        }),
    },
    reader,
    keyOfRefused: (refused) => door.keyOf(refused),
    sourcesHere: () => viewSources(door.sources),
    unheld: (now) => judgeUnheld(engine.membership.unheld(), engine.laneGroups, now),
    counters: { door: door.counters, routing: routing.counters },
    version: readVersion(),
    hearing: store.hearing,
    account: { publicUrl: server.publicUrl, serviceConfigured: upstream.alerting !== undefined },
    retention,
    accountWatchOf: (source) => watches.accountOf(source),
    gapWatchOf: (source) => watches.gapsOf(source),
  });
}
