import type { AlertQuery, FailedCount, FailedQuery, Position } from "../../../core/ports/alert-log.ts";
import { shownColumns } from "../../list-filters.ts";
import type { FailedRow, ShownRow } from "../../log-entries.ts";
import { fromPosition } from "../../positions.ts";
import { type Searched, wordsOfQuery } from "../../search-words.ts";
import type { Add, Dialect } from "../../tx.ts";
import { toSearchExpression } from "../search-expression.ts";
import type { TransactionContext } from "./context.ts";
import { toFailedCountStatement, toFailedStatement } from "./failed-statement.ts";
import {
  alertPosition,
  type Bounds,
  type Driver,
  firstSince,
  isOfOneIndex,
  lastUntil,
  mostCounted,
  type PartSearch,
  type Statement,
  sinceId,
  toCountStatements,
  toListStatement,
  toSearchCount,
  untilId,
} from "./list-statement.ts";
import { createSearchParts } from "./search-parts.ts";
import { createStatementCache } from "./statement-cache.ts";

export interface Listed {
  rows: ShownRow[];
  /** The time was over here: what is below this `seq` was not looked at. */
  stoppedBelow?: number;
  /** Positions that were looked at. */
  looked: number;
}

/** Alerts of the first window that is looked at; those after it are wider or narrower, as long as that took. */
const firstWidth = 4_096;
const leastWidth = 512;
/** Where bodies are looked at: each may be a mebibyte. */
const firstBodies = 32;
const shortMs = 4;
const longMs = 16;

/**
 * Finds a page of the log, however the filters are combined. One filter is one index, which has the page in its order.
 * Of several, each may let half of the log through and together they let nothing: so the log is looked at in windows,
 * newest first, each along whatever narrows it most, until the page is full or the time is over. A search goes from
 * part to part of its index for the same reason.
 *
 * @param nowMs milliseconds that only go forward.
 */
export function createListing(
  { db }: Pick<TransactionContext, "db">,
  sql: Dialect,
  nowMs: () => number = () => performance.now(),
) {
  const parts = createSearchParts({ db });
  const prepare = createStatementCache(db, 256);
  const newest = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();
  const first = db.prepare<[string], number>(firstSince()).pluck();
  const last = db.prepare<[string], number>(lastUntil).pluck();

  const runAll = <T>({ sql: text, values }: Statement): T[] => prepare(text).all(values) as T[];

  /**
   * A word that no alert of the newest parts has is taken for the beginning of one, which finds the word itself as
   * well. Undefined: nothing is searched for.
   */
  function toMatch(query: Searched): string | undefined {
    const wanted = wordsOfQuery(query);
    return wanted === undefined ? undefined : toSearchExpression(wanted, parts.wordsOf(wanted));
  }

  function boundsOf({ before, fromAt, toAt }: Pick<AlertQuery, "before" | "fromAt" | "toAt">): Bounds {
    const ends = [(newest.get() ?? 0) + 1];
    if (before !== undefined) ends.push(fromPosition(before)[0] as number);
    if (toAt !== undefined) ends.push((last.get(untilId(toAt)) ?? 0) + 1);
    return { from: fromAt === undefined ? 1 : (first.get(sinceId(fromAt)) ?? 1), below: Math.min(...ends) };
  }

  function countIn({ sql: text, values }: Statement): number {
    const row = prepare(text).get(values) as Record<string, number> | undefined;
    return Object.values(row ?? {})[0] ?? 0;
  }

  /**
   * The narrowest driver of a window, and how many rows of it that is, up to `mostCounted`. No row of one of them is
   * enough to know that nothing is in the window. The search is counted when nothing else is narrow, since counting
   * what begins with a word takes as long as finding it.
   */
  function narrowest(counts: [Driver, Statement][], search: PartSearch | undefined, window: Bounds): [Driver, number] {
    let best: [Driver, number] = [counts[0]?.[0] ?? "log", mostCounted];
    for (const [driver, statement] of counts) {
      const count = countIn(statement);
      if (count < best[1]) best = [driver, count];
      if (count === 0) return best;
    }
    if (search === undefined || best[1] < mostCounted) return best;
    return ["search", counts.length === 0 ? 1 : countIn(toSearchCount(search, window))];
  }

  /** A window that ends below `below`, narrow enough that looking at all of it is a short step. */
  function nextStep(query: AlertQuery, search: PartSearch | undefined, { from, below }: Bounds) {
    for (let start = from; ; ) {
      const window = { from: start, below };
      const counts = toCountStatements(sql, query, window);
      const only = counts[0]?.[0] ?? "log";
      if (counts.length < 2 && search === undefined && only !== "problems") return { window, driver: only };
      const [driver, rows] = narrowest(counts, search, window);
      if (rows === 0) return { window };
      if (rows < mostCounted || below - start <= firstWidth) return { window, driver };
      start = below - Math.max(firstWidth, Math.floor((below - start) / 8));
    }
  }

  /** Ends after `mostMs` and one window more. */
  function list(query: AlertQuery, mostMs: number): Listed {
    return walk<ShownRow>(query, mostMs, (add) => shownColumns(sql, query, add));
  }

  /** The rows of a query, or some columns of them, window by window. */
  function walk<Row>(
    query: AlertQuery,
    mostMs: number,
    columns: string | ((add: Add) => string),
  ): Omit<Listed, "rows"> & { rows: Row[] } {
    const endsAt = nowMs() + mostMs;
    const match = toMatch(query);
    const bounds = boundsOf(query);
    const partsLeft = match === undefined ? [] : parts.list();
    const narrow = query.raw === undefined ? leastWidth : firstBodies;
    let width = isOfOneIndex(query) ? Number.POSITIVE_INFINITY : query.raw === undefined ? firstWidth : firstBodies;
    const rows: Row[] = [];
    for (let { below } = bounds; below > bounds.from; ) {
      const beganAt = nowMs();
      while ((partsLeft[0]?.firstSeq ?? 0) >= below) partsLeft.shift();
      const part = partsLeft[0];
      const search = match === undefined || part === undefined ? undefined : { table: part.name, match };
      const from = Math.max(bounds.from, part?.firstSeq ?? 1, below - width);
      const { window, driver } = nextStep(query, search, { from, below });
      if (driver !== undefined) {
        const left = { ...query, limit: query.limit - rows.length };
        rows.push(...runAll<Row>(toListStatement(sql, left, search, driver, window, columns)));
        if (rows.length >= query.limit) break;
      }
      below = window.from;
      const endedAt = nowMs();
      if (below > bounds.from && endedAt > endsAt) return { rows, stoppedBelow: below, looked: bounds.below - below };
      if (endedAt - beganAt < shortMs) width *= 4;
      if (endedAt - beganAt > longMs) width = Math.max(narrow, Math.floor(width / 4));
    }
    return { rows, looked: bounds.below - bounds.from };
  }

  /** The searches of all parts that hold alerts of these bounds, newest first; without a search the one of everything. */
  function* searchesIn(query: Searched, bounds: Bounds): Generator<[PartSearch | undefined, Bounds]> {
    const match = toMatch(query);
    if (match === undefined) {
      yield [undefined, bounds];
      return;
    }
    let { below } = bounds;
    for (const { firstSeq, name } of parts.list()) {
      if (firstSeq >= below) continue;
      if (below <= bounds.from) return;
      const from = Math.max(bounds.from, firstSeq);
      yield [
        { table: name, match },
        { from, below },
      ];
      below = from;
    }
  }

  return {
    list,

    countMatches(query: AlertQuery, mostMs: number): { count: number; isMore: boolean } {
      const { rows, stoppedBelow } = walk<unknown>(query, mostMs, alertPosition);
      return { count: rows.length, isMore: rows.length >= query.limit || stoppedBelow !== undefined };
    },

    listFailed(query: FailedQuery, { limit, after }: { limit: number; after?: Position }): FailedRow[] {
      const found: FailedRow[] = [];
      const [alertSeq] = after === undefined ? [] : fromPosition(after);
      const bounds = boundsOf(query);
      // The alert of the last one may have more of them.
      if (alertSeq !== undefined) bounds.below = Math.min(bounds.below, alertSeq + 1);
      for (const [search, window] of searchesIn(query, bounds)) {
        found.push(
          ...runAll<FailedRow>(toFailedStatement(sql, query, search, window, { limit: limit - found.length, after })),
        );
        if (found.length >= limit) break;
      }
      return found;
    },

    countFailed(query: FailedQuery): FailedCount[] {
      const counts = new Map<string, FailedCount>();
      for (const [search, window] of searchesIn(query, boundsOf(query))) {
        for (const count of runAll<FailedCount>(toFailedCountStatement(sql, query, search, window))) {
          const known = counts.get(count.destination);
          counts.set(count.destination, known === undefined ? count : sumOf(known, count));
        }
      }
      return [...counts.values()];
    },
  };
}

/** Of two parts of the log: no alert is in both. */
function sumOf(one: FailedCount, other: FailedCount): FailedCount {
  return {
    destination: one.destination,
    deliveries: one.deliveries + other.deliveries,
    alerts: one.alerts + other.alerts,
    oldestAt: Math.min(one.oldestAt, other.oldestAt),
    newestAt: Math.max(one.newestAt, other.newestAt),
  };
}
