import type { SpoolView } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Listener } from "../http/listen.ts";

export interface AwaitStoreOptions<T> {
  /** Opens what lies in the database. */
  open(): Promise<T>;
  /** Called once, when it cannot be opened and may be later: from then on the hook is answered. */
  listen(): Promise<Listener>;
  /** Alerts that wait meanwhile. Undefined: alerts are answered 503. */
  spool?: () => SpoolView;
  /** Ends the wait. */
  stop: AbortSignal;
  clock: Clock;
  log: Log;
}

const shortestPauseMs = 500;
const longestPauseMs = 5_000;

/**
 * Opens the store, and waits for it as long as it takes where waiting may help (its error has a `retryAfterMs`): the database is
 * started later, or fails over just now. Meanwhile the hook answers, probes say that the relay lives and is not ready, and
 * everything else says why. A mistake in address, user or settings ends the start at once; one that shows only after a wait
 * is logged and waited for as well, since by then senders are answered.
 *
 * @throws what `open` throws; AppError `cancelled` when it was stopped.
 */
export async function awaitStore<T>(options: AwaitStoreOptions<T>): Promise<T> {
  const { open, listen, spool, stop, clock, log } = options;
  let last: AppError;
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "store_unavailable" || error.retryAfterMs === undefined)
      throw error;
    last = error;
  }
  if (stop.aborted) throw stopped();
  const startedAt = clock.now();
  const listener = await listen();
  listener.serve({
    async readiness(of) {
      const view = spool?.();
      return { ready: of === "alerts" && view !== undefined && view.problem === undefined, spooled: view?.alerts };
    },
    open: () => Promise.reject(last),
    spool,
    onFault() {},
  });
  const { address, port } = listener.address();
  // Senders are refused meanwhile, and a command that runs a relay prints errors alone.
  log.error("store.awaited", { error: last.message, hint: last.hint, address, port });
  for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    await clock.sleep(pauseMs, stop);
    if (stop.aborted) throw stopped();
    try {
      const opened = await open();
      log.info("store.reached", { afterMs: Math.round(clock.now() - startedAt) });
      return opened;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "store_unavailable") throw error;
      const isMistake = error.retryAfterMs === undefined && error.message !== last.message;
      if (isMistake) log.error("store.refused", { error: error.message, hint: error.hint });
      last = error;
    }
  }
}

const stopped = () => new AppError("cancelled", "Tocsin was stopped while it waited for its database.");
