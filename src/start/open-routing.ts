import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Mute } from "../core/rules.ts";
import { signsBodyAlone } from "../core/source.ts";
import type { Engine } from "../delivery/engine.ts";
import type { Processing } from "../explain/processing.ts";
import { createFloodGauge } from "../intake/door/flood-gauge.ts";
import { dedupeWindowMs } from "../intake/key/keys.ts";
import { openReadingJournal } from "../intake/thread/journal.ts";
import { Judging, type JudgingDeps } from "../routing/judging.ts";
import { createKeptRoutes } from "../routing/kept-routes.ts";
import { RoutingOnArrival } from "../routing/on-arrival.ts";
import { RoutingLoop } from "../routing/routing-loop.ts";
import type { Accepting } from "./accepting.ts";

export interface RoutingDeps extends Pick<JudgingDeps, "onJudged" | "noteShapes"> {
  accepting: Accepting;
  engine: Engine;
  processing: Processing;
  activeMutes(): Mute[];
}

/** What judges alerts: some as they arrive, the others behind the commit that stored them. */
export function openRouting(
  { dataDir, rules, sources }: Pick<Config, "dataDir" | "rules" | "sources">,
  { accepting, engine, processing, ...deps }: RoutingDeps,
) {
  const { store, door, clock, log } = accepting;
  const journal = openReadingJournal(dataDir && join(dataDir, "tocsin.db.reading"), (error) =>
    log.error("routing.journal_failed", { error: error.message }),
  );
  const unsignedKeys = new Set(sources.filter((one) => signsBodyAlone(one.checks)).map(({ name }) => name));
  const keptRoutes = createKeptRoutes({ store, routes: rules.routes, clock, log });
  const judging = new Judging({
    ...deps,
    router: processing.router,
    keptRoutes: keptRoutes.name,
    repeatWindowMs: dedupeWindowMs,
    hasUnsignedKeys: (source) => unsignedKeys.has(source),
    clock,
    log,
  });
  const isFlooded = createFloodGauge(door, clock.now);
  const loop = new RoutingLoop({
    store: { ...store, recordRouting: engine.recordRouting },
    mayRoute: () => engine.configuration() === "newest",
    judging,
    reader: processing.reader,
    journal,
    isFlooded,
    clock,
    log,
  });
  const { translator } = processing;
  const arrival = new RoutingOnArrival({
    inbox: engine,
    translate: (body) => translator.translate(body),
    judging,
    journal,
    loop,
    isFlooded,
    log,
  });
  // Loop and kept routes are to be run, the journal to be closed behind the loop.
  return { loop, keptRoutes, arrival, counters: judging.counters, closeJournal: journal.close };
}
