import { routesThatTook } from "../../../core/rules.ts";
import { insertedColumns, markedColumns, type TableName } from "../../tables.ts";
import { hourMs } from "../../transactions/statistics.ts";
import {
  type NewRequest,
  newColumns,
  type RoutedAlert,
  toRoutedColumns,
  toRoutedRow,
  type Written,
} from "../../transactions/writing.ts";
import type { TransactionContext } from "./context.ts";
import type { Searching } from "./searching.ts";

export type Writing = ReturnType<typeof createWriting>;

const stored = [...markedColumns("isStored", "sqlite"), "request_seq"];
const routed = [...markedColumns("isRouted", "sqlite"), "version"];

/** Writes accepted and routed alerts, row by row. */
export function createWriting(context: TransactionContext, { indexedUpTo, indexLate }: Searching) {
  const { db, now } = context;
  const namesOf = (table: TableName) => insertedColumns(table).map(([name]) => name);
  const insertRequest = insertInto("requests", namesOf("requests"));
  const insertAlert = insertInto("alerts", [...stored, "severity"]);
  const insertRouted = insertInto("alerts", [...stored, ...routed]);
  const insertDelivery = insertInto("deliveries", [...newColumns.map(([name]) => name), "lease_until"]);
  const markRouted = db.prepare(
    `UPDATE alerts SET ${routed.map((name) => `${name} = ?`).join(", ")}, routing_error = NULL
     WHERE seq = ? AND routed_at IS NULL`,
  );
  const countRepeat = db.prepare("UPDATE duplicate_count SET count = count + 1");
  const countRoute = db.prepare(
    `INSERT INTO route_hours VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET alerts = alerts + excluded.alerts, last_at = excluded.last_at, last_id = excluded.last_id`,
  );
  const startCounting = db.prepare("UPDATE statistics_start SET route_hour = ? WHERE route_hour IS NULL");

  /** Gives the row's position. An absent value is null. */
  function insertInto(table: TableName, names: readonly string[]): (row: Record<string, unknown>) => number {
    const statement = db.prepare(
      `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    );
    return (row) => Number(statement.run(names.map((name) => row[name] ?? null)).lastInsertRowid);
  }

  /** Written with the rest of the row, which then need not be written a second time. */
  const toRouted = (alert: RoutedAlert) => ({ version: ++context.version, ...toRoutedColumns(alert) });

  function insertDeliveries(alertSeq: number, { deliveries }: RoutedAlert, written: Map<string, number>): void {
    for (const delivery of deliveries) {
      const { lease_ms: leaseMs, ...row } = toRoutedRow(delivery);
      const leaseUntil = leaseMs === null ? null : now() + leaseMs;
      written.set(delivery.id, insertDelivery({ ...row, alert_seq: alertSeq, lease_until: leaseUntil }));
    }
  }

  function count(alerts: readonly RoutedAlert[]): void {
    const taken = new Map<string, { alerts: number; lastId: string }>();
    for (const { alert, decisions } of alerts) {
      if (alert.repeatOf !== undefined) countRepeat.run();
      for (const route of routesThatTook(decisions))
        taken.set(route, { alerts: (taken.get(route)?.alerts ?? 0) + 1, lastId: alert.id });
    }
    if (taken.size === 0) return;
    const at = alerts[0]?.record.routedAt ?? 0;
    const hour = Math.floor(at / hourMs);
    for (const [route, { alerts, lastId }] of taken) countRoute.run(route, hour, alerts, at, lastId);
    startCounting.run(hour);
  }

  return {
    storeRequests(requests: readonly NewRequest[]): Written {
      const written = new Map<string, number>();
      const counted: RoutedAlert[] = [];
      for (const { row, alerts } of requests) {
        const requestSeq = insertRequest(row);
        for (const { row, routed } of alerts) {
          const stored = { ...row, request_seq: requestSeq };
          if (routed === undefined) written.set(row.id, insertAlert(stored));
          else {
            const seq = insertRouted({ ...stored, ...toRouted(routed) });
            written.set(row.id, seq);
            insertDeliveries(seq, routed, written);
            counted.push(routed);
          }
        }
      }
      count(counted);
      return written;
    },

    routeAlerts(alerts: readonly RoutedAlert[]): Written {
      const written = new Map<string, number>();
      const indexedTo = indexedUpTo();
      for (const one of alerts) {
        const { alertSeq: seq, facts } = one.record;
        const row: Record<string, unknown> = toRouted(one);
        markRouted.run(
          routed.map((name) => row[name]),
          seq,
        );
        if (seq <= indexedTo) indexLate(seq, facts);
        written.set(one.alert.id, seq);
        insertDeliveries(seq, one, written);
      }
      count(alerts);
      return written;
    },
  };
}
