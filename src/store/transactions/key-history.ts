import type { AlertFacts, AlertOrigin } from "../../core/alert.ts";
import type { AlertLog, KeyEvent } from "../../core/ports/alert-log.ts";
import { countWithin } from "../../ground/count-within.ts";
import type { Row } from "../tables.ts";
import type { Dialect, InTx } from "../tx.ts";

type OwnRow = Pick<Row<"alerts">, "id" | "seq" | "origin"> & { alert_key: string };

/** `bytes`: the length of its facts. */
type PlaceRow = { seq: number; bytes: number };

type EventRow = Pick<Row<"alerts">, "seq" | "id" | "origin" | "received_at" | "repeat_of"> & { facts: string };

/** The alerts that fit into the bound on bytes, in the order of the search. */
interface SomeEvents {
  seqs: number[];
  isCut: boolean;
}

/** Bytes of facts that are read at once, in a millisecond or two. */
const mostBytes = 192 * 1024;
/** The limit for a page of keys. */
const mostBytesOfPage = 2 * 1024 * 1024;
const farthest = 9_000_000_000_000_000;

/** The other alerts with the key of one alert, up to a bound however long the log is. */
export function createKeyHistory(sql: Dialect) {
  const bytes = sql.factsBytesOf("k");
  const lastBefore = (columns: string, key: string, to: string) =>
    `SELECT ${columns} FROM alerts k WHERE ${sql.isOfKey("k", key, "0", to)} AND k.repeat_of IS NULL
     ORDER BY k.alert_key DESC, k.seq DESC ${sql.limit(":most")}`;
  const findOwn = sql.statement(
    { id: "text" },
    "SELECT id, seq, origin, alert_key FROM alerts WHERE id = :id AND alert_key IS NOT NULL",
    (row: OwnRow) => row,
  );
  const listPlaces = (order: "ASC" | "DESC") =>
    sql.statement(
      { key: "text", after: "int8", to: "int8", limit: "int8" },
      `SELECT k.seq, ${bytes} AS bytes FROM alerts k WHERE ${sql.isOfKey("k", ":key", ":after", ":to")}
       ORDER BY k.alert_key ${order}, k.seq ${order} ${sql.limit(":limit")}`,
      (row: PlaceRow) => row,
    );
  const listNext = listPlaces("ASC");
  const listLast = listPlaces("DESC");
  const listEvents = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq, id, origin, received_at, repeat_of, facts FROM alerts WHERE seq ${sql.isOneOf(":seqs")}`,
    (row: EventRow) => row,
  );
  const findMeasured = sql.statement(
    { id: "text", most: "int8" },
    `SELECT o.id, o.seq, o.origin, o.alert_key,
       (SELECT sum(bytes) FROM (${lastBefore(`${bytes} AS bytes`, "o.alert_key", "o.seq")}) AS last) AS bytes
     FROM alerts o WHERE o.id = :id AND o.alert_key IS NOT NULL`,
    (row: OwnRow & { bytes: number | null }) => row,
  );
  const listValues = sql.statement(
    { key: "text", to: "int8", most: "int8" },
    lastBefore(`k.received_at AS at, k.origin, ${sql.valueOf("k")} AS sent`, ":key", ":to"),
    (row: { at: number; origin: AlertOrigin; sent: string | null }) => row,
  );

  return {
    async keyHistory(tx, id, most) {
      const [own] = await tx.run(findOwn, { id });
      if (own === undefined) return { events: [], hasOlder: false, hasGap: false };
      const { seq, origin, alert_key: key } = own;
      const limit = Math.max(1, Math.floor(most / 4));
      const mostBefore = most - 2 * limit;
      const [following, latest, before] = (
        await Promise.all([
          tx.run(listNext, { key, after: seq, to: farthest, limit }),
          tx.run(listLast, { key, after: 0, to: farthest, limit }),
          tx.run(listLast, { key, after: 0, to: seq, limit: mostBefore }),
        ])
      ).map(takeSome) as [SomeEvents, SomeEvents, SomeEvents];
      const oldest = before.seqs.at(-1) ?? seq;
      const lastFollowing = following.seqs.at(-1) ?? seq;
      const seqs = new Set([...latest.seqs, ...following.seqs, ...before.seqs].filter((one) => one >= oldest));
      const rows = await tx.run(listEvents, { seqs: [...seqs] });
      return {
        events: rows
          .filter((row) => row.origin === origin)
          .sort((a, b) => b.seq - a.seq)
          .map(toEvent),
        hasOlder: before.isCut || before.seqs.length === mostBefore,
        hasGap: (latest.seqs.at(-1) ?? seq) > lastFollowing && (following.isCut || following.seqs.length === limit),
      };
    },

    async keyValues(tx, ids, most) {
      const asked = ids.map((id) => ({ id, most }));
      const measured = (await tx.look(findMeasured, asked)).flat();
      let bytes = 0;
      const end = measured.findIndex((one) => {
        bytes += one.bytes ?? 0;
        return bytes > mostBytesOfPage;
      });
      const owns = end === -1 ? measured : measured.slice(0, end);
      const places = owns.map(({ alert_key: key, seq: to }) => ({ key, to, most }));
      const found = await tx.look(listValues, places);
      return owns.flatMap(({ id, origin, bytes }, index) => {
        if (bytes === null) return [];
        const rows = found[index]?.filter((row) => row.origin === origin).reverse() ?? [];
        return { id, values: rows.flatMap(({ at, sent }) => (sent === null ? [] : { at, sent })) };
      });
    },
  } satisfies InTx<AlertLog, "keyHistory" | "keyValues">;
}

/** At least one, and more as far as their texts leave room. */
function takeSome(rows: readonly PlaceRow[]): SomeEvents {
  const count = countWithin(rows, { weight: mostBytes }, ({ bytes }) => bytes);
  return { seqs: rows.slice(0, count).map(({ seq }) => seq), isCut: count < rows.length };
}

function toEvent(row: EventRow): KeyEvent {
  const { severity, status, value, threshold, unit, metric, token, chain } = JSON.parse(row.facts) as AlertFacts;
  return {
    id: row.id,
    receivedAt: row.received_at,
    ...{ severity, status, value, threshold, unit, metric, token, chain },
    isRepeat: row.repeat_of !== null,
  };
}
