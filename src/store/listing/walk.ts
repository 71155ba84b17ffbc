import type { AlertQuery } from "../../core/ports/alert-log.ts";
import { farthest, isOfAlert } from "../list-filters.ts";
import { fromPosition } from "../positions.ts";
import { type Searched, wordsOfQuery } from "../search-words.ts";
import { createListStatements, mostCounted } from "./list-statements.ts";
import type { Bounds, Driver, Find, ListWords, Look } from "./list-words.ts";

export interface Walked {
  /** Set when the time was over: alerts with a lower `seq` were not looked at. */
  stoppedBelow?: number;
  /** How many positions were looked at. */
  looked: number;
}

/** The width of the first window, in alerts. The next ones are wider or narrower, depending on the time that one took. */
const firstWidth = 4_096;
const leastWidth = 512;
/** The first width when bodies are searched: each may be a mebibyte. */
const firstBodies = 32;

const wholeLog = { along: "alerts", columns: {} } as const;

const nothing: Find<never> = () => undefined;

/** Handles the rows in a window. No row is in two windows. */
export type Visit<Search> = (look: Look<Search>) => Promise<"enough" | "more">;

/**
 * Finds a page of the log for any combination of filters. A single filter has an index that gives the page in order. Several
 * filters may each match half of the log, and together nothing. The walk therefore reads the log in windows, newest first, each
 * along the driver that narrows it most. It ends when the page is full or the time is over.
 * @param nowMs milliseconds that only go forward.
 */
export function createWalk<Search>(words: ListWords<Search>, nowMs: () => number) {
  const { toNarrowness } = createListStatements(words);
  type Along = Driver<Search>;

  /** Undefined: the query has no words. */
  async function toFind(query: Searched): Promise<Find<Search> | undefined> {
    const wanted = wordsOfQuery(query);
    if (wanted === undefined) return undefined;
    return wanted.length === 0 ? nothing : words.toFind(wanted);
  }

  async function boundsOf({ before, ...times }: Pick<AlertQuery, "before" | "fromAt" | "toAt">): Promise<Bounds> {
    return endBefore(await words.boundsOf(times), before);
  }

  /** The driver with the fewest rows in a window, and their number up to `mostCounted`. */
  async function narrowest(query: AlertQuery, drivers: readonly Along[], window: Bounds): Promise<[Along, number]> {
    const [row] = await words.run<Record<string, number>>(toNarrowness(query, drivers, window));
    const counts = drivers.map((driver, index): [Along, number] => [driver, row?.[`n${index}`] ?? 0]);
    return counts.reduce((best, one) => (one[1] < best[1] ? one : best));
  }

  /**
   * A window that ends at `below`, narrow enough for a short step. Without a driver it is empty.
   * @param first the earliest beginning of the window
   * @param found the search, and where the window begins when it is read along the search
   */
  async function nextStep(
    query: AlertQuery,
    drivers: readonly Along[],
    below: number,
    first: number,
    found: ReturnType<Find<Search>>,
  ): Promise<{ window: Bounds; driver?: Along }> {
    const search: Along | undefined = found && { along: "search", search: found.search };
    const [only = search ?? wholeLog] = drivers;
    const isCounted = drivers.length + (search === undefined ? 0 : 1) > 1 || only.along === "problems";
    if (!isCounted) return { window: { from: only === search ? (found?.from ?? first) : first, below }, driver: only };
    for (let from = first; ; ) {
      const window = { from, below };
      const [driver, rows] = await narrowest(query, drivers, window);
      if (rows === 0) return { window };
      if (rows < mostCounted) return { window, driver };
      if (found !== undefined) return { window: { from: Math.max(from, found.from), below }, driver: search };
      if (below - from <= firstWidth) return { window, driver };
      from = below - Math.max(firstWidth, Math.floor((below - from) / 8));
    }
  }

  /** Reads the log, newest first, until `visit` has enough. */
  async function walk(query: AlertQuery, mostMs: number, visit: Visit<Search>): Promise<Walked> {
    const endsAt = nowMs() + mostMs;
    const drivers = words.driversOf(query);
    if (isOfOneIndex(query, words.hasStatesBySeverity)) {
      const hasTimes = query.fromAt !== undefined || query.toAt !== undefined;
      const bounds = hasTimes ? await boundsOf(query) : endBefore({ from: 0, below: farthest }, query.before);
      await visit({ query, driver: drivers[0] ?? wholeLog, window: bounds });
      return { looked: 0 };
    }
    const [find, bounds] = await Promise.all([toFind(query), boundsOf(query)]);
    const [first, least] = query.raw === undefined ? [firstWidth, leastWidth] : [firstBodies, firstBodies];
    const widths = { any: first, search: first };
    for (let { below } = bounds; below > bounds.from; ) {
      const beganAt = nowMs();
      const [found, beside] = [find?.(below, widths.search), find?.(below, widths.any)];
      if (find !== undefined && found === undefined) break;
      if (found !== undefined) found.from = Math.max(bounds.from, found.from);
      const start = Math.max(bounds.from, beside?.from ?? below - widths.any);
      const { window, driver } = await nextStep(query, drivers, below, start, found);
      if (driver !== undefined && (await visit({ query, search: found?.search, driver, window })) === "enough") break;
      below = window.from;
      const endedAt = nowMs();
      if (below > bounds.from && endedAt > endsAt) return { stoppedBelow: below, looked: bounds.below - below };
      const kind = driver?.along === "search" ? "search" : "any";
      if (endedAt - beganAt < words.step.shortMs) widths[kind] *= 4;
      if (endedAt - beganAt > words.step.longMs) widths[kind] = Math.max(least, Math.floor(widths[kind] / 4));
    }
    return { looked: Math.max(0, bounds.below - bounds.from) };
  }

  /** The searches of all parts of the log within these bounds, newest first. A query without words has one part: everything. */
  async function* searchesIn(query: Searched, bounds: Bounds): AsyncGenerator<[Search | undefined, Bounds]> {
    const find = await toFind(query);
    if (find === undefined) yield [undefined, bounds];
    for (let { below } = bounds; find !== undefined && below > bounds.from; ) {
      const found = find(below, Number.POSITIVE_INFINITY);
      if (found === undefined) return;
      const from = Math.max(bounds.from, found.from);
      yield [found.search, { from, below }];
      below = from;
    }
  }

  return { boundsOf, walk, searchesIn };
}

/** Whether one driver gives exactly the rows of the query. No more rows are then read than are wanted. */
function isOfOneIndex(query: AlertQuery, hasStatesBySeverity: boolean): boolean {
  const { q, phrases, raw, severity, state, destination, route, key, source, facts = [], newestOfKey } = query;
  if (newestOfKey || raw !== undefined || facts.length > 0 || q !== undefined || phrases !== undefined) return false;
  if (state === "problem") return false;
  const filters = [severity, state, destination, route, key, source].filter((one) => one !== undefined);
  if (filters.length !== 2 || state === undefined) return filters.length < 2;
  return isOfAlert(state) ? hasStatesBySeverity && severity !== undefined : destination !== undefined;
}

const endBefore = ({ from, below }: Bounds, before: AlertQuery["before"]): Bounds => ({
  from,
  below: before === undefined ? below : Math.min(below, fromPosition(before)[0] as number),
});
