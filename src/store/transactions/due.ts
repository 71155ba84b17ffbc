import type { AlertFacts } from "../../core/alert.ts";
import type { AbandonedDelivery, AlertRequest, Dispatch } from "../../core/ports/dispatch.ts";
import type { MessageExtras } from "../../core/rules.ts";
import { type DeliveryRow, deliveryColumnsWith, fromRow, readJson, toDueDelivery, toThread } from "../rows.ts";
import { columnNames, type Row } from "../tables.ts";
import type { Dialect, InTx } from "../tx.ts";
import { untoldStates } from "./ends.ts";

const mostFallbacks = 500;
/** Alerts of a key among which the last one at a fallback is searched. */
const mostOfKey = 100;

/** The messages of a key in one chat. */
export const findThreadIn = (sql: Dialect) =>
  sql.statement(
    { destination: "text", recipient: "text", key: "text" },
    `SELECT ${columnNames("threads").join(", ")} FROM threads
     WHERE destination = :destination AND recipient = :recipient AND alert_key = :key`,
    toThread,
  );

function dueStatements(sql: Dialect) {
  const columns = deliveryColumnsWith(sql.statusOf("a"));
  /** One kind of due deliveries of a destination. Each kind has an index of its own. */
  const dueOf = (kind: string) =>
    `SELECT seq, due_at FROM deliveries WHERE destination = :destination AND due_at IS NOT NULL AND due_at <= :now AND ${kind}
     ORDER BY due_at, seq ${sql.limit(":limit")}`;
  // A list that is shorter than the limit has all due deliveries, and planning finds the urgent ones in it.
  const listDue = sql.statement(
    { destination: "text", now: "int8", limit: "int8", resent_first: "int8" },
    `WITH usual AS MATERIALIZED (${dueOf(sql.isBulk(false))}),
     resent AS MATERIALIZED (
       SELECT * FROM (${dueOf(sql.isBulk(true))}) AS b WHERE :resent_first = 1 OR (SELECT count(*) FROM usual) < :limit),
     urgent AS MATERIALIZED (
       SELECT * FROM (${dueOf("purpose IN ('resend', 'test', 'notice')")}) AS u
       WHERE (SELECT count(*) FROM usual) + (SELECT count(*) FROM resent) >= :limit),
     picked AS MATERIALIZED (
       SELECT 0 AS rank, seq, due_at FROM urgent
       UNION ALL SELECT 2, seq, due_at FROM usual WHERE seq NOT IN (SELECT seq FROM urgent)
       UNION ALL SELECT CASE WHEN :resent_first = 1 THEN 1 ELSE 3 END, seq, due_at FROM resent
       ORDER BY rank, due_at, seq ${sql.limit(":limit")})
     SELECT ${columns} FROM picked p JOIN deliveries d ON d.seq = p.seq JOIN alerts a ON a.seq = d.alert_seq
     ORDER BY p.rank, p.due_at, p.seq`,
    toDueDelivery,
  );
  const listByKeys = sql.statement(
    { destination: "text", keys: "text[]", limit: "int8" },
    `SELECT ${columns} FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
     WHERE d.seq ${sql.isIn(
       `SELECT d.seq FROM deliveries d ${sql.indexedBy("deliveries_due")} JOIN alerts a ON a.seq = d.alert_seq
        WHERE d.destination = :destination AND d.due_at IS NOT NULL AND a.alert_key ${sql.isOneOf(":keys")}
        ORDER BY d.alert_seq, d.seq ${sql.limit(":limit")}`,
     )} ORDER BY d.alert_seq, d.seq`,
    toDueDelivery,
  );
  const firstDue = (isBulk: boolean) =>
    `SELECT min(due_at) AS at FROM deliveries WHERE destination = :destination AND due_at IS NOT NULL AND ${sql.isBulk(isBulk)}`;
  const nextDue = sql.statement(
    { destination: "text" },
    `SELECT min(at) AS at FROM (${firstDue(false)} UNION ALL ${firstDue(true)}) AS kinds`,
    ({ at }: { at: number | null }) => at ?? undefined,
  );
  const countDueTogether = sql.statement(
    { destination: "text", recipient: "text", group: "text", now: "int8" },
    `SELECT count(*) AS n FROM deliveries
     WHERE destination = :destination AND due_at IS NOT NULL AND due_at <= :now AND ${sql.isBulk(false)} AND state = 'held'
       AND recipient = :recipient AND coalesce(group_name, '') = :group AND updates <> 'summary'`,
    ({ n }: { n: number | string }) => Number(n),
  );
  const listAbandoned = sql.statement(
    { destinations: "text[]", fences: "int8[]", limit: "int8" },
    `WITH held AS MATERIALIZED (SELECT * FROM ${sql.rowsOf({ destination: "destinations", fence: "fences" })} AS given)
     SELECT ${columns}, d.claim_token AS token FROM deliveries d ${sql.indexedBy("deliveries_by_state")}
       CROSS JOIN held CROSS JOIN alerts a
     WHERE held.destination = d.destination AND a.seq = d.alert_seq
       AND d.state = 'sending' AND d.claim_token IS NOT NULL AND (d.claim_fence < held.fence OR d.lease_until <= ${sql.now})
     ORDER BY d.alert_seq, d.seq ${sql.limit(":limit")}`,
    (row: DeliveryRow & { token: string }): AbandonedDelivery => ({ ...toDueDelivery(row), token: row.token }),
  );
  const lastInstead = sql.statement(
    { destination: "text", key: "text" },
    `SELECT ${sql.statusOf("a")} AS status FROM (
       SELECT * FROM alerts WHERE alert_key = :key AND repeat_of IS NULL ORDER BY alert_key DESC, seq DESC ${sql.limit(String(mostOfKey))}
     ) AS a JOIN deliveries d ON d.alert_seq = a.seq
     WHERE d.instead_of = :destination AND d.state NOT IN ${untoldStates} ORDER BY a.seq DESC LIMIT 1`,
    ({ status }: { status: string }) => status,
  );
  const listFallbacksDue = sql.statement(
    { now: "int8" },
    `SELECT ${columns} FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
     WHERE d.fallback_at <= :now ORDER BY d.fallback_at, d.seq LIMIT ${mostFallbacks}`,
    toDueDelivery,
  );
  return { listDue, listByKeys, nextDue, countDueTogether, listAbandoned, lastInstead, listFallbacksDue };
}

/** `due_at` is set exactly while a delivery may be claimed. */
export function createDueLists(sql: Dialect) {
  const findThread = findThreadIn(sql);
  const { listDue, listByKeys, nextDue, countDueTogether, listAbandoned, lastInstead, listFallbacksDue } =
    dueStatements(sql);

  return {
    listDue: async (tx, destination, now, limit, resentFirst = false) =>
      tx.run(listDue, { destination, now, limit, resent_first: resentFirst ? 1 : 0 }),

    listByKeys: async (tx, destination, alertKeys, limit) =>
      tx.run(listByKeys, { destination, keys: alertKeys, limit }),

    nextDueAt: async (tx, destination) => (await tx.run(nextDue, { destination }))[0],

    countDueTogether: async (tx, destination, recipient, group = "", now) =>
      (await tx.run(countDueTogether, { destination, recipient, group, now }))[0] ?? 0,

    listAbandoned: async (tx, held, limit) =>
      tx.run(listAbandoned, { destinations: Object.keys(held), fences: Object.values(held), limit }),

    listFallbacksDue: async (tx, now) => tx.run(listFallbacksDue, { now }),

    findThread: async (tx, destination, recipient, key) =>
      (await tx.run(findThread, { destination, recipient, key }))[0],

    async listToldInstead(tx, destination, keys) {
      const found = await tx.look(
        lastInstead,
        keys.map((key) => ({ destination, key })),
      );
      return keys.filter((_, index) => (found[index]?.[0] ?? "resolved") !== "resolved");
    },

    findThreads: async (tx, destination, recipient, keys) =>
      (
        await tx.look(
          findThread,
          keys.map((key) => ({ destination, recipient, key })),
        )
      ).flat(),
  } satisfies Partial<InTx<Dispatch>>;
}

type ShownRow = Pick<Row<"alerts">, "id" | "received_at" | "origin"> &
  Pick<Row<"deliveries">, "extras"> & { routed_at: number; facts: string };

/** The reads that messages are composed from. */
export function createMessageReading(sql: Dialect) {
  const findFacts = sql.statement(
    { seq: "int8", destination: "text" },
    `SELECT id, received_at, routed_at, origin, facts, (
       SELECT d.extras FROM deliveries d WHERE d.alert_seq = :seq AND d.destination = :destination ORDER BY d.seq LIMIT 1
     ) AS extras FROM alerts WHERE seq = :seq AND facts IS NOT NULL`,
    ({ facts, extras, ...row }: ShownRow) => ({
      ...fromRow(row, ["id", "received_at", "routed_at", "origin"]),
      facts: JSON.parse(facts) as AlertFacts,
      extras: readJson<MessageExtras>(extras),
    }),
  );
  const sizeOfRequest = sql.statement(
    { seq: "int8" },
    `SELECT a.request_seq, a.item, octet_length(r.body) AS bytes FROM alerts a JOIN requests r ON r.seq = a.request_seq
     WHERE a.seq = :seq`,
    (row: { request_seq: number; item: number; bytes: number }) => row,
  );
  const readRequest = sql.statement(
    { seq: "int8" },
    "SELECT content_type, body FROM requests WHERE seq = :seq",
    (row: { content_type: string | null; body: Uint8Array }) => row,
  );

  return {
    findAlertFacts: async (tx, seq, destination) => (await tx.run(findFacts, { seq, destination }))[0],

    async findRequests(tx, alertSeqs, maxBytes) {
      const asked = alertSeqs.map((seq) => ({ seq }));
      const sizes = await tx.look(sizeOfRequest, asked);
      const alertsOf = new Map<number, AlertRequest["alerts"]>();
      let bytes = 0;
      for (const [index, [size]] of sizes.entries()) {
        if (size === undefined) continue;
        const { request_seq: requestSeq, item } = size;
        const alert = { seq: alertSeqs[index] as number, item };
        const known = alertsOf.get(requestSeq);
        if (known !== undefined) known.push(alert);
        else {
          bytes += size.bytes;
          if (bytes > maxBytes && alertsOf.size > 0) break;
          alertsOf.set(requestSeq, [alert]);
        }
      }
      const requests = [...alertsOf].map(([seq, alerts]) => ({ seq, alerts }));
      const bodies = await tx.look(readRequest, requests);
      return requests.flatMap(({ alerts }, index) =>
        (bodies[index] ?? []).map(({ content_type, body }) => ({
          contentType: content_type ?? undefined,
          body,
          alerts,
        })),
      );
    },
  } satisfies InTx<Dispatch, "findAlertFacts" | "findRequests">;
}
