import type { AlertFacts, Severity } from "../../core/alert.ts";
import type { MuteStore, SilencedKeys } from "../../core/ports/shared.ts";
import type { Row } from "../tables.ts";
import type { Dialect, InTx } from "../tx.ts";

/** With place 0: the worst of all, whether it is over or not. */
type LatestRow = Pick<Row<"alerts">, "id" | "seq" | "origin" | "received_at"> &
  Record<"destination" | "facts", string> & { place: number };

type CountedRow = { destination: string; severity: Severity } & Record<"is_over" | "alerts" | "keys", number>;

/** What mutes have held back and nobody has released. A delivery that was sent since, by a release or by hand, is none of them. */
export function createSilenced(sql: Dialect) {
  const muted = `deliveries d ${sql.indexedBy("deliveries_muted")}`;
  const isLeft = "d.resent_by IS NULL";
  const count = sql.statement(
    "count_silenced",
    { mutes: "text[]" },
    `SELECT d.mute_id, count(DISTINCT d.alert_seq) AS alerts FROM ${muted}
     WHERE d.mute_id ${sql.isOneOf(":mutes")} AND ${isLeft} GROUP BY d.mute_id`,
    (row: { mute_id: string; alerts: number }) => ({ mutedBy: row.mute_id, alerts: row.alerts }),
  );
  const rankOf = (alert: string) =>
    `CASE ${alert}.severity WHEN 'critical' THEN 3 WHEN 'warning' THEN 2 WHEN 'info' THEN 0 ELSE 1 END`;
  // The number in front of a position makes the newest of the worst severity the largest of a key.
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
    "count_silenced_keys",
    { mute: "text" },
    `WITH ${keys}
     SELECT j.destination, a.severity, j.is_over, sum(j.alerts) AS alerts, count(*) AS keys
     FROM judged j JOIN alerts a ON a.seq = j.seq GROUP BY j.destination, a.severity, j.is_over ORDER BY j.destination`,
    (row: CountedRow) => ({ ...row, alerts: Number(row.alerts) }),
  );
  const listKeys = sql.statement(
    "list_silenced_keys",
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
