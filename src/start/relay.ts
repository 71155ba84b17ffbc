import { randomInt } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { Config } from "../config/config.ts";
import type { ServerSecrets } from "../config/generated-secrets.ts";
import { within } from "../core/clock.ts";
import type { Operations } from "../core/operations.ts";
import type { Store } from "../core/ports/store.ts";
import type { NameOf } from "../core/subject-name.ts";
import { createRequestNetwork } from "../ground/net/client-address.ts";
import { admitToken, createTokenCheck } from "../web/access/token-check.ts";
import type { Web } from "../web/web.ts";
import { type AcceptingOptions, startAccepting } from "./accepting.ts";
import type { Market, MarketDeps } from "./open-market.ts";
import { openPictures } from "./open-pictures.ts";
import { createOwnReport } from "./own-report.ts";

export interface RelayOptions extends AcceptingOptions {
  /** See `BodyReaderOptions`. */
  readingThreadEntry?: URL;
  /**
   * Whoever shows messages runs on this machine, and may fetch their pictures without https. For the demo alone, so no
   * configuration has it. Default false.
   */
  picturesOnThisMachine?: boolean;
}

/** The others are asked for by a database that may be away. */
const longestLookForOthersMs = 1_000;

/** A running relay. */
export interface Relay {
  /** Where it listens on this machine, e.g. `http://127.0.0.1:8080`. */
  localUrl: string;
  /** How the outside reaches it: `PUBLIC_URL`, or `localUrl` when nobody has said. */
  publicUrl: string;
  operations: Operations;
  store: Store;
  secrets: ServerSecrets;
  /**
   * Not ready, and else as before for `drainMs` while other relays run → nothing more is changed over pages and API, event
   * streams end → no new claims; calls in flight until the deadline, the rest aborted and recorded → no new connections,
   * alerts under way are answered → checkpoint → closed. Until the connections are closed, alerts are accepted and stored for the next start. A second call waits
   * for the first.
   */
  stop(): Promise<void>;
}

/** The composition root: builds every room, hands each what it needs, and says what listens to what. */
export async function startRelay(options: RelayOptions): Promise<Relay> {
  /** Ends what has been started, should something else not start: what goes on would keep the process from ending. */
  const undo: (() => unknown)[] = [];
  try {
    return await startParts(options, undo);
  } catch (error) {
    // Why it did not start is what counts, not what could not be ended because of it.
    for (const end of undo.reverse())
      await Promise.resolve()
        .then(end)
        .catch(() => {});
    throw error;
  }
}

async function startParts(options: RelayOptions, undo: (() => unknown)[]): Promise<Relay> {
  const { config } = options;
  const { rules } = config;
  const random = () => randomInt(2 ** 32) / 2 ** 32;
  const draining = new AbortController();
  const stopping = new AbortController();
  // Every duty of the relay listens to it, and each batch that is being read.
  setMaxListeners(0, stopping.signal, draining.signal);

  const accepting = await startAccepting(options, undo);
  const { relayId, clock, newId, awayLog, secrets, hookSecrets, proxies, store, spool, door, server, port, localUrl } =
    accepting;
  const { log } = awayLog;
  const publicUrl = config.server.publicUrl ?? localUrl;

  // From here on alerts are accepted, so nothing above is more than that takes. What they need next is loaded first,
  // what people look at last.
  const [{ createProcessing }, { startDelivering }, { openRouting }, { openMuteBook }, { shareWatches }] =
    await Promise.all([
      import("../explain/processing.ts"),
      import("./delivering.ts"),
      import("./open-routing.ts"),
      import("../operations/mute-book.ts"),
      import("./shared-watches.ts"),
    ]);
  const market = openMarketLate(config, { store, isShared: store.capabilities.sharedByRelays, clock, random, log });
  const nameOf: NameOf = (subject, at) => market.opened()?.names?.nameOf(subject, at);
  const processing = createProcessing(config, { readingThreadEntry: options.readingThreadEntry, readsShapes: true });
  const { reader, translator } = processing;
  undo.push(() => reader.close());
  const pictures = openPictures(config, {
    store,
    isShared: store.capabilities.sharedByRelays,
    openMarket: market.open,
    adminToken: secrets.adminToken,
    urlOnThisMachine: options.picturesOnThisMachine ? localUrl : undefined,
    clock,
    log,
  });
  undo.push(pictures.close);
  const { self, report, follow } = createOwnReport({ id: relayId, port, config, door, spool: spool?.view, clock });
  const delivering = await startDelivering(
    config,
    {
      self,
      report,
      store: { ...store, ...accepting.inbox, findRequests: accepting.findRequests },
      processing,
      pictures,
      nameOf,
      clock,
      newId,
      random,
      log,
      publicUrl,
    },
    undo,
  );
  const { engine } = delivering;

  const mutes = await openMuteBook({ store, configured: rules.mutes, clock, newId, log });
  const watches = await shareWatches(config, {
    store,
    engine,
    startedAt: self.startedAt,
    kept: store.kept,
    activeMutes: mutes.active,
    hookSecrets: hookSecrets.ofHook,
    hooks: () => door.sources,
    secretsOf: hookSecrets.ofSource,
    isOwnRelay: async (id) => id === relayId || (await store.listRelays()).some((one) => one.id === id),
    readiness: () => operations.readiness(),
    countStoreRefused: () => door.counters.storeRefused,
    askForShape(id) {
      reader.forgetShape(id);
      translator.forgetShapes([id]);
    },
    publicUrl,
    clock,
    newId,
    random,
    log,
  });
  // Names are known from the first message on, and no alert comes before there is somebody who notes it.
  if (config.upstream.alerting !== undefined && config.market.symbols) await market.open();
  const { loop, keptRoutes, arrival, counters, closeJournal } = openRouting(config, {
    store,
    accepting,
    engine,
    processing,
    activeMutes: mutes.active,
    noteShapes: watches.noteShapes,
    onJudged(alert) {
      watches.noteArrival(alert);
      market.opened()?.names?.note(alert);
    },
    clock,
    log,
  });

  // What listens to what; event streams listen to `changed` while they are open. A signal may be lost: routing, mutes
  // and the secret are looked at every second anyway, each lane every five, and lanes to take every ten.
  store.subscribe("accepted", loop.wake);
  store.subscribe("left", loop.lookAtAll);
  store.subscribe("due", engine.wake);
  store.subscribe("lanes", engine.lookForLanes);
  store.subscribe("requests", engine.requests.wake);
  store.subscribe("mutes", mutes.wake);
  for (const poll of hookSecrets.polls) store.subscribe("secrets", poll.wake);
  const background = [
    spool?.run(stopping.signal),
    loop.run(stopping.signal),
    keptRoutes.run(stopping.signal),
    mutes.run(stopping.signal),
    ...hookSecrets.polls.map((poll) => poll.run(stopping.signal)),
    market.opened()?.names?.run(stopping.signal),
    pictures.notes.run(stopping.signal),
  ];
  undo.push(async () => {
    stopping.abort();
    await Promise.all(background);
    closeJournal();
  });
  // Once there is somebody who routes the rest.
  accepting.acceptThrough(arrival);

  const { openOperations } = await import("./open-operations.ts");
  const operations = openOperations(config, {
    relayId,
    store,
    inbox: arrival,
    health: accepting.health,
    door,
    processing,
    nameOf,
    routing: counters,
    engine,
    mutes,
    watches,
    pictures: pictures.notes,
    market: () => market.opened()?.views() ?? [],
    spool: spool?.view,
    socketIsHeld: options.listenFd !== undefined,
    publicUrl,
    stopping: stopping.signal,
    draining: draining.signal,
    clock,
    newId,
    log,
  });
  follow(operations.readiness, engine.lookForLanes);
  background.push(watches.run(stopping.signal));
  let web: Web | undefined;
  const { adminToken } = secrets;
  const tokenCheck = createTokenCheck({ adminToken, store, clock });
  const networkOf = createRequestNetwork(proxies);
  server.serve({
    readiness: operations.readiness,
    metrics: {
      admit: ({ headers, socket }) =>
        admitToken(headers.authorization, () => networkOf(socket.remoteAddress, (name) => headers[name]?.toString()), {
          tokenCheck,
          log,
        }),
      text: operations.metricsText,
    },
    async open() {
      const { openWeb } = await import("./open-web.ts");
      web = await openWeb(config, {
        store,
        operations,
        hookSecrets,
        processing,
        pictures,
        market: await market.open(),
        nameOf,
        adminToken,
        tokenCheck,
        configurationHash: self.configuration,
        publicUrl,
        clock,
        newId,
        log,
      });
      if (stopping.signal.aborted) web.close();
      return web.fetch;
    },
    spool: operations.spool,
    onFault: (error) => log.error("web.not_loaded", { error: String(error) }),
  });
  log.info("relay.started", { localUrl, publicUrl, destinations: rules.destinations.length });

  /** While no other relay runs there is nobody to whom a balancer could send instead. */
  async function drain(): Promise<void> {
    const { drainMs } = config.server;
    draining.abort();
    if (drainMs === 0 || !store.capabilities.sharedByRelays) return;
    const asked = store.listRelays().catch(() => undefined);
    const running = await within(asked, longestLookForOthersMs, clock);
    if (running !== undefined && running.length <= 1) return;
    log.info("relay.draining", { ms: drainMs });
    server.drain();
    await clock.sleep(drainMs);
  }
  async function stop(): Promise<void> {
    await drain();
    log.info("relay.stopping");
    stopping.abort();
    web?.close();
    try {
      await Promise.all([server.windDown(), stopDeliveries()]);
    } finally {
      // Last, so that no alert is refused while there is somebody to store it.
      await server.close();
      await spool?.close();
      await store.close();
      awayLog.close();
    }
    log.info("relay.stopped");
  }
  async function stopDeliveries(): Promise<void> {
    await Promise.all(background);
    await delivering.stop();
    await reader.close();
    await pictures.close();
    closeJournal();
  }
  let stopped: Promise<void> | undefined;
  return {
    localUrl,
    publicUrl,
    operations,
    store,
    secrets,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** Opened by whoever needs it first: many a relay shows no picture and names nothing. */
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
