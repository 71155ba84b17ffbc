import { hostname } from "node:os";
import type { Config, SpoolSettings } from "../config/config.ts";
import { followSecrets, type HookSecrets, type SecretName, type ServerSecrets } from "../config/generated-secrets.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { createIdSource } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { StoreHealth } from "../core/ports/administration.ts";
import type { Inbox } from "../core/ports/inbox.ts";
import type { KeptRecords } from "../core/ports/kept-records.ts";
import type { Secret } from "../core/secret.ts";
import { localHost } from "../ground/net/local-host.ts";
import { errorText } from "../ground/text/error-text.ts";
import { type Listener, type ListenOptions, listen } from "../http/listen.ts";
import { Door, type DoorDeps, type DoorOptions } from "../intake/door/door.ts";
import { findUnusedLog, type OpenedStore, openStore } from "../store/open-store.ts";
import type { SpoolOptions } from "../store/spool/spool.ts";
import { securityHeaders } from "../web/security-headers.ts";
import { type AwayLog, awaitStore, createAwayLog } from "./away-store.ts";

export interface AcceptingOptions {
  config: Config;
  /** Or a function that reads them from the database. It is called again until the database is there. */
  secrets: ServerSecrets | (() => Promise<ServerSecrets>);
  /** `hide`: later lines must not contain these texts. */
  log: Log & { hide?(secrets: readonly string[]): void };
  listenFd?: number;
  /** The listener of the former relay of this process, which holds new connections. Default: a new one is opened. */
  listener?: Listener;
  /** Default: the machine's clock, adjusted to the store's. */
  clock?: Clock;
  /** Ends the wait at the start for a database that is away: the start rejects with `cancelled`. Default: no end. */
  stop?: AbortSignal;
  /** The relay cannot continue (its database thread has ended), and must be stopped and started anew. */
  onFailed?: (error: Error) => void;
  storeThreadEntry?: URL;
}

export type Accepting = Awaited<ReturnType<typeof startAccepting>>;

/**
 * First the spool and the door, which need no store. Then the store and its secrets. Last the socket, or at once when
 * the store has to be waited for.
 * @param undo gets a function that ends each part, as soon as the part exists
 * @throws AppError: the error of a part that cannot be opened, or `cancelled`
 */
export async function startAccepting(options: AcceptingOptions, undo: (() => unknown)[]) {
  const { config, listenFd, storeThreadEntry: threadEntry } = options;
  let store: OpenedStore | undefined;
  let inbox: Inbox | undefined;
  const clock = options.clock ?? { ...systemClock, now: () => store?.now?.() ?? systemClock.now() };
  const awayLog = createAwayLog({
    log: options.log,
    clock,
    refused: () => door.counters.notStored,
    spooled: () => spool?.view().alerts,
  });
  undo.push(awayLog.close);
  const { log } = awayLog;
  warnOfUnusedLog(config, log);
  const newId = createIdSource(clock.now);
  const relayId = newId();
  const notYet = () => {
    const reason = new AppError("store_unavailable", "The database was not reached yet.");
    awayLog.noteAway(reason);
    return Promise.reject(reason);
  };
  const lateInbox: Inbox = { acceptRequest: (request) => inbox?.acceptRequest(request) ?? notYet() };
  const onRefused = awayLog.noteAway;
  const spool =
    config.spool && (await openSpoolOf(config.spool, { inbox: lateInbox, clock, log, onRefused, threadEntry }));
  if (spool) undo.push(spool.close);
  const proxies = { trustedProxies: config.server.trustedProxies, behindFly: config.server.isBehindFly };
  const recordRefused: DoorDeps["refused"]["recordRefused"] = (...refused) =>
    store?.recordRefused(...refused) ?? notYet();
  const door = openDoor(
    config,
    { store: spool ?? lateInbox, refused: { recordRefused }, now: clock.now, newId, log },
    { relayId, proxies, knowsAllSecrets: () => store !== undefined },
  );
  const headers = securityHeaders(config.server.publicUrl?.startsWith("https:") ?? false);
  const startListening = prepareListening(options, { door, clock, headers }, undo);
  const opened = await awaitStore({
    async open() {
      const secrets = typeof options.secrets === "function" ? await options.secrets() : options.secrets;
      return { secrets, ...(await openRelayStore(options, relayId, awayLog)) };
    },
    listen: startListening,
    spool: spool?.view,
    stop: options.stop ?? new AbortController().signal,
    clock,
    log,
  });
  const { secrets } = opened;
  undo.push(() => opened.store.close());
  const hookSecrets = openHookSecrets(config, secrets, {
    door,
    kept: opened.store.kept,
    hide: options.log.hide,
    clock,
    log,
  });
  store = opened.store;
  inbox = store;
  const server = await startListening();
  const { address, port } = server.address();
  const localUrl = `http://${localHost(listenFd === undefined ? config.server.host : address)}:${port}`;
  if (listenFd !== undefined && config.server.port !== 0 && port !== config.server.port) {
    const message = `is ${config.server.port}, and the socket that was handed over listens on ${port}: commands look at the wrong one`;
    log.warn("config.warning", { where: "PORT", message, instead: `set PORT=${port}` });
  }
  return {
    /** The id under which other relays on the store know this process. */
    relayId,
    clock,
    newId,
    log,
    awayLog,
    secrets,
    hookSecrets,
    proxies,
    store,
    /** The health of the store when it was opened. Absent: it was not read. */
    health: opened.health,
    /** Absent: requests are refused while the store is away. */
    spool,
    door,
    server,
    acceptThrough(one: Inbox): void {
      inbox = one;
    },
    port,
    localUrl,
    /** The address for the outside, or the local address when none is configured. */
    publicUrl: config.server.publicUrl ?? localUrl,
  };
}

/** Listens at the first call, or takes over from the former relay. */
function prepareListening(
  { config, listenFd, listener: former }: AcceptingOptions,
  parts: Pick<ListenOptions, "door" | "clock" | "headers">,
  undo: (() => unknown)[],
): () => Promise<Listener> {
  let listening: Promise<Listener> | undefined;
  async function open(): Promise<Listener> {
    const { host, port } = config.server;
    const listener = await listen({ ...parts, host, port, fd: listenFd });
    undo.push(() => listener.close());
    return listener;
  }
  async function takeOver(listener: Listener): Promise<Listener> {
    undo.push(() => listener.hold());
    listener.take(parts.door);
    return listener;
  }
  return () => {
    listening ??= former === undefined ? open() : takeOver(former);
    return listening;
  };
}

/** Until the store is open, an unknown secret is not counted as a wrong one. */
function openDoor(
  { intake, webhookSecret, sources }: Config,
  deps: DoorDeps,
  options: Pick<DoorOptions, "relayId" | "proxies" | "knowsAllSecrets">,
): Door {
  return new Door(deps, {
    ...intake,
    ...options,
    secret: webhookSecret,
    sources: sources.map(({ secret, formerSecrets, ...source }) => ({
      ...source,
      secrets: secret === undefined ? [] : [secret, ...formerSecrets],
    })),
  });
}

function warnOfUnusedLog(config: Config, log: Log): void {
  const unusedLog = findUnusedLog(config);
  if (unusedLog === undefined) return;
  log.warn("config.warning", {
    where: "DATABASE_URL",
    message: `is set, so what waits in the SQLite log of ${unusedLog} is neither shown nor sent`,
    instead: "stop this relay, and move it: tocsin move --to",
  });
}

/** Loaded here: most relays have no spool. */
async function openSpoolOf(settings: SpoolSettings, deps: Omit<SpoolOptions, "dir" | "maxBytes">) {
  const { Spool } = await import("../store/spool/spool.ts");
  return Spool.open({ ...settings, ...deps });
}

async function openRelayStore(
  { config, storeThreadEntry, onFailed }: AcceptingOptions,
  relayId: string,
  { log, noteAway, noteStored }: AwayLog,
): Promise<{ store: OpenedStore; health?: StoreHealth }> {
  const { databaseUrl, databaseListenUrl, dataDir, server, sources } = config;
  const isMade = config.webhookSecret === undefined || sources.some(({ secret }) => secret === undefined);
  const store = await openStore({
    ...(databaseUrl === undefined ? { dataDir } : { databaseUrl, databaseListenUrl, dataDir }),
    relayName: `${hostname()}:${server.port}`,
    relayId,
    watchesSecrets: isMade,
    threadEntry: storeThreadEntry,
    onStopped(error) {
      log.error("store.stopped", { error: error.message });
      onFailed?.(error);
    },
    onListenerFailed: (topic, error) => log.error("signal.listener_failed", { topic, error: errorText(error) }),
    onClockCorrected: (aheadMs) => log.warn("clock.corrected", { aheadMs }),
    onHearing: (hearing) =>
      hearing.by === "polls"
        ? log.warn("signals.polls_alone", { why: hearing.why })
        : log.info("signals.heard", hearing),
    onAway: noteAway,
    onStored: noteStored,
  });
  if (databaseUrl === undefined) return { store };
  try {
    // The store opens further connections than the first one, and the server may have too few.
    return { store, health: await store.health() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface HookSecretsDeps {
  door: Pick<Door, "addSecret" | "setSecretsOf">;
  /** The place of the secrets that the configuration does not give. */
  kept: KeptRecords;
  /** Hears of secrets that the log must not contain. Default: nobody hears of them. */
  hide?(secrets: readonly string[]): void;
  clock: Clock;
  log: Log;
}

const ofAccount = "webhook-secret";

/** Gives the door the known secrets at the start, and new ones while the poll runs. */
function openHookSecrets(
  { webhookSecret: given, sources }: Pick<Config, "webhookSecret" | "sources">,
  known: ServerSecrets,
  { door, kept, hide = () => {}, clock, log }: HookSecretsDeps,
) {
  const taken = new Map<SecretName, HookSecrets>();

  function take(name: SecretName, secrets: HookSecrets): void {
    const known = taken.get(name) ?? [];
    const without = (some: readonly Secret[], others: readonly Secret[]) =>
      some.filter((one) => !others.some((other) => other.reveal() === one.reveal()));
    if (taken.has(name)) hide(without(secrets, known).map((secret) => secret.reveal()));
    if (name !== ofAccount) {
      taken.set(name, secrets);
      door.setSecretsOf(name.slice("source-".length), secrets);
      return;
    }
    // The service may still send to a replaced secret, so it is accepted until a restart.
    taken.set(name, [...secrets, ...without(known, secrets)]);
    for (const secret of secrets) door.addSecret(secret);
  }

  take(ofAccount, [known.webhookSecret, ...known.previousWebhookSecrets]);
  for (const [source, secrets] of known.sourceSecrets) take(`source-${source}`, secrets);
  const isGiven = (name: SecretName) =>
    name === ofAccount
      ? given !== undefined
      : sources.some((source) => source.secret !== undefined && name === `source-${source.name}`);
  const made = new Map([...taken].filter(([name]) => !isGiven(name)));

  return {
    /** The secrets of a source's hook, or of the account's, the current one first. None for an unknown name. */
    of: (source?: string): readonly Secret[] => taken.get(source === undefined ? ofAccount : `source-${source}`) ?? [],
    /** Finds secrets that another process has made since. Absent: the configuration gives all. */
    poll: made.size === 0 ? undefined : followSecrets(kept, made, take, { clock, log }),
  };
}
