import type { AlertQuery } from "../../../core/ports/alert-log.ts";
import { mayBeResent, problemsBetween } from "../../list-filters.ts";
import { driversOf as driversOfFilters } from "../../listing/list-statements.ts";
import type { Driver, ListWords, Look, Rows, RowsFor, Statement } from "../../listing/list-words.ts";
import type { Add, Dialect } from "../../tx.ts";
import { firstSince, lastUntil, sinceId, untilId } from "../times.ts";
import { createStatementCache, type TransactionContext } from "./context.ts";
import { createSearchParts } from "./searching.ts";

/** A search as an FTS5 expression, and the table of its part of the index. */
export interface PartSearch {
  table: string;
  match: string;
}

const step = { shortMs: 4, longMs: 16 };

export function createListWords({ db }: Pick<TransactionContext, "db">, sql: Dialect): ListWords<PartSearch> {
  const parts = createSearchParts({ db });
  const prepare = createStatementCache(db, 256);
  const newest = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();
  const first = db.prepare<[string], number>(firstSince()).pluck();
  const last = db.prepare<[string], number>(lastUntil).pluck();
  const limited = (list: string, limit: number, add: Add) => `${list} LIMIT ${add(limit)} + 0`;

  return {
    ...{ sql, step, hasStatesBySeverity: true, limited, rangeOf },
    driversOf: (query) => driversOf(sql, query),
    rowsOf: (look, add, how) => rowsOf(sql, look, add, how),
    alertOf,
    unindexed: (column) => `+${column}`,
    // The index is asked once for all matches of the part: asking about one row takes as long.
    matches: ({ table, match }, add) => `+a.seq IN (SELECT rowid FROM ${table} WHERE words MATCH ${add(match)})`,
    page: (list, shown, limit, add) => limited(list(shown()), limit, add),
    run: <Row extends object>({ sql: text, values }: Statement) =>
      prepare(text).all(Object.fromEntries(values.map((value, index) => [index + 1, value]))) as Row[],

    boundsOf({ fromAt, toAt }) {
      const from = fromAt === undefined ? 1 : (first.get(sinceId(fromAt)) ?? 1);
      const end = toAt === undefined ? newest.get() : Math.min(newest.get() ?? 0, last.get(untilId(toAt)) ?? 0);
      return { from, below: (end ?? 0) + 1 };
    },

    /** A word that no alert of the newest parts has is searched as the beginning of a word, which finds the word too. */
    toFind(words) {
      const match = parts.toExpression(words);
      const all = parts.list();
      return (below, width) => {
        const part = all.find(({ firstSeq }) => firstSeq < below);
        return part && { search: { table: part.name, match }, from: Math.max(part.firstSeq, below - width) };
      };
    },
  };
}

/** SQLite chooses one of several indexes of a table, so all filters on the same table are one driver. */
function driversOf(sql: Dialect, query: AlertQuery): Driver<never>[] {
  const joined = new Map<string, Driver<never>>();
  const columnsOf = (driver?: Driver<never>) => (driver && "columns" in driver ? driver.columns : {});
  for (const driver of driversOfFilters(sql, query)) {
    if (driver.along === "deliveries" && query.state === "problem") continue;
    const known = joined.get(driver.along);
    const columns = { ...columnsOf(known), ...columnsOf(driver) };
    joined.set(driver.along, { ...known, ...driver, columns } as Driver<never>);
  }
  return [...joined.values()];
}

/** CROSS JOIN keeps the order of the tables: SQLite has no statistics here and might turn it round. */
const alertOf = (seq: string) => `CROSS JOIN alerts a ON a.seq = ${seq}`;

const rangeOf: ListWords<unknown>["rangeOf"] = (name, columns, positions, { from, below }, add) => {
  const equal = Object.entries(columns).map(([column, value]) => `${name}.${column} = ${add(value)} AND `);
  const places = positions.map((position) => `${name}.${position}`);
  const row = (values: readonly string[]) => `(${values.join(", ")})`;
  const [place, start, end] = [places, from.map(add), below.map(add)].map(row);
  return {
    where: `${equal.join("")}${place} >= ${start} AND ${place} < ${end}`,
    order: places.map((place) => `${place} DESC`).join(", "),
  };
};

function rowsOf(sql: Dialect, { driver, query, window }: Look<PartSearch>, add: Add, how: RowsFor): Rows {
  const { from, below } = window;
  const along = (name: string, position: string, columns: Record<string, string | undefined> = {}, only?: string) => {
    const { where, order } = rangeOf(name, columns, [position], { from: [from], below: [below] }, add);
    // The condition on the state comes first: otherwise SQLite sorts, since the small index begins with the states.
    return { where: only === undefined ? [where] : [where, only], order };
  };
  switch (driver.along) {
    case "alerts":
      return { from: "alerts a", ...along("a", "seq", driver.columns, driver.only) };
    case "deliveries":
      return {
        from: `deliveries d ${indexOf(sql, query)}`,
        ...along("d", "alert_seq", driver.columns, driver.only),
        ...(how === "listed" && { alert: alertOf("d.alert_seq") }),
        ...(how !== "narrowed" && { group: "GROUP BY d.alert_seq" }),
      };
    case "problems": {
      const { where, order } = along("a", "seq");
      const places = [add(from), add(below)] as const;
      return { from: "alerts a", where: [...where, `a.seq IN (${problemsBetween(sql, ...places)})`], order };
    }
    case "search": {
      const { table, match } = driver.search;
      const { where, order } = along("s", "rowid");
      return { from: `${table} s`, alert: alertOf("s.rowid"), where: [`s.words MATCH ${add(match)}`, ...where], order };
    }
    default:
      return driver satisfies never;
  }
}

/** Names the index of unsent deliveries: the index of all states may hold 100,000 that were resent. */
function indexOf(sql: Dialect, { state, destination }: AlertQuery): string {
  if (!mayBeResent(state)) return "";
  return sql.indexedBy(destination === undefined ? "deliveries_unsent" : "deliveries_unsent_by_destination");
}
