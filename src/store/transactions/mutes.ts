import type { AlertFacts, Severity } from "../../core/alert.ts";
import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { MuteStore, SilencedKeys } from "../../core/ports/shared.ts";
import { rowOf, toMute } from "../rows.ts";
import { columnNames, type Row } from "../tables.ts";
import type { Dialect, InTx, Tx } from "../tx.ts";
import { createLockedLook } from "./name-lock.ts";

export function createMutes(sql: Dialect) {
  const insert = sql.insertion("mutes");
  const end = sql.statement(
    { id: "text", at: "int8" },
    "UPDATE mutes SET ends_at = :at WHERE id = :id AND ends_at > :at RETURNING id",
  );
  const list = sql.statement(
    { now: "int8" },
    `SELECT ${columnNames("mutes").join(", ")} FROM mutes WHERE ends_at > :now
     ORDER BY created_at DESC, id DESC LIMIT 1000`,
    toMute,
  );

  const lookLocked = createLockedLook(sql, "endedKey");
  const findLast = sql.statement(
    { key: "text" },
    `SELECT ${sql.statusOf("a")} AS status FROM alerts a WHERE a.alert_key = :key AND a.repeat_of IS NULL
     ORDER BY a.seq DESC LIMIT 1`,
    ({ status }: { status: string | null }) => status,
  );

  return {
    async addMute(tx, mute) {
      if (mute.untilOver !== undefined) {
        // Waits for an end that another relay is routing, which could not see this mute.
        const [[last] = []] = await lookLocked(tx, findLast, [{ key: mute.untilOver }], ({ key }) => key);
        if (last === "resolved") return "over";
      }
      const row = rowOf({ ...mute, matchers: JSON.stringify(mute.matchers) }, columnNames("mutes"));
      await tx.insert(insert, [row], {});
      tx.notes.mutes = true;
      return "done";
    },
    async endMute(tx, id, at) {
      const ended = await tx.run(end, { id, at });
      // Signalled even if the mute had ended before: another relay may not know of it.
      tx.notes.mutes = true;
      return ended.length > 0;
    },
    listMutes: async (tx, now, includeEnded) => tx.run(list, { now: includeEnded ? -1 : now }),
  } satisfies InTx<MuteStore, "addMute" | "endMute" | "listMutes">;
}

/** The mutes "until it is over" that concern the alerts that are routed. */
export type OverMutes = Awaited<ReturnType<ReturnType<typeof createOverMutes>>>;

/** Routing an end ends the mutes "until it is over" of its key. Another relay that routes an alert of the key waits for that. */
export function createOverMutes(sql: Dialect) {
  const find = sql.statement(
    { keys: "text[]", at: "int8" },
    `SELECT until_over FROM mutes WHERE until_over ${sql.isOneOf(":keys")} AND ends_at > :at ${sql.forUpdate("id")}`,
    (row: { until_over: string }) => row.until_over,
  );
  const end = sql.statement(
    { keys: "text[]", at: "int8" },
    `UPDATE mutes SET ends_at = :at WHERE until_over ${sql.isOneOf(":keys")} AND ends_at > :at`,
  );
  const isEnd = ({ endEdits }: RoutingRecord) => endEdits !== undefined;
  const keyOf = ({ facts }: RoutingRecord) => sql.kept(facts.alertKey);

  return async (tx: Tx, records: readonly RoutingRecord[]) => {
    const keys = [...new Set(records.filter((one) => isEnd(one) || one.ifOver !== undefined).map(keyOf))];
    const at = records[0]?.routedAt ?? 0;
    const holding = new Set(keys.length === 0 ? [] : await tx.run(find, { keys, at }));
    const over = new Set<string>();
    return {
      /** Called in the order of the records. Where the mute has ended, deliveries are planned without it. */
      settle(record: RoutingRecord): RoutingRecord {
        const key = keyOf(record);
        if (isEnd(record) && holding.delete(key)) over.add(key);
        return record.ifOver === undefined || holding.has(key) ? record : { ...record, ...record.ifOver };
      },
      async save(tx: Tx): Promise<void> {
        if (over.size === 0) return;
        await tx.run(end, { keys: [...over], at });
        tx.notes.mutes = true;
      },
    };
  };
}

/** Place 0 has the worst alert of all, whether its key is over or not. */
type LatestRow = Pick<Row<"alerts">, "id" | "seq" | "origin" | "received_at"> &
  Record<"destination" | "facts", string> & { place: number };

type CountedRow = { destination: string; severity: Severity } & Record<"is_over" | "alerts" | "keys", number>;

/** The deliveries that mutes have held back, without those that were sent since by a release or by hand. */
export function createSilenced(sql: Dialect) {
  const muted = `deliveries d ${sql.indexedBy("deliveries_muted")}`;
  const isLeft = "d.resent_by IS NULL";
  const count = sql.statement(
    { mutes: "text[]" },
    `SELECT d.mute_id, count(DISTINCT d.alert_seq) AS alerts FROM ${muted}
     WHERE d.mute_id ${sql.isOneOf(":mutes")} AND ${isLeft} GROUP BY d.mute_id`,
    (row: { mute_id: string; alerts: number }) => ({ mutedBy: row.mute_id, alerts: row.alerts }),
  );
  const rankOf = (alert: string) =>
    `CASE ${alert}.severity WHEN 'critical' THEN 3 WHEN 'warning' THEN 2 WHEN 'info' THEN 0 ELSE 1 END`;
  // The rank before the position makes the newest alert of the worst severity the largest of its key.
  const step = 1_000_000_000_000_000;
  const keys = `
    last AS MATERIALIZED (
      SELECT d.destination, a.alert_key, max(d.alert_seq) AS seq, count(DISTINCT d.alert_seq) AS alerts,
        max(CASE WHEN ${sql.statusOf("a")} = 'resolved' THEN 0 ELSE ${rankOf("a")} * ${step} + a.seq END) AS worst
      FROM ${muted} JOIN alerts a ON a.seq = d.alert_seq
      WHERE d.mute_id = :mute AND ${isLeft} GROUP BY d.destination, a.alert_key),
    ends AS MATERIALIZED (
      SELECT e.alert_key, max(e.seq) AS seq FROM alerts e
      WHERE ${sql.statusOf("e")} = 'resolved' AND e.alert_key IN (SELECT alert_key FROM last) GROUP BY e.alert_key),
    judged AS MATERIALIZED (
      SELECT l.destination, l.alerts, CASE WHEN e.seq >= l.seq THEN 1 ELSE 0 END AS is_over,
        CASE WHEN e.seq >= l.seq THEN l.seq ELSE l.worst % ${step} END AS seq
      FROM last l LEFT JOIN ends e ON e.alert_key = l.alert_key)`;
  const countKeys = sql.statement(
    { mute: "text" },
    `WITH ${keys}
     SELECT j.destination, a.severity, j.is_over, sum(j.alerts) AS alerts, count(*) AS keys
     FROM judged j JOIN alerts a ON a.seq = j.seq GROUP BY j.destination, a.severity, j.is_over ORDER BY j.destination`,
    (row: CountedRow) => ({ ...row, alerts: Number(row.alerts) }),
  );
  const listKeys = sql.statement(
    { mute: "text", most: "int8" },
    `WITH ${keys},
     ranked AS MATERIALIZED (
       SELECT j.destination, j.seq, row_number() OVER (
         PARTITION BY j.destination ORDER BY j.is_over, ${rankOf("a")} DESC, j.seq DESC) AS place
       FROM judged j JOIN alerts a ON a.seq = j.seq
       UNION ALL SELECT l.destination, max(l.worst) % ${step}, 0 FROM last l GROUP BY l.destination)
     SELECT r.destination, r.place, a.id, a.seq, a.origin, a.received_at, a.facts
     FROM ranked r JOIN alerts a ON a.seq = r.seq WHERE r.place <= :most ORDER BY r.destination, r.place`,
    ({ destination, place, received_at: receivedAt, facts, ...alert }: LatestRow) => ({
      destination,
      isWorst: Number(place) === 0,
      alert: { ...alert, receivedAt, facts: JSON.parse(facts) as AlertFacts },
    }),
  );

  return {
    countSilenced: async (tx, mutes) => (mutes.length === 0 ? [] : tx.run(count, { mutes })),
    async listSilenced(tx, mute, most) {
      const [counted, latest] = await Promise.all([tx.run(countKeys, { mute }), tx.run(listKeys, { mute, most })]);
      const found = new Map<string, SilencedKeys>();
      for (const { destination, severity, is_over: isOver, alerts, keys } of counted) {
        const its = found.get(destination) ?? { alerts: 0, keys: 0, firing: {}, latest: [] };
        its.alerts += alerts;
        its.keys += keys;
        if (isOver === 0) its.firing[severity] = keys;
        found.set(destination, its);
      }
      for (const { destination, isWorst, alert } of latest) {
        const its = found.get(destination);
        if (isWorst && its !== undefined) its.worst = alert;
        else its?.latest.push(alert);
      }
      return found;
    },
  } satisfies InTx<MuteStore, "countSilenced" | "listSilenced">;
}
