import type { AlertFacts } from "../../core/alert.ts";
import type { AlertLog, FactsQuery, PastAlert, StoredArrival, StoredFacts } from "../../core/ports/alert-log.ts";
import { routesThatTook } from "../../core/rules.ts";
import { countWithin } from "../../ground/count-within.ts";
import { inOrder, toDecisions } from "../log-entries.ts";
import { fromPosition, toPosition } from "../positions.ts";
import { fromRow } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { Dialect, InTx } from "../tx.ts";

/** Bytes of facts, as JSON text, in one answer: a few milliseconds. */
const mostFactsBytes = 1024 * 1024;

type FactsRow = Pick<Row<"alerts">, "seq" | "origin" | "source" | "received_at"> & { facts: string };

/** `bytes`: the size of its request. `deliveries`: JSON, in order. */
type PastRow = Pick<Row<"alerts">, "seq" | "id" | "item" | "source" | "received_at" | "dropped" | "decisions"> &
  Record<"request_seq" | "routed_at" | "bytes", number> &
  Record<"title" | "format", string | null> & { deliveries: string };

type ArrivalRow = Pick<Row<"alerts">, "seq" | "id" | "received_at" | "source" | "decisions">;

const toArrival = (row: ArrivalRow): StoredArrival => ({
  ...fromRow(row, ["id", "received_at", "source"]),
  position: toPosition(row.seq),
  routes: routesThatTook(toDecisions(row.decisions)),
});

function statementsOf(sql: Dialect) {
  const within = { below: "int8", id: "text", from: "int8", limit: "int8" } as const;
  const isWithin = `a.seq < :below AND a.seq >= ${sql.firstSince(":id")} AND a.received_at >= :from AND a.origin = 'hook'`;
  const newestFirst = `ORDER BY a.seq DESC ${sql.limit(":limit")}`;
  const arrival = `a.seq, a.id, a.received_at, ${sql.factOf("a", "source")} AS source, a.decisions`;
  const listSizes = sql.statement(
    within,
    `SELECT a.seq, ${sql.factsBytesOf("a")} AS bytes FROM alerts a
     WHERE ${isWithin} AND a.facts IS NOT NULL AND a.repeat_of IS NULL ${newestFirst}`,
    (row: { seq: number; bytes: number }) => row,
  );
  const readFacts = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq, origin, source, received_at, facts FROM alerts WHERE seq ${sql.isOneOf(":seqs")}`,
    (row: FactsRow): StoredFacts => ({
      ...fromRow(row, ["origin", "source", "received_at"]),
      position: toPosition(row.seq),
      alertSeq: row.seq,
      facts: JSON.parse(row.facts) as AlertFacts,
    }),
  );
  const deliveriesOfRoutes = `SELECT d.destination, d.state FROM deliveries d
     WHERE d.alert_seq = a.seq AND d.purpose = 'alert' ORDER BY d.seq`;
  const listPast = sql.statement(
    within,
    `SELECT a.seq, a.id, a.request_seq, a.item, a.source, a.received_at, a.routed_at, a.dropped, a.decisions,
       ${sql.factOf("a", "title")} AS title, ${sql.factOf("a", "format")} AS format,
       (SELECT octet_length(r.body) FROM requests r WHERE r.seq = a.request_seq) AS bytes,
       ${inOrder(sql, ["destination", "state"], deliveriesOfRoutes)} AS deliveries
     FROM alerts a WHERE ${isWithin} AND a.routed_at IS NOT NULL AND a.repeat_of IS NULL ${newestFirst}`,
    (row: PastRow) => row,
  );
  const readBodies = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq, content_type, body FROM requests WHERE seq ${sql.isOneOf(":seqs")}`,
    (row: Pick<Row<"requests">, "seq" | "content_type" | "body">) => row,
  );
  const list = sql.statement(
    within,
    `SELECT ${arrival} FROM alerts a WHERE ${isWithin} AND a.routed_at IS NOT NULL ${newestFirst}`,
    toArrival,
  );
  const follow = sql.statement(
    { after: "int8", limit: "int8" },
    `SELECT ${arrival} FROM alerts a WHERE a.seq > :after AND a.origin = 'hook' AND a.routed_at IS NOT NULL
     ORDER BY a.seq ${sql.limit(":limit")}`,
    toArrival,
  );
  const last = "(SELECT seq FROM alerts ORDER BY seq DESC LIMIT 1)";
  const findRouted = sql.statement(
    {},
    {
      sqlite: `SELECT coalesce((SELECT seq - 1 FROM alerts WHERE routed_at IS NULL ORDER BY seq LIMIT 1), ${last}, 0) AS seq`,
      // `seq + 0` keeps the planner from walking along all alerts: with the bare column it expects to meet an unrouted one soon.
      postgres: `SELECT coalesce((SELECT min(seq + 0) - 1 FROM alerts WHERE routed_at IS NULL), ${last}, 0) AS seq`,
    },
    ({ seq }: { seq: number }) => seq,
  );

  return { listSizes, readFacts, listPast, readBodies, list, follow, findRouted };
}

/** The alerts that came by webhooks, for readers that look back over the log or follow it. */
export function createArrivals(sql: Dialect) {
  const { listSizes, readFacts, listPast, readBodies, list, follow, findRouted } = statementsOf(sql);
  const toWithin = ({ fromAt, before, limit }: FactsQuery) => {
    const [below = Number.MAX_SAFE_INTEGER] = before === undefined ? [] : fromPosition(before);
    return { below, id: sql.sinceId(fromAt), from: fromAt, limit };
  };

  return {
    async listFacts(tx, query) {
      const sizes = await tx.run(listSizes, toWithin(query));
      const count = countWithin(sizes, { weight: mostFactsBytes }, ({ bytes }) => bytes);
      const seqs = sizes.slice(0, count).map(({ seq }) => seq);
      return (await tx.run(readFacts, { seqs })).sort((one, other) => other.alertSeq - one.alertSeq);
    },

    async listPast(tx, query) {
      const rows = await tx.run(listPast, toWithin(query));
      const sizes = new Map<number, number>();
      let bytes = 0;
      const end = rows.findIndex(({ request_seq: seq, bytes: size }) => {
        if (!sizes.has(seq)) bytes += size;
        sizes.set(seq, size);
        return sizes.size > 1 && bytes > mostFactsBytes;
      });
      const given = end === -1 ? rows : rows.slice(0, end);
      const sources = new Map(given.map((row) => [row.request_seq, fromRow(row, ["source"])]));
      const requests = await tx.run(readBodies, { seqs: [...sources.keys()] });
      const bodies = new Map(
        requests.map((row) => [row.seq, { ...fromRow(row, ["content_type", "body"]), ...sources.get(row.seq) }]),
      );
      // A request that was removed in between has taken its alerts along.
      return given.flatMap((row) => {
        const body = bodies.get(row.request_seq);
        if (body === undefined) return [];
        return {
          ...fromRow(row, ["id", "received_at", "routed_at", "item", "title"]),
          ...{ position: toPosition(row.seq), body },
          wasUnreadable: row.format === "unreadable",
          dropped: Boolean(row.dropped),
          decisions: toDecisions(row.decisions),
          deliveries: JSON.parse(row.deliveries) as PastAlert["deliveries"],
        };
      });
    },

    listArrivals: async (tx, query) => tx.run(list, toWithin(query)),

    async followArrivals(tx, after, limit) {
      // Asked first: alerts that are routed at that moment are in the list.
      const [routed = 0] = await tx.run(findRouted, {});
      const [place] = after === undefined ? [] : fromPosition(after);
      const arrivals = place === undefined ? [] : await tx.run(follow, { after: place, limit });
      return { arrivals, routedUpTo: toPosition(routed) };
    },
  } satisfies InTx<AlertLog, "listFacts" | "listPast" | "listArrivals" | "followArrivals">;
}
