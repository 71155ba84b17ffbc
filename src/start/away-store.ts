import type { SpoolView } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Listener } from "../http/listen.ts";

export interface AwayLogDeps {
  log: Log;
  clock: Clock;
  refused(): number;
  /** Alerts that wait in the spool. Undefined: no spool is configured. */
  spooled(): number | undefined;
}

export type AwayLog = ReturnType<typeof createAwayLog>;

interface Away {
  since: number;
  reasons: Set<string>;
  /** Since when the store accepts changes again. */
  storedSince?: number;
  summedUpAt: number;
  refusedBefore: number;
  leftOut: Record<string, number>;
  /** Refused requests by their source. `hook` is the account's. */
  refusedOf: Record<string, number>;
}

const lookEveryMs = 1_000;
const sumUpEveryMs = 30_000;
/** Single changes may succeed while others fail, as on a full disk. */
const settlesMs = 5_000;
const settlesAgainMs = 30_000;
const mostReasons = 50;

/**
 * Each question to a database that is away fails: a hundred equal lines a minute. One line is logged at the beginning
 * (`store.away`), one each 30 seconds with numbers (`store.still_away`), and one at the end (`store.back`). A line
 * whose `error` has another reason is kept.
 */
export function createAwayLog({ log, clock, refused, spooled }: AwayLogDeps) {
  let away: Away | undefined;
  let backAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  const pass = (level: "info" | "warn" | "error") => (event: string, fields?: Record<string, unknown>) => {
    if (away === undefined || !repeats(away, fields?.error)) {
      log[level](event, fields);
      return;
    }
    log.debug(event, fields);
    away.leftOut[event] = (away.leftOut[event] ?? 0) + 1;
    if (event !== "alert.not_stored") return;
    const source = typeof fields?.source === "string" ? fields.source : "hook";
    away.refusedOf[source] = (away.refusedOf[source] ?? 0) + 1;
  };

  function sumUp({ since, refusedBefore, refusedOf, leftOut }: Away, until = clock.now()): Record<string, unknown> {
    const awayMs = Math.round(until - since);
    const count = refused() - refusedBefore;
    return { awayMs, refused: count, ...(count > 0 && { refusedOf }), spooled: spooled(), leftOut };
  }

  function look(one: Away): void {
    const now = clock.now();
    const settles = one.since - backAt < settlesAgainMs * 2 ? settlesAgainMs : settlesMs;
    if (one.storedSince !== undefined && now - one.storedSince >= settles) {
      log.info("store.back", sumUp(one, one.storedSince));
      backAt = now;
      away = undefined;
    } else if (now - one.summedUpAt >= sumUpEveryMs) {
      const error = [...one.reasons].at(-1);
      one.summedUpAt = now;
      log.error("store.still_away", { error, ...sumUp(one) });
    }
  }

  async function watch(): Promise<void> {
    while (away !== undefined && !isClosed) {
      await clock.sleep(lookEveryMs);
      if (away !== undefined && !isClosed) look(away);
    }
  }

  return {
    /** The log of the whole relay. A line that only repeats the known reason is logged as `debug`. */
    log: { debug: log.debug, info: pass("info"), warn: pass("warn"), error: pass("error") },
    noteAway({ message, hint }: AppError): void {
      if (isClosed) return;
      if (away === undefined) {
        const since = clock.now();
        away = { since, reasons: new Set(), summedUpAt: since, refusedBefore: refused(), leftOut: {}, refusedOf: {} };
        log.error("store.away", { error: message, hint });
        void watch();
      }
      away.storedSince = undefined;
      // Keeps the newest reason last.
      away.reasons.delete(message);
      if (away.reasons.size < mostReasons) away.reasons.add(message);
    },
    noteStored(): void {
      if (away !== undefined) away.storedSince ??= clock.now();
    },
    /** Logs the open summary. Later lines are logged as they come. */
    close(): void {
      isClosed = true;
      if (away !== undefined) log.error("store.still_away", sumUp(away));
      away = undefined;
    },
  };
}

/** Other parts shorten the reason, and put the kind of the error in front of it. */
function repeats({ reasons }: Away, error: unknown): boolean {
  return typeof error === "string" && [...reasons].some((reason) => error.includes(reason.slice(0, 250)));
}

export interface AwaitStoreOptions<T> {
  open(): Promise<T>;
  /** Called once, when the store cannot be opened now and may be later: from then on the hook is answered. */
  listen(): Promise<Listener>;
  /** The alerts that wait meanwhile. Undefined: alerts are answered 503. */
  spool?: () => SpoolView;
  stop: AbortSignal;
  clock: Clock;
  log: Log;
}

const shortestPauseMs = 500;
const longestPauseMs = 5_000;

/**
 * Opens the store, and waits where waiting may help (the error has a `retryAfterMs`). Meanwhile the hook answers, and
 * probes show a relay that is not ready. A mistake in address, user or settings ends the start at once. After a wait it
 * is only logged, since senders are then being answered.
 * @throws the error of `open`. AppError `cancelled` when it was stopped.
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
  // An error, since senders are refused meanwhile, and a command that runs a relay prints only errors.
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
