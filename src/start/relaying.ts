import { randomInt } from "node:crypto";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Operations } from "../contract/operations.ts";
import type { Random } from "../core/clock.ts";
import type { Mute } from "../core/rules.ts";
import { signsBodyAlone } from "../core/source.ts";
import type { NameOf } from "../core/subject-name.ts";
import { Engine, type EngineDeps } from "../delivery/engine.ts";
import { openClaimJournal } from "../delivery/memory/claim-journal.ts";
import { createProcessing, type Processing } from "../explain/processing.ts";
import { createFindMute } from "../explain/route-again.ts";
import { createFloodGauge } from "../intake/door/flood-gauge.ts";
import { dedupeWindowMs } from "../intake/key/keys.ts";
import { readPayloads } from "../intake/read-payloads.ts";
import { openReadingJournal } from "../intake/thread/journal.ts";
import { openMuteBook } from "../operations/mute-book.ts";
import { Judging, type JudgingDeps } from "../routing/judging.ts";
import { createKeptRoutes } from "../routing/kept-routes.ts";
import { RoutingOnArrival } from "../routing/on-arrival.ts";
import { RoutingLoop } from "../routing/routing-loop.ts";
import { createChannel } from "../vendors/index.ts";
import type { Accepting } from "./accepting.ts";
import type { Market, MarketDeps } from "./open-market.ts";
import { openPictures, type RelayPictures } from "./open-pictures.ts";
import type { WatchesDeps } from "./open-watches.ts";
import { createOwnReport } from "./own-report.ts";
import type { RelayOptions } from "./relay.ts";
import { SharedWatches } from "./shared-watches.ts";

export interface Common extends Pick<Accepting, "store" | "publicUrl" | "clock" | "newId" | "log"> {
  random: Random;
}

export type Relaying = Awaited<ReturnType<typeof startRelaying>>;

/**
 * @param stopping ends what runs by itself: routing, watches, polls
 * @param undo gets a function that ends each part, as soon as the part exists
 */
export async function startRelaying(
  {
    config,
    configuration,
    readingThreadEntry,
    picturesOnThisMachine,
  }: RelayOptions & Pick<WatchesDeps, "configuration">,
  accepting: Accepting,
  stopping: AbortController,
  undo: (() => unknown)[],
) {
  const { relayId, clock, newId, store, spool, door, localUrl, publicUrl, hookSecrets, log } = accepting;
  const random = () => randomInt(2 ** 32) / 2 ** 32;
  const common: Common = { store, publicUrl, clock, newId, random, log };
  const processing = createProcessing(config, { readingThreadEntry, readsShapes: true });
  const { reader, translator } = processing;
  undo.push(() => reader.close());
  const isShared = store.capabilities.sharedByRelays;
  const market = openMarketLate(config, { ...common, isShared });
  const nameOf: NameOf = (subject, at) => market.opened()?.names?.nameOf(subject, at);
  const { adminToken } = accepting.secrets;
  const urlOnThisMachine = picturesOnThisMachine ? localUrl : undefined;
  const pictures = openPictures(config, { ...common, isShared, openMarket: market.open, adminToken, urlOnThisMachine });
  undo.push(pictures.close);
  const { self, report, follow } = createOwnReport(config, accepting);
  const mutes = await openMuteBook({ ...common, configured: config.rules.mutes });
  const sending = { ...common, self, report, processing, pictures, nameOf, activeMutes: mutes.active };
  const delivering = await startDelivering(config, sending, undo);
  const { engine } = delivering;

  let operations: Operations | undefined;
  const watches = await SharedWatches.open(config, {
    ...common,
    configuration,
    engine,
    startedAt: self.startedAt,
    activeMutes: mutes.active,
    hookSecrets: hookSecrets.of,
    hooks: () => door.sources,
    isOwnRelay: async (id) => id === relayId || (await store.listRelays()).some((one) => one.id === id),
    // Watches run only after `follow`.
    readiness: () => (operations as Operations).readiness(),
    countStoreRefused: () => door.counters.storeRefused,
    askForShape(id) {
      reader.forgetShape(id);
      translator.forgetShapes([id]);
    },
  });
  // Before routing begins, since the first message needs the known names, and the market notes the first alert.
  if (config.upstream.alerting !== undefined && config.market.symbols) await market.open();
  const routing = openRouting(config, {
    accepting,
    engine,
    processing,
    activeMutes: mutes.active,
    noteShapes: watches.noteShapes,
    onJudged(alert) {
      watches.noteArrival(alert);
      market.opened()?.names?.note(alert);
    },
  });

  listenToStore(accepting, { engine, mutes, watches, routing });
  const { loop, keptRoutes } = routing;
  const polls = [spool, loop, keptRoutes, mutes, hookSecrets.poll, market.opened()?.names, pictures.notes];
  const background = polls.map((one) => one?.run(stopping.signal));
  undo.push(() => {
    stopping.abort();
    return Promise.all(background).then(routing.closeJournal);
  });
  // Comes when the loop can route the rest.
  accepting.acceptThrough(routing.arrival);
  return {
    /** The hash of this relay's configuration, as the others know it. */
    configurationHash: self.configuration,
    processing,
    market,
    nameOf,
    pictures,
    engine,
    mutes,
    watches,
    routing,
    /** From now on the relay reports its state to the others, and watches. */
    follow(given: Operations): void {
      operations = given;
      follow(operations.readiness, engine.lookForLanes);
      background.push(watches.run(stopping.signal));
    },
    /** Called after `stopping`. @param callsMs the time that calls under way may take */
    async stop(callsMs: number): Promise<void> {
      await Promise.all(background);
      await delivering.stop(callsMs);
      await reader.close();
      await pictures.close();
      routing.closeJournal();
    },
  };
}

/** A signal may be lost: routing, mutes, secrets are looked at each second, lanes every five, lost ones every ten. */
function listenToStore(
  { store, hookSecrets }: Pick<Accepting, "store" | "hookSecrets">,
  { engine, mutes, watches, routing: { loop } }: Pick<Relaying, "engine" | "mutes" | "watches" | "routing">,
): void {
  store.subscribe("accepted", loop.wake);
  store.subscribe("left", loop.lookAtAll);
  store.subscribe("due", engine.wake);
  store.subscribe("lanes", engine.lookForLanes);
  store.subscribe("mail", engine.wishes.wake);
  store.subscribe("mail", watches.wake);
  store.subscribe("mutes", mutes.wake);
  if (hookSecrets.poll) store.subscribe("secrets", hookSecrets.poll.wake);
}

/** The first part that needs the market opens it: many a relay shows no picture and no names. */
function openMarketLate(config: Config, deps: MarketDeps) {
  let market: Market | undefined;
  let opening: Promise<Market> | undefined;
  return {
    opened: () => market,
    open(): Promise<Market> {
      opening ??= import("./open-market.ts").then(async ({ openMarket }) => {
        market = await openMarket(config, deps);
        return market;
      });
      opening.catch(() => {
        opening = undefined;
      });
      return opening;
    },
  };
}

interface DeliveringDeps extends Common, Pick<EngineDeps, "self" | "report"> {
  processing: Processing;
  pictures: RelayPictures;
  nameOf: NameOf;
  activeMutes(): Mute[];
}

/** @param undo gets a function that ends each part, as soon as the part exists */
async function startDelivering(
  { rules, delivery: settings, dataDir }: Config,
  { processing, pictures, nameOf, activeMutes, ...deps }: DeliveringDeps,
  undo: (() => unknown)[],
) {
  const { clock, log, publicUrl } = deps;
  const outlets = await Promise.all(
    rules.destinations.map(async (destination) => ({
      destination,
      channel: await createChannel(destination, { now: clock.now, drawPicture: pictures.draw }),
    })),
  );
  undo.push(() => Promise.all(outlets.map(({ channel }) => channel.close())));
  // Without a folder each claim is made by itself, see `ClaimJournal`.
  const journal =
    dataDir === undefined
      ? undefined
      : openClaimJournal(join(dataDir, "tocsin.db.claims"), {
          onFault: (error) => log.error("delivery.journal_failed", { error: error.message }),
        });
  undo.push(() => journal?.close());
  const engine = await Engine.start({
    ...deps,
    journal,
    outlets,
    composer: processing.createComposer(publicUrl, log, {
      nameOf,
      pictures: { hasRecords: pictures.haveRecords, linkTo: pictures.linkTo },
    }),
    readPayloads,
    findHold: processing.router.findHold,
    findMute: createFindMute(deps.store, () => [...rules.mutes, ...activeMutes()]),
    illustrate: pictures.illustrate,
    pictureNotes: pictures.notes,
    settings,
  });
  undo.push(() => engine.stop(0));
  return {
    engine,
    /** Saves what is known of claims and pictures. @param callsMs the time that calls under way may take */
    async stop(callsMs: number): Promise<void> {
      await engine.stop(callsMs);
      await pictures.notes.save();
      journal?.close();
      await Promise.all(outlets.map(({ channel }) => channel.close()));
    },
  };
}

interface RoutingDeps extends Pick<JudgingDeps, "onJudged" | "noteShapes"> {
  accepting: Accepting;
  engine: Engine;
  processing: Processing;
  activeMutes(): Mute[];
}

/** Judges alerts: some as they arrive, the others after the commit that stored them. */
function openRouting(
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
  // The caller runs the loop and the kept routes, and closes the journal after the loop.
  return { loop, keptRoutes, arrival, counters: judging.counters, closeJournal: journal.close };
}
