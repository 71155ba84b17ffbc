import type { FactsQuery, FollowedArrivals, Position, StoredArrival, StoredFacts } from "../../core/ports/alert-log.ts";
import { type ArrivalRow, type FactsRow, mostFactsBytes, toArrival, toStoredFacts } from "../log-entries.ts";
import { fromPosition, toPosition } from "../positions.ts";
import type { Dialect, Tx } from "../tx.ts";

/** What came by webhooks, for those who look back over it and follow it. */
export function createArrivals(sql: Dialect) {
  const within = { below: "int8", id: "text", from: "int8", limit: "int8" } as const;
  const isWithin = `a.seq < :below AND a.seq >= ${sql.firstSince(":id")} AND a.received_at >= :from AND a.origin = 'hook'`;
  const newestFirst = `ORDER BY a.seq DESC ${sql.limit(":limit")}`;
  const arrival = `a.seq, a.id, a.received_at, ${sql.factOf("a", "source")} AS source, a.decisions`;
  const listSizes = sql.statement(
    "list_sizes_of_facts",
    within,
    `SELECT a.seq, ${sql.factsBytesOf("a")} AS bytes FROM alerts a
     WHERE ${isWithin} AND a.facts IS NOT NULL AND a.repeat_of IS NULL ${newestFirst}`,
    (row: { seq: number; bytes: number }) => row,
  );
  const readFacts = sql.statement(
    "read_facts",
    { seqs: "int8[]" },
    `SELECT seq, origin, source, received_at, facts FROM alerts WHERE seq ${sql.isOneOf(":seqs")}`,
    (row: FactsRow) => row,
  );
  const list = sql.statement(
    "list_arrivals",
    within,
    `SELECT ${arrival} FROM alerts a WHERE ${isWithin} AND a.routed_at IS NOT NULL ${newestFirst}`,
    (row: ArrivalRow) => toArrival(row),
  );
  const follow = sql.statement(
    "follow_arrivals",
    { after: "int8", limit: "int8" },
    `SELECT ${arrival} FROM alerts a WHERE a.seq > :after AND a.origin = 'hook' AND a.routed_at IS NOT NULL
     ORDER BY a.seq ${sql.limit(":limit")}`,
    (row: ArrivalRow) => toArrival(row),
  );
  const last = "(SELECT seq FROM alerts ORDER BY seq DESC LIMIT 1)";
  const findRouted = sql.statement(
    "routed_up_to",
    {},
    {
      sqlite: `SELECT coalesce((SELECT seq - 1 FROM alerts WHERE routed_at IS NULL ORDER BY seq LIMIT 1), ${last}, 0) AS seq`,
      // Of a bare column a plan thinks that it soon meets one along all alerts.
      postgres: `SELECT coalesce((SELECT min(seq + 0) - 1 FROM alerts WHERE routed_at IS NULL), ${last}, 0) AS seq`,
    },
    ({ seq }: { seq: number }) => seq,
  );

  const toWithin = ({ fromAt, before, limit }: FactsQuery) => {
    const [below = Number.MAX_SAFE_INTEGER] = before === undefined ? [] : fromPosition(before);
    return { below, id: sql.sinceId(fromAt), from: fromAt, limit };
  };

  return {
    async listFacts(tx: Tx, query: FactsQuery): Promise<StoredFacts[]> {
      let bytes = 0;
      const sizes = await tx.run(listSizes, toWithin(query));
      const end = sizes.findIndex((one, index) => {
        bytes += one.bytes;
        return index > 0 && bytes > mostFactsBytes;
      });
      const seqs = (end === -1 ? sizes : sizes.slice(0, end)).map(({ seq }) => seq);
      const rows = await tx.run(readFacts, { seqs });
      return rows.sort((one, other) => other.seq - one.seq).map(toStoredFacts);
    },

    listArrivals: async (tx: Tx, query: FactsQuery): Promise<StoredArrival[]> => tx.run(list, toWithin(query)),

    async followArrivals(tx: Tx, after: Position | undefined, limit: number): Promise<FollowedArrivals> {
      // First: what is routed by then is listed.
      const [routed = 0] = await tx.run(findRouted, {});
      const [place] = after === undefined ? [] : fromPosition(after);
      const arrivals = place === undefined ? [] : await tx.run(follow, { after: place, limit });
      return { arrivals, routedUpTo: toPosition(routed) };
    },
  };
}
