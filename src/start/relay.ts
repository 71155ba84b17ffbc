import { setMaxListeners } from "node:events";
import { FileInForce } from "../config/file-in-force.ts";
import type { Operations } from "../contract/operations.ts";
import { within } from "../core/clock.ts";
import { createRequestNetwork } from "../ground/net/client-address.ts";
import { admitToken, createTokenCheck, type TokenCheck } from "../web/access/token-check.ts";
import type { Web } from "../web/web.ts";
import { type Accepting, type AcceptingOptions, startAccepting } from "./accepting.ts";

export interface RelayOptions extends AcceptingOptions {
  /** See `BodyReaderOptions`. */
  readingThreadEntry?: URL;
  /**
   * The view of the configuration against the file on disk. Default: the file is looked at, and what has changed is not taken
   * over.
   */
  configuration?: FileInForce["view"];
  /**
   * The program that shows messages runs on this machine, and may fetch their pictures without https. For the demo alone, so no
   * configuration has it. Default false.
   */
  picturesOnThisMachine?: boolean;
  /** When the first relay of this process began. Epoch milliseconds. Default: this is the first. */
  runsSince?: number;
}

/** What hangs must not keep the next relay from sending to all others. */
const handOverMs = 1_000;
/** A database that may be away is asked for the other relays. */
const longestLookForOthersMs = 1_000;

export type HandedOver = Required<Pick<RelayOptions, "listener" | "runsSince">>;

export type Relay = Awaited<ReturnType<typeof startRelay>>;

/** The composition root: builds every room, hands each what it needs, and says what listens to what. */
export async function startRelay(options: RelayOptions) {
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

async function startParts(options: RelayOptions, undo: (() => unknown)[]) {
  const { config, configuration = new FileInForce(config).view } = options;
  const draining = new AbortController();
  const stopping = new AbortController();
  // Every duty of the relay listens to it, and each batch that is being read.
  setMaxListeners(0, stopping.signal, draining.signal);

  const accepting = await startAccepting(options, undo);
  const { secrets, store, server, localUrl, publicUrl, log } = accepting;
  const { runsSince = accepting.clock.now() } = options;
  // Alerts are accepted from here on, so nothing above does more than that takes. What alerts need next is loaded first, what
  // people look at last.
  const { startRelaying } = await import("./relaying.ts");
  const relaying = await startRelaying({ ...options, configuration }, accepting, stopping, undo);

  const { openOperations } = await import("./open-operations.ts");
  const operations = openOperations(config, {
    accepting,
    relaying,
    configuration,
    runsSince,
    socketIsHeld: options.listenFd !== undefined,
    stopping: stopping.signal,
    draining: draining.signal,
  });
  relaying.follow(operations);
  let web: Web | undefined;
  serve(accepting, operations, async (tokenCheck) => {
    const { openWeb } = await import("./open-web.ts");
    web = await openWeb(config, { accepting, relaying, operations, tokenCheck });
    if (stopping.signal.aborted) web.close();
    return web.fetch;
  });
  log.info("relay.started", { localUrl, publicUrl, destinations: config.rules.destinations.length });

  /** @param isFollowed by another relay of this process, which takes the listener */
  async function stop(isFollowed: boolean): Promise<void> {
    draining.abort();
    if (!isFollowed) await drain(config.server.drainMs, accepting);
    log.info("relay.stopping");
    stopping.abort();
    web?.close();
    const { shutdownMs } = config.delivery;
    try {
      await Promise.all([
        isFollowed ? undefined : server.windDown(),
        relaying.stop(isFollowed ? Math.min(handOverMs, shutdownMs) : shutdownMs),
      ]);
    } finally {
      // Last, so that no alert is refused while there is somebody to store it.
      await (isFollowed ? server.hold() : server.close());
      await accepting.spool?.close();
      await store.close();
      accepting.awayLog.close();
    }
    log.info("relay.stopped");
  }
  let stopped: Promise<void> | undefined;
  return {
    localUrl,
    publicUrl,
    operations,
    store,
    secrets,
    /**
     * Not ready, and else as before for `drainMs` while other relays run → nothing more is changed over pages and API, event
     * streams end → no new claims; calls in flight until the deadline, the rest aborted and recorded → no new connections,
     * alerts under way are answered → checkpoint → closed. Until the connections are closed, alerts are accepted and stored
     * for the next start. A second call waits for the first.
     */
    stop: (): Promise<void> => {
      stopped ??= stop(false);
      return stopped;
    },
    /**
     * The same for another relay of this process that follows at once, with what that one gets: the listener holds what comes until
     * then. Calls under way have `handOverMs` to end.
     */
    async handOver(): Promise<HandedOver> {
      stopped ??= stop(true);
      await stopped;
      return { listener: server, runsSince };
    },
  };
}

/** From now on the socket answers probes, metrics and pages; pages are opened by the first request for one. */
function serve(
  { server, secrets, store, proxies, clock, log }: Accepting,
  operations: Operations,
  open: (tokenCheck: TokenCheck) => Promise<Web["fetch"]>,
): void {
  const tokenCheck = createTokenCheck({ adminToken: secrets.adminToken, store, clock });
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
    open: () => open(tokenCheck),
    spool: operations.spool,
    onFault: (error) => log.error("web.not_loaded", { error: String(error) }),
  });
}

/** While no other relay runs there is nobody to whom a balancer could send instead. */
async function drain(drainMs: number, { store, server, clock, log }: Accepting): Promise<void> {
  if (drainMs === 0 || !store.capabilities.sharedByRelays) return;
  const asked = store.listRelays().catch(() => undefined);
  const running = await within(asked, longestLookForOthersMs, clock);
  if (running !== undefined && running.length <= 1) return;
  log.info("relay.draining", { ms: drainMs });
  server.drain();
  await clock.sleep(drainMs);
}
