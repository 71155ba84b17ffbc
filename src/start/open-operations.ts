import type { Config } from "../config/config.ts";
import type { Operations } from "../contract/operations.ts";
import type { HookReport } from "../core/ports/relays.ts";
import { describeCheck } from "../core/source.ts";
import type { NameOf } from "../core/subject-name.ts";
import { dutiesGroup } from "../delivery/duties-lane.ts";
import type { Engine } from "../delivery/engine.ts";
import { createBodyExplainer } from "../explain/explain-body.ts";
import type { Processing } from "../explain/processing.ts";
import { createRouteAgain } from "../explain/route-again.ts";
import { readVersion } from "../ground/version.ts";
import type { Door } from "../intake/door/door.ts";
import { createOperations, type OperationsDeps } from "../operations/operations.ts";
import { judgeUnheld, viewRelays } from "../operations/relays.ts";
import type { Judging } from "../routing/judging.ts";
import type { OpenedStore } from "../store/open-store.ts";
import { readDowntimes } from "../watch/running-times.ts";
import type { SharedWatches } from "./shared-watches.ts";

type Given =
  | "inbox"
  | "configuration"
  | "runsSince"
  | "mutes"
  | "pictures"
  | "market"
  | "health"
  | "spool"
  | "socketIsHeld"
  | "stopping"
  | "draining"
  | "clock"
  | "newId"
  | "log";

export interface OpenOperationsDeps extends Pick<OperationsDeps, Given> {
  relayId: string;
  store: OpenedStore;
  door: Door;
  processing: Processing;
  nameOf: NameOf;
  routing: Readonly<Judging["counters"]>;
  engine: Engine;
  watches: SharedWatches;
  publicUrl: string;
}

/** Everything that people can do to this relay, over the parts that run in it. */
export function openOperations(
  { rules, sources, intake, server, upstream, retention }: Config,
  deps: OpenOperationsDeps,
): Operations {
  const { relayId, store, door, processing, routing, engine, watches, mutes, publicUrl, clock, newId, log } = deps;
  const { destinations, routes } = rules;
  const { reader, router, readPayloads } = processing;
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
    destinations,
    routes,
    parts: {
      tryBody: createBodyExplainer({
        reader,
        router,
        composer: processing.createComposer(publicUrl, log, { nameOf: deps.nameOf }),
        destinations,
        activeMutes,
        sources,
        maxBodyBytes,
        now: clock.now,
        newId,
      }),
      routeAgain: createRouteAgain({ router, destinations, readPayloads, activeMutes, now: clock.now }),
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
          dutiesGroup,
          isAlone: !store.capabilities.sharedByRelays,
        }),
    },
    reader,
    keyOfRefused: (refused) => door.keyOf(refused),
    sourcesHere: () => viewSources(door.sources),
    unheld: (now) => judgeUnheld(engine.membership.unheld(), { laneGroups: engine.laneGroups, dutiesGroup }, now),
    counters: { door: door.counters, routing },
    version: readVersion(),
    hearing: store.hearing,
    account: { publicUrl: server.publicUrl, serviceConfigured: upstream.alerting !== undefined },
    retention,
    accountWatchOf: (source) => watches.accountOf(source),
    gapWatchOf: (source) => watches.gapsOf(source),
  });
}
