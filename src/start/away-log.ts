import type { Clock } from "../core/clock.ts";
import type { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

export interface AwayLogDeps {
  log: Log;
  clock: Clock;
  /** Requests that senders were refused so far. */
  refused(): number;
  /** Alerts that wait in the spool. Undefined: there is none. */
  spooled(): number | undefined;
}

export type AwayLog = ReturnType<typeof createAwayLog>;

interface Away {
  since: number;
  reasons: Set<string>;
  /** Since when all goes well again. */
  storedSince?: number;
  summedUpAt: number;
  refusedBefore: number;
  /** What was left out, by event. */
  leftOut: Record<string, number>;
  /** What senders were refused for it, by the source; `hook` is the account's. */
  refusedOf: Record<string, number>;
}

const lookEveryMs = 1_000;
const sumUpEveryMs = 30_000;
/** Some of what is asked may succeed while the rest does not, as with a disk that is full. */
const settlesMs = 5_000;
const settlesAgainMs = 30_000;
const mostReasons = 50;

/**
 * While the database is away everybody who asks it fails, each second or with each alert: a hundred lines a minute that say the
 * same, on a disk that may be small. One line is logged when it begins (`store.away`), one each 30 seconds with how much was left
 * out and refused so far (`store.still_away`), and one when it is over (`store.back`). A line whose `error` names another reason
 * stays.
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

  /** Counted over all the time that it has been away. */
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
    /** For all of the relay. Lines that only repeat that the store is away, and why, remain at `debug` alone. */
    log: { debug: log.debug, info: pass("info"), warn: pass("warn"), error: pass("error") },
    /** The store is away for this reason. */
    noteAway({ message, hint }: AppError): void {
      if (isClosed) return;
      if (away === undefined) {
        const since = clock.now();
        away = { since, reasons: new Set(), summedUpAt: since, refusedBefore: refused(), leftOut: {}, refusedOf: {} };
        log.error("store.away", { error: message, hint });
        void watch();
      }
      away.storedSince = undefined;
      // The newest last.
      away.reasons.delete(message);
      if (away.reasons.size < mostReasons) away.reasons.add(message);
    },
    /** It has stored something. */
    noteStored(): void {
      if (away !== undefined) away.storedSince ??= clock.now();
    },
    /** Says what was not said yet; later entries are logged as they come. */
    close(): void {
      isClosed = true;
      if (away !== undefined) log.error("store.still_away", sumUp(away));
      away = undefined;
    },
  };
}

/** Others cut what they log, and put the kind of an error before it. */
function repeats({ reasons }: Away, error: unknown): boolean {
  return typeof error === "string" && [...reasons].some((reason) => error.includes(reason.slice(0, 250)));
}
