import { createHash, randomInt } from "node:crypto";
import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import type { ServerSecrets } from "./config/generated-secrets.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import { createIdSource } from "./core/id.ts";
import type { Log } from "./core/log.ts";
import type { Operations } from "./core/operations.ts";
import type { Store } from "./core/ports/store.ts";
import { Secret } from "./core/secret.ts";
import { describeCheck, signsBodyAlone } from "./core/source.ts";
import type { NameOf } from "./core/subject-name.ts";
import { openClaimJournal } from "./delivery/memory/claim-journal.ts";
import { createRecentRequests } from "./delivery/memory/recent-requests.ts";
import { localHost } from "./ground/net/local-host.ts";
import { openHookSecrets } from "./hook-secrets.ts";
import { createDoor, dedupeWindowMs } from "./intake/door/door.ts";
import { createFloodGauge } from "./intake/door/flood-gauge.ts";
import { openReadingJournal } from "./intake/thread/journal.ts";
import { listen } from "./listen.ts";
import type { Market } from "./market.ts";
import { createPictureNotes } from "./operations/picture-notes.ts";
import { createPictures } from "./pictures.ts";
import { createAcceptedBuffer, keepAccepted } from "./routing/accepted-buffer.ts";
import { findUnusedLog, openStore } from "./store/open-store.ts";
import { createChannel, vendorOf } from "./vendors/index.ts";
import { readVersion } from "./version.ts";
import { securityHeaders } from "./web/security-headers.ts";
import type { Web } from "./web/web.ts";

export interface RelayOptions {
  config: Config;
  secrets: ServerSecrets;
  /** `hide`: no line may hold these texts from now on. */
  log: Log & { hide?(secrets: readonly string[]): void };
  /** See `ListenOptions`. */
  listenFd?: number;
  /** Default: the machine's. */
  clock?: Clock;
  /** The relay cannot go on (its database thread has ended) and is to be stopped and started anew. */
  onFailed?: (error: Error) => void;
  /** See `ThreadedStoreOptions`. */
  storeThreadEntry?: URL;
  /** See `BodyReaderOptions`. */
  readingThreadEntry?: URL;
  /**
   * Whoever shows messages runs on this machine, and may fetch their pictures without https. For the demo alone, so no
   * configuration has it. Default false.
   */
  picturesOnThisMachine?: boolean;
}

/** A running relay. */
export interface Relay {
  /** Where it listens on this machine, e.g. `http://127.0.0.1:8080`. */
  localUrl: string;
  /** How the outside reaches it: `PUBLIC_URL`, or `localUrl` when nobody has said. */
  publicUrl: string;
  operations: Operations;
  store: Store;
  /**
   * Not ready, nothing more is changed over pages and API, event streams end → no new claims; calls in flight until
   * the deadline, the rest aborted and recorded → no new connections, alerts under way are answered → checkpoint →
   * closed. Until the connections are closed, alerts are accepted and stored for the next start. A second call waits
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
  const { config, secrets, log, clock = systemClock } = options;
  const { rules, delivery } = config;
  const newId = createIdSource(clock.now);
  const random = () => randomInt(2 ** 32) / 2 ** 32;
  const stopping = new AbortController();
  // Every duty of the relay listens to it, and each batch that is being read.
  setMaxListeners(0, stopping.signal);

  const unusedLog = findUnusedLog(config);
  if (unusedLog !== undefined) {
    const message = `is set, so what waits in the SQLite log of ${unusedLog} is neither shown nor sent`;
    log.warn("config.warning", {
      where: "DATABASE_URL",
      message,
      instead: "start without it until nothing waits there",
    });
  }
  const { databaseUrl, databaseListenUrl, dataDir } = config;
  const store = await openStore({
    ...(databaseUrl === undefined ? { dataDir } : { databaseUrl, databaseListenUrl, dataDir }),
    relayName: `${hostname()}:${config.server.port}`,
    watchesSecrets: config.webhookSecret === undefined || config.sources.some(({ secret }) => secret === undefined),
    threadEntry: options.storeThreadEntry,
    onStopped: (error) => {
      log.error("store.stopped", { error: error.message });
      options.onFailed?.(error);
    },
    onListenerFailed: (topic, error) =>
      log.error("signal.listener_failed", { topic, error: String(error).slice(0, 300) }),
    onClockCorrected: (aheadMs) => log.warn("clock.corrected", { aheadMs }),
    onHearing: (hearing) =>
      hearing.by === "polls"
        ? log.warn("signals.polls_alone", { why: hearing.why })
        : log.info("signals.heard", hearing),
  });
  undo.push(() => store.close());
  const accepted = createAcceptedBuffer();
  // What no destination passes on need not be kept.
  const recent = rules.destinations.some(({ type }) => vendorOf(type).can.carries === "payload")
    ? createRecentRequests(store)
    : undefined;
  const inbox = keepAccepted(store, recent ? [accepted, recent] : [accepted]);
  const door = createDoor(
    { store: inbox, refused: store, now: clock.now, newId, log },
    {
      ...config.intake,
      proxies: { trustedProxies: config.server.trustedProxies, behindFly: config.server.isBehindFly },
      sources: config.sources.map((source) => ({ ...source, secrets: [] })),
    },
  );
  const { hide } = options.log;
  const hookSecrets = openHookSecrets(config, secrets, { door, kept: store.kept, hide, clock, log });
  const headers = securityHeaders(config.server.publicUrl?.startsWith("https:") ?? false);
  const server = await listen({
    door,
    host: config.server.host,
    port: config.server.port,
    fd: options.listenFd,
    clock,
    headers,
  });
  undo.push(server.close);
  const { address, port } = server.address();
  const host = options.listenFd === undefined ? config.server.host : address;
  const localUrl = `http://${localHost(host)}:${port}`;
  if (options.listenFd !== undefined && config.server.port !== 0 && port !== config.server.port) {
    const message = `is ${config.server.port}, and the socket that was handed over listens on ${port}: commands look at the wrong one`;
    log.warn("config.warning", { where: "PORT", message, instead: `set PORT=${port}` });
  }
  const publicUrl = config.server.publicUrl ?? localUrl;

  // From here on alerts are accepted, so nothing above is more than that takes. What they need next is loaded first,
  // what people look at last.
  const [{ createProcessing }, { startEngine }, { createRoutingLoop }, { openMuteBook }, { openWatches }] =
    await Promise.all([
      import("./processing.ts"),
      import("./delivery/engine.ts"),
      import("./routing/routing-loop.ts"),
      import("./operations/mute-book.ts"),
      import("./watches.ts"),
    ]);
  let market: Market | undefined;
  let opensMarket: Promise<Market> | undefined;
  /** By whoever needs it first: many a relay shows no picture and names nothing. */
  function getMarket(): Promise<Market> {
    opensMarket ??= import("./market.ts").then(async ({ openMarket }) => {
      market = await openMarket(config, { store, isShared: store.capabilities.sharedByRelays, clock, random, log });
      return market;
    });
    opensMarket.catch(() => {
      opensMarket = undefined;
    });
    return opensMarket;
  }
  const nameOf: NameOf = (subject, at) => market?.names?.nameOf(subject, at);

  const processing = createProcessing(config, { readingThreadEntry: options.readingThreadEntry, readsShapes: true });
  const { reader, router } = processing;
  undo.push(() => reader.close());
  const knowsHistories = config.upstream.alerting !== undefined && config.watch.enabled;
  const readHistory = async (key: string) => (await getMarket()).histories?.read(key);
  const withPictures = rules.destinations.filter(({ chart }) => chart === true).map(({ name }) => name);
  const pictureNotes = createPictureNotes({ store, isShared: store.capabilities.sharedByRelays, destinations: withPictures, clock, log });
  const pictureUrl = options.picturesOnThisMachine ? localUrl : config.server.publicUrl;
  const givesPictures = pictureUrl?.startsWith("https:") || options.picturesOnThisMachine === true;
  const pictures = createPictures({
    store,
    notes: pictureNotes,
    destinations: withPictures,
    readHistory: knowsHistories ? readHistory : undefined,
    describe: async (...asked) => (await getMarket()).context?.describe(...asked),
    clock,
    adminToken: secrets.adminToken,
    publicUrl: givesPictures ? pictureUrl : undefined,
  });
  undo.push(pictures.close);
  const outlets = await Promise.all(
    rules.destinations.map(async (destination) => ({
      destination,
      channel: await createChannel(destination, { now: clock.now, drawPicture: pictures.draw }),
    })),
  );
  const claimJournal =
    dataDir === undefined
      ? undefined
      : openClaimJournal(join(dataDir, "tocsin.db.claims"), {
          onFault: (error) => log.error("delivery.journal_failed", { error: error.message }),
        });
  undo.push(() => claimJournal?.close());
  const engine = await startEngine({
    self: {
      id: newId(),
      name: hostname(),
      version: readVersion(),
      configuration: hashOf(config),
      startedAt: clock.now(),
    },
    store: recent ? { ...store, findRequests: recent.findRequests } : store,
    journal: claimJournal,
    outlets,
    composer: processing.createComposer(publicUrl, log, {
      nameOf,
      pictures: { hasRecords: knowsHistories, linkTo: pictures.linkTo },
    }),
    readPayloads: processing.readPayloads,
    findHold: router.findHold,
    illustrate: pictures.illustrate,
    pictureNotes,
    settings: delivery,
    clock,
    newId,
    random,
    log,
    publicUrl,
  });
  undo.push(() => engine.stop(0));

  const mutes = await openMuteBook({ store, configured: rules.mutes, clock, newId, log });
  const readingPath = dataDir === undefined ? undefined : join(dataDir, "tocsin.db.reading");
  const journal = openReadingJournal(readingPath, (error) =>
    log.error("routing.journal_failed", { error: error.message }),
  );
  const watches = await openWatches(config, {
    store,
    notify: engine.notify,
    activeMutes: mutes.active,
    kept: store.kept,
    hookSecrets: hookSecrets.ofHook,
    hooks: () => door.sources,
    secretsOf: hookSecrets.ofSource,
    readiness: () => operations.readiness(),
    askForShape: reader.forgetShape,
    publicUrl,
    clock,
    newId,
    random,
    log,
  });
  // Names are known from the first message on, and no alert comes before there is somebody who notes it.
  if (config.upstream.alerting !== undefined && config.market.symbols) await getMarket();
  const unsignedKeys = new Set(config.sources.filter((one) => signsBodyAlone(one.checks)).map(({ name }) => name));
  const loop = createRoutingLoop({
    store: { ...store, recordRouting: engine.recordRouting },
    accepted,
    router,
    reader,
    journal,
    noteShapes: watches.shapes.note,
    activeMutes: mutes.active,
    onJudged(alert) {
      watches.silence?.note(alert);
      market?.names?.note(alert);
    },
    repeatWindowMs: dedupeWindowMs,
    hasUnsignedKeys: (source) => unsignedKeys.has(source),
    isFlooded: createFloodGauge(door, clock.now),
    clock,
    log,
  });

  // What listens to what; event streams listen to `changed` while they are open. A signal may be lost: routing, mutes
  // and the secret are looked at every second anyway, each lane every five, and lanes to take every ten.
  store.subscribe("accepted", loop.wake);
  store.subscribe("due", engine.wake);
  store.subscribe("lanes", engine.lookForLanes);
  store.subscribe("mutes", mutes.wake);
  for (const poll of hookSecrets.polls) store.subscribe("secrets", poll.wake);
  const background = [
    loop.run(stopping.signal),
    mutes.run(stopping.signal),
    ...hookSecrets.polls.map((poll) => poll.run(stopping.signal)),
    market?.names?.run(stopping.signal),
    pictureNotes.run(stopping.signal),
  ];
  undo.push(async () => {
    stopping.abort();
    await Promise.all(background);
    journal.close();
  });

  const [{ createOperations }, { createBodyExplainer }, { createRouteAgain }, { watchConfigFile }] = await Promise.all([
    import("./operations/operations.ts"),
    import("./explain-body.ts"),
    import("./route-again.ts"),
    import("./config/file-in-force.ts"),
  ]);
  const { maxBodyBytes } = config.intake;
  const operations = createOperations({
    store,
    destinations: rules.destinations,
    routes: rules.routes,
    tryBody: createBodyExplainer({
      reader,
      router,
      composer: processing.createComposer(publicUrl, log, { nameOf }),
      destinations: rules.destinations,
      activeMutes: mutes.active,
      sources: config.sources,
      maxBodyBytes,
      now: clock.now,
      newId,
    }),
    routeAgain: createRouteAgain({
      router,
      destinations: rules.destinations,
      readPayloads: processing.readPayloads,
      activeMutes: mutes.active,
      now: clock.now,
    }),
    maxBodyBytes,
    configuration: watchConfigFile(config.configFile),
    doorRefusals: door.refusals,
    mutes,
    reader,
    engine,
    shapes: watches.shapes.view,
    inbox,
    keyOfRefused: door.keyOf,
    sources: () =>
      config.sources.map(({ name, checks }) => ({
        name,
        checks: checks.map(describeCheck),
        account: watches.accounts.get(name)?.known(),
        ...(door.sources.get(name) ?? { accepted: 0, refused: {} }),
      })),
    routeNames: rules.routes.map(({ name }) => name),
    pictures: pictureNotes,
    counters: { door: door.counters, routing: loop.counters },
    version: readVersion(),
    socketIsHeld: options.listenFd !== undefined,
    account: {
      publicUrl: config.server.publicUrl,
      serviceConfigured: config.upstream.alerting !== undefined,
    },
    retention: config.retention,
    watches: watches.list,
    accountWatchOf: (source) => (source === undefined ? watches.account : watches.accounts.get(source)),
    gapWatchOf: (source) => watches.gaps.get(source),
    silence: () => watches.silence?.views() ?? [],
    market: () => market?.views() ?? [],
    canary: () => watches.canary?.view(),
    stopping: stopping.signal,
    clock,
    newId,
    log,
  });
  background.push(watches.run(stopping.signal));
  let web: Promise<Web> | undefined;
  async function openWeb(): Promise<Web> {
    const [{ createWeb }, { createComposeAgain }] = await Promise.all([
      import("./web/web.ts"),
      import("./processing.ts"),
    ]);
    const { histories, context, names } = await getMarket();
    const composer = processing.createComposer(publicUrl, log, { nameOf });
    const opened = await createWeb({
      composeAgain: createComposeAgain({ composer, readPayloads: processing.readPayloads }, rules.destinations),
      metricHistory: histories?.read,
      market: context,
      learnedName: names?.find,
      toPng: pictures.toPng,
      drawPicture: givesPictures ? pictures.draw : undefined,
      pictureOf: pictureNotes.ofDelivery,
      notePictureFetched: pictures.noteFetched,
      version: readVersion(),
      configurationHash: hashOf(config),
      store,
      operations,
      hookUrl: () => new Secret(`${publicUrl}/hooks/${hookSecrets.ofHook()[0].reveal()}`),
      sourceHooks: () =>
        hookSecrets.ofSources().map(([name, secret]) => ({
          name,
          url: new Secret(`${publicUrl}/hooks/${secret.reveal()}`),
        })),
      adminToken: secrets.adminToken,
      publicUrl,
      trustedProxies: config.server.trustedProxies,
      behindFly: config.server.isBehindFly,
      clock,
      newId,
      log,
    });
    if (stopping.signal.aborted) opened.close();
    return opened;
  }
  server.serve({
    isReady: async () => (await operations.readiness()).ready,
    async open() {
      web = openWeb();
      try {
        return (await web).fetch;
      } catch (error) {
        web = undefined;
        throw error;
      }
    },
    onFault: (error) => log.error("web.not_loaded", { error: String(error) }),
  });
  log.info("relay.started", { localUrl, publicUrl, destinations: rules.destinations.length });

  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    log.info("relay.stopping");
    stopping.abort();
    void web?.then(
      ({ close }) => close(),
      () => {},
    );
    try {
      await Promise.all([server.windDown(), stopDeliveries()]);
    } finally {
      // Last, so that no alert is refused while there is somebody to store it.
      await server.close();
      await store.close();
    }
    log.info("relay.stopped");
  }
  async function stopDeliveries(): Promise<void> {
    await Promise.all(background);
    await engine.stop(delivery.shutdownMs);
    await pictureNotes.save();
    claimJournal?.close();
    await Promise.all(outlets.map(({ channel }) => channel.close()));
    await reader.close();
    await pictures.close();
    journal.close();
  }
  return {
    localUrl,
    publicUrl,
    operations,
    store,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** Secrets write themselves as `***`; where it runs, and on which port, is no matter of what it does. */
function hashOf({
  server: _server,
  dataDir: _dataDir,
  databaseUrl: _database,
  databaseListenUrl: _listen,
  configFile: _file,
  warnings: _warnings,
  ...config
}: Config): string {
  return createHash("sha256").update(JSON.stringify(config)).digest("hex");
}
