import { setMaxListeners } from "node:events";
import { FileInForce } from "../config/file-in-force.ts";
import type { Operations } from "../contract/operations.ts";
import { within } from "../core/clock.ts";
import { createRequestNetwork } from "../ground/net/client-address.ts";
import { admitToken, createTokenCheck, type TokenCheck } from "../web/access/token-check.ts";
import type { Web } from "../web/web.ts";
import { type Accepting, type AcceptingOptions, startAccepting } from "./accepting.ts";

export interface RelayOptions extends AcceptingOptions {
  readingThreadEntry?: URL;
  /** The configuration against the file on disk. Default: the file is compared, and changes are not taken over. */
  configuration?: FileInForce["view"];
  /** Lets apps on this machine fetch pictures without https. Only for the demo. Default false. */
  picturesOnThisMachine?: boolean;
  /** When the first relay of this process began, epoch milliseconds. Default: this relay is the first. */
  runsSince?: number;
}

/** A hanging call must not keep the next relay from sending to all others. */
const handOverMs = 1_000;
/** The time limit of the question for other relays: the database may be away. */
const longestLookForOthersMs = 1_000;

export type HandedOver = Required<Pick<RelayOptions, "listener" | "runsSince">>;

export type Relay = Awaited<ReturnType<typeof startRelay>>;

/** Builds every room, gives each its dependencies, and connects signals to listeners. */
export async function startRelay(options: RelayOptions) {
  /** Functions that end the started parts, if another does not start: they would keep the process alive. */
  const undo: (() => unknown)[] = [];
  try {
    return await startParts(options, undo);
  } catch (error) {
    // The reason of the failed start counts, not a failure to end other parts.
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
  // Every duty of the relay listens to the signal, and so does each batch that is being read.
  setMaxListeners(0, stopping.signal, draining.signal);

  const accepting = await startAccepting(options, undo);
  const { secrets, store, server, localUrl, publicUrl, log } = accepting;
  const { runsSince = accepting.clock.now() } = options;
  // Alerts are accepted from here on, so nothing above does more than accepting needs. Pages are loaded last.
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

  /** @param isFollowed another relay of this process follows and takes the listener */
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
      // Comes last, so no alert is refused while it can be stored.
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
     * Stops in this order: while other relays run, not ready and otherwise unchanged for `drainMs` → pages and API
     * change nothing more, and event streams end → no new claims, calls in flight run until the deadline, the rest is
     * aborted and recorded → no new connections, alerts under way are answered → checkpoint → closed. Until connections
     * are closed, alerts are accepted and stored for the next start. A second call waits for the first.
     */
    stop: (): Promise<void> => {
      stopped ??= stop(false);
      return stopped;
    },
    /** Stops for the next relay of this process. It gets the listener, which holds new connections until then. */
    async handOver(): Promise<HandedOver> {
      stopped ??= stop(true);
      await stopped;
      return { listener: server, runsSince };
    },
  };
}

/** From now on the socket answers probes, metrics and pages. The first request for a page opens the pages. */
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

/** While no other relay runs, a balancer has no other place to send to. */
async function drain(drainMs: number, { store, server, clock, log }: Accepting): Promise<void> {
  if (drainMs === 0 || !store.capabilities.sharedByRelays) return;
  const asked = store.listRelays().catch(() => undefined);
  const running = await within(asked, longestLookForOthersMs, clock);
  if (running !== undefined && running.length <= 1) return;
  log.info("relay.draining", { ms: drainMs });
  server.drain();
  await clock.sleep(drainMs);
}
