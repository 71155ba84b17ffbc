import type { AlertQuery, FailedQuery, Position } from "../../core/ports/alert-log.ts";
import {
  bodyConditions,
  deliveryConditions,
  factConditions,
  hasDelivery,
  hasProblem,
  isNewestOfKey,
  isOfAlert,
  mayBeResent,
  problemsBetween,
  shownColumns,
  stateCondition,
  timeConditions,
  unsent,
} from "../list-filters.ts";
import { fromPosition } from "../positions.ts";
import type { Add, Dialect } from "../tx.ts";
import {
  type Bounds,
  type Driver,
  type ListWords,
  type Look,
  type Rows,
  type RowsFor,
  type Statement,
  toStatement,
} from "./list-words.ts";

/** Rows of a window that are counted to find the narrowest driver. */
export const mostCounted = 1_000;

/** Each statement reads along one index (its driver), checks the other filters row by row, and sorts nothing. */
export function createListStatements<Search>(words: ListWords<Search>) {
  const { sql } = words;
  const statement = (build: (add: Add) => string): Statement => toStatement(sql, build);

  function listOf(look: Look<Search>, add: Add, columns?: string): string {
    const filters = filtersOf(look, add);
    const how: RowsFor = columns === undefined && filters.length === 0 ? "counted" : "listed";
    const { where, ...rows } = words.rowsOf(look, add, how);
    return select(columns ?? "1", { ...rows, where: [...where, ...filters] });
  }

  function filtersOf({ query, search, driver }: Look<Search>, add: Add): string[] {
    const { severity, state, source, key, newestOfKey } = query;
    const own: object = driver.along === "alerts" ? driver.columns : {};
    const conditions: string[] = [];
    const equal = (column: string, value: string | undefined, isIndexed = driver.along !== "problems") => {
      if (value === undefined || column in own) return;
      conditions.push(`${isIndexed ? `a.${column}` : words.unindexed(`a.${column}`)} = ${add(value)}`);
    };
    equal("source", source);
    equal("alert_key", key);
    // An unrouted alert has no severity.
    equal("severity", severity, driver.along !== "problems" && state !== "unrouted");
    const ofAlert = stateCondition(sql, state);
    if (ofAlert !== undefined && !("only" in driver && driver.only === ofAlert)) conditions.push(ofAlert);
    conditions.push(...timeConditions(query, add));
    if (search !== undefined && driver.along !== "search") conditions.push(words.matches(search, add));
    conditions.push(...factConditions(sql, query, add));
    if (driver.along !== "deliveries") {
      const parts = deliveryConditions(query, add);
      if (parts.length > 0) conditions.push(hasDelivery(sql, parts));
      else if (state === "problem" && driver.along !== "problems") conditions.push(hasProblem(sql));
    }
    if (newestOfKey) conditions.push(isNewestOfKey(sql));
    conditions.push(...bodyConditions(sql, query, add));
    return conditions;
  }

  return {
    toPage: (look: Look<Search>, limit: number) =>
      statement((add) => {
        const list = (columns: string) => listOf(look, add, columns);
        return words.page(list, () => shownColumns(sql, look.query, add), limit, add);
      }),

    /** The rows in a window up to the limit, as `count`. */
    toMatchCount: (look: Look<Search>, limit: number) =>
      statement((add) => `SELECT count(*) AS count FROM (${words.limited(listOf(look, add), limit, add)}) found`),

    /** How many rows each driver has in a window, up to `mostCounted`: columns `n0`, `n1` … of one row. */
    toNarrowness: (query: AlertQuery, drivers: readonly Driver<Search>[], window: Bounds) =>
      statement((add) => {
        const counts = drivers.map((driver, index) => {
          const rows =
            driver.along === "problems"
              ? `SELECT 1 FROM (${problemsBetween(sql, add(window.from), add(window.below))}) p`
              : // The order is asked for: without it a plan may walk the whole table until it has met enough.
                select("1", words.rowsOf({ query, driver, window }, add, "narrowed"));
          return `(SELECT count(*) FROM (${rows} LIMIT ${mostCounted}) x) AS n${index}`;
        });
        return `SELECT ${counts.join(", ")}`;
      }),

    /** When the first alert from a position on came, as `received_at`. */
    toReceivedAt: (seq: number) =>
      statement((add) => `SELECT received_at FROM alerts WHERE seq >= ${add(seq)} ORDER BY seq LIMIT 1`),
  };
}

/** For failed and muted deliveries that were not resent. The statements read a small index, and look at each alert. */
export function createFailedStatements<Search>(words: ListWords<Search>) {
  const { sql } = words;
  const isResolved = `${sql.statusOf("e")} = 'resolved'`;
  const statement = (build: (add: Add) => string): Statement => toStatement(sql, build);

  /** The query's conditions, except on state, destination and position. */
  function failedConditions(query: FailedQuery, search: Search | undefined, add: Add): string[] {
    const { route, source, key, severity, failedUntil, mute, over = false } = query;
    const equal = (column: string, value: string | undefined) =>
      value === undefined ? [] : [`${column} = ${add(value)}`];
    return [
      ...[mute === undefined ? unsent : "d.resent_by IS NULL"],
      ...[`d.finished_at <= ${add(failedUntil)}`, ...equal("d.route", route)],
      ...(mute === undefined || over ? [] : [`d.seq NOT IN (${overOf(mute, add)})`]),
      ...(search === undefined ? [] : [words.matches(search, add)]),
      ...timeConditions(query, add),
      ...[...equal("a.source", source), ...equal("a.alert_key", key), ...equal("a.severity", severity)],
      ...[...factConditions(sql, query, add), ...bodyConditions(sql, query, add)],
    ];
  }

  /** A query of the deliveries that a mute holds back, of keys that are over. It runs once, whatever the number of rows. */
  function overOf(mute: string, add: Add): string {
    const muted = `deliveries m ${sql.indexedBy("deliveries_muted")} JOIN alerts x ON x.seq = m.alert_seq`;
    const isHeld = () => `m.mute_id = ${add(mute)} AND m.resent_by IS NULL`;
    return `SELECT m.seq FROM ${muted} JOIN (
        SELECT m.destination, x.alert_key, max(x.seq) AS seq FROM ${muted} WHERE ${isHeld()}
        GROUP BY m.destination, x.alert_key
      ) AS last ON last.alert_key = x.alert_key AND last.destination = m.destination JOIN (
        SELECT e.alert_key, max(e.seq) AS seq FROM alerts e WHERE ${isResolved} AND e.alert_key IN (
          SELECT x.alert_key FROM ${muted} WHERE ${isHeld()})
        GROUP BY e.alert_key
      ) AS ends ON ends.alert_key = x.alert_key AND ends.seq >= last.seq
      WHERE ${isHeld()}`;
  }

  function failedAlong({ destination, mute }: FailedQuery): string {
    const unsentAlong = destination === undefined ? "deliveries_unsent" : "deliveries_unsent_by_destination";
    return `deliveries d ${sql.indexedBy(mute === undefined ? unsentAlong : "deliveries_muted")} ${words.alertOf("d.alert_seq")}`;
  }

  return {
    /** One batch of these deliveries, newest alert first. Each state is read by itself, as the index is sorted within a state. */
    toFailed: (
      query: FailedQuery,
      search: Search | undefined,
      { from, below }: Bounds,
      { limit, after }: { limit: number; after?: Position },
    ) =>
      statement((add) => {
        const [afterAlert = below, afterDelivery = 0] = after === undefined ? [] : fromPosition(after);
        const ends = { from: [from, 0], below: afterAlert < below ? [afterAlert, afterDelivery] : [below, 0] };
        const { destination, mute } = query;
        const isAt = mute === undefined || destination === undefined ? [] : [`d.destination = ${add(destination)}`];
        const lists = (mute === undefined ? query.states : [undefined]).map((state) => {
          const failed = destination === undefined ? { state } : { destination, state };
          const columns = mute === undefined ? failed : { mute_id: mute };
          const { where, order } = words.rangeOf("d", columns, ["alert_seq", "seq"], ends, add);
          const all = [where, ...isAt, ...failedConditions(query, search, add)];
          const ofMute = mute === undefined ? "" : `, a.id, a.received_at AS "receivedAt", a.facts`;
          const listed = `d.seq, d.alert_seq AS "alertSeq", d.destination, d.recipient${ofMute}`;
          return words.limited(select(listed, { from: failedAlong(query), where: all, order }), limit, add);
        });
        if (lists.length === 1) return lists[0] as string;
        const together = lists.map((list, index) => `SELECT * FROM (${list}) of_${index}`).join(" UNION ALL ");
        return `SELECT * FROM (${together}) f ORDER BY f."alertSeq" DESC, f.seq DESC LIMIT ${add(limit)}`;
      }),

    /** Number, destinations and age of these deliveries. Reads all of them: 100,000 take a tenth of a second. */
    toFailedCount: (query: FailedQuery, search: Search | undefined, { from, below }: Bounds) =>
      statement((add) => {
        const { states, destination, mute } = query;
        const where = [
          ...[
            mute === undefined ? `d.state IN (${states.map(add).join(", ")})` : `d.mute_id = ${add(mute)}`,
            `d.alert_seq >= ${add(from)} AND d.alert_seq < ${add(below)}`,
          ],
          ...(destination === undefined ? [] : [`d.destination = ${add(destination)}`]),
          ...failedConditions(query, search, add),
        ];
        const sent =
          mute === undefined
            ? `count(*) AS deliveries, count(DISTINCT d.alert_seq) AS alerts`
            : `count(DISTINCT a.alert_key || ' ' || d.recipient) AS deliveries, count(DISTINCT a.alert_key) AS alerts,
          count(DISTINCT d.alert_seq) AS "heldBack"`;
        const counted = `d.destination, ${sent},
          min(a.received_at) AS "oldestAt", max(a.received_at) AS "newestAt"`;
        return select(counted, { from: failedAlong(query), where, group: "GROUP BY d.destination" });
      }),
  };
}

export function driversOf(sql: Dialect, query: AlertQuery): Driver<never>[] {
  const { severity, state, source, key, destination, route } = query;
  const drivers: Driver<never>[] = [];
  if (state === "problem") drivers.push({ along: "problems" });
  const ofDelivery = state !== undefined && !isOfAlert(state) ? state : undefined;
  const only = ofDelivery !== undefined && mayBeResent(ofDelivery) ? unsent : undefined;
  const columns = { ...(destination !== undefined && { destination }), ...(ofDelivery && { state: ofDelivery }) };
  if (destination !== undefined || ofDelivery) drivers.push({ along: "deliveries", columns, only });
  if (route !== undefined) drivers.push({ along: "deliveries", columns: { route } });
  if (key !== undefined) drivers.push({ along: "alerts", columns: { alert_key: key } });
  if (source !== undefined) drivers.push({ along: "alerts", columns: { source } });
  const ofAlert = stateCondition(sql, state);
  if (ofAlert !== undefined) drivers.push({ along: "alerts", columns: {}, only: ofAlert });
  // An unrouted alert has no severity.
  if (severity !== undefined && state !== "unrouted") drivers.push({ along: "alerts", columns: { severity } });
  return drivers;
}

function select(columns: string, { from, alert = "", where, group = "", order }: Rows) {
  const filter = where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`;
  return `SELECT ${columns} FROM ${from} ${alert} ${filter} ${group} ${order === undefined ? "" : `ORDER BY ${order}`}`;
}
