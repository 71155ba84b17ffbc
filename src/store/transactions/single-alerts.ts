import { timeOfId } from "../../core/id.ts";
import type { AlertDetail, AlertLog } from "../../core/ports/alert-log.ts";
import { inOrder, type ListedRow, listedColumns, toDecisions, toSummary } from "../log-entries.ts";
import { fromRow } from "../rows.ts";
import { columnNames, type Row } from "../tables.ts";
import type { Dialect, InTx } from "../tx.ts";

type Side = "newer" | "older";
type Nullable<R> = { [C in keyof R]: R[C] | null };

/** Null where the relay itself has made the alert. */
type RequestRow = Nullable<Omit<Row<"requests">, "seq" | "fingerprint" | "received_at"> & { came_at: number }>;

interface DetailRow extends ListedRow, RequestRow {
  item: number;
  decisions: string | null;
  /** How often its body came again as an alert of its own. */
  repeats: number;
  /** JSON, in order. */
  tries: string;
}

type AttemptRow = Omit<Row<"attempts">, "seq" | "delivery_seq"> & { delivery: string };

const attemptColumns = columnNames("attempts").filter((name) => name !== "seq" && name !== "delivery_seq");

/** Ids that are compared by their endings: some milliseconds, along the index of ids. */
const mostEndings = 100_000;

/** Reads one alert for its page. Parts that belong together are one statement, so that they show one moment. */
export function createSingleAlerts(sql: Dialect) {
  const columns = listedColumns(sql);
  const get = sql.statement(
    { id: "text" },
    `SELECT ${columns}, a.item, a.decisions,
       r.received_at AS came_at, r.content_type, r.headers, r.body, r.items, r.dedupe_key, r.conflict, r.duplicates,
       (SELECT count(*) FROM alerts n WHERE n.repeat_of = a.id) AS repeats,
       ${inOrder(
         sql,
         ["delivery", ...attemptColumns],
         `SELECT d.id AS delivery, ${attemptColumns.map((name) => `t.${name}`).join(", ")}
          FROM deliveries d JOIN attempts t ON t.delivery_seq = d.seq WHERE d.alert_seq = a.seq ORDER BY d.seq, t.seq`,
       )} AS tries
     FROM alerts a LEFT JOIN requests r ON r.seq = a.request_seq WHERE a.id = :id`,
    toDetail,
  );
  const beside = (side: Side, how: string) =>
    `SELECT * FROM (SELECT '${side}' AS side, ${columns} FROM alerts a
       WHERE a.seq ${how} LIMIT 1) AS ${side}`;
  const own = "(SELECT seq FROM alerts WHERE id = :id)";
  const listNeighbours = sql.statement(
    { id: "text" },
    `${beside("newer", `> ${own} ORDER BY a.seq`)} UNION ALL ${beside("older", `< ${own} ORDER BY a.seq DESC`)}`,
    (row: ListedRow & { side: Side }) => [row.side, toSummary(row)] as const,
  );
  const listEnding = sql.statement(
    { part: "text", length: "int8" },
    // An aggregate over all of them allows no other plan than the walk along the index.
    `SELECT count(*) AS count, min(id) AS first, ${sql.jsonRowsOf({ id: "id" }, `${sql.endOf("id", ":length")} = :part`)} AS named
     FROM (SELECT id FROM alerts ORDER BY id DESC LIMIT ${mostEndings}) AS newest`,
    (row: { count: number; first: string | null; named: string }) => row,
  );
  const listBeginning = sql.statement(
    { part: "text", end: "text", limit: "int8" },
    `SELECT id FROM alerts WHERE id >= :part AND id < :end ORDER BY id DESC ${sql.limit(":limit")}`,
    ({ id }: { id: string }) => id,
  );
  const listNamed = sql.statement(
    { ids: "text[]" },
    `SELECT ${columns} FROM alerts a WHERE a.id ${sql.isOneOf(":ids")}`,
    toSummary,
  );

  return {
    getAlert: async (tx, id) => (await tx.run(get, { id }))[0],

    neighbours: async (tx, id) => Object.fromEntries(await tx.run(listNeighbours, { id })),

    async findByIdPart(tx, part, limit) {
      const [endings, beginning] = await Promise.all([
        tx.run(listEnding, { part, length: part.length }),
        // The letter `g` comes after every digit and "-".
        tx.run(listBeginning, { part, end: `${part}g`, limit }),
      ]);
      const { count = 0, first = null, named = "[]" } = endings[0] ?? {};
      const ending = (JSON.parse(named) as { id: string }[]).map(({ id }) => id);
      const newestFirst = (one: string, other: string) => (one < other ? 1 : -1);
      const ids = [...new Set([...beginning, ...ending])].sort(newestFirst).slice(0, limit);
      const alerts = (await tx.run(listNamed, { ids })).sort((one, other) => newestFirst(one.id, other.id));
      const isAll = count < mostEndings || first === null;
      return { alerts, ...(!isAll && { searchedTo: timeOfId(first) }) };
    },
  } satisfies InTx<AlertLog, "getAlert" | "neighbours" | "findByIdPart">;
}

function toDetail(row: DetailRow): AlertDetail {
  const { deliveries, ...summary } = toSummary(row);
  const attempts = JSON.parse(row.tries) as AttemptRow[];
  return {
    ...summary,
    decisions: toDecisions(row.decisions),
    deliveries: deliveries.map((one) => ({
      ...one,
      attempts: attempts.filter(({ delivery }) => delivery === one.id).map((row) => fromRow(row, attemptColumns)),
    })),
    request:
      row.came_at === null
        ? undefined
        : {
            ...fromRow(row, ["content_type", "item", "dedupe_key"]),
            receivedAt: row.came_at,
            headers: JSON.parse(row.headers ?? "[]") as [string, string][],
            body: row.body ?? new Uint8Array(),
            items: row.items ?? 1,
            conflict: Boolean(row.conflict),
            duplicates: (row.duplicates ?? 0) + row.repeats,
          },
  };
}
