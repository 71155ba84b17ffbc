import { fullListBytes, type RoutingDesk } from "../../core/ports/routing-desk.ts";
import type { SharedTransactions } from "../transactions/index.ts";
import { isUnrouted } from "../transactions/repeats.ts";
import { toUnrouted, type UnroutedRow, unroutedColumns } from "../unrouted.ts";
import type { Database } from "./database.ts";
import { toTx } from "./tx.ts";

export interface RoutingOptions extends Pick<SharedTransactions, "recordRouting" | "recordRoutingFailure"> {
  /** This process routes the alerts of this relay first, see `routed_by`. */
  relayName: string;
  /** The id under which this process is announced, and noted as the reader of alerts. */
  relayId: string;
}

interface ListedRow extends UnroutedRow {
  content_type: string | null;
  /** Present for the first alert of its request. */
  body: Uint8Array | null;
  is_ending?: boolean;
}

/** How long no other relay gets the alerts that this one got. */
const untilNext = "clock_timestamp() + interval '10 seconds'";
/** When less time is left, the next list extends it. */
const soon = "clock_timestamp() + interval '3 seconds'";
/**
 * Only an unrouted alert has it. Written so that a planner reads along the index of severities, in the order `severity, seq`: along
 * another one it would pass thousands of others where nothing is urgent any more.
 */
const looksUrgent = "severity BETWEEN 'urgent' AND 'urgent'";
const isUnroutedOf = (relay: string) => `${isUnrouted("alerts")} AND coalesce(routed_by, '') = ${relay}`;
/** Whether the relay that is noted as the reader still runs, by its lease. */
const isReaderAlive =
  "EXISTS (SELECT FROM relays WHERE relays.id = readings.reader AND relays.gone_at > clock_timestamp())";
/** No relay has routed the alert in time. One that is being read waits longer than a lease, in case it kills its reader. */
const isLeftBehind = (reader: string) => `routing_until <= clock_timestamp()
  AND (routing_until <= clock_timestamp() - interval '20 seconds' OR NOT EXISTS (
    SELECT FROM readings WHERE readings.alert_seq = alerts.seq AND readings.reader <> ${reader} AND ${isReaderAlive}))`;
/** Alerts that a relay takes over at once from relays that have died or cannot keep up. */
const mostTakenOver = 1_000;
/** Turns of giving up, each with as many alerts. */
const mostTurns = 20;

/** T2. Each relay routes the alerts that it has accepted, and takes over those that another has not routed in time. */
export function createRouting(
  database: Database,
  { relayName, relayId, recordRouting, recordRoutingFailure }: RoutingOptions,
) {
  /** Alerts that were given out and are not routed yet. One before `after` may become visible late: the next list has it. */
  const givenOut = new Set<number>();
  /** False for a command that runs next to the relay, under the relay's name. */
  let isRouting = false;
  let isLeft = false;
  /** True at the start too. */
  let othersHaveLeft = true;
  /** Alerts up to this position may have been given to an earlier process. Later ones were accepted by this one. */
  let foreignUpTo: number | undefined;

  async function giveUp(): Promise<void> {
    await database.single.query("DELETE FROM readings WHERE reader = $1", [relayId]);
    for (let turn = 0; turn < mostTurns; turn += 1) {
      const count = await database.transaction(async (tx) => {
        const { rowCount } = await tx.query(
          `WITH own AS MATERIALIZED (
             SELECT seq FROM alerts WHERE routed_by = $1 AND routed_at IS NULL AND routing_until > '-infinity'
             ORDER BY seq LIMIT ${mostTakenOver} FOR UPDATE SKIP LOCKED)
           UPDATE alerts SET routing_until = '-infinity' WHERE seq = ANY (ARRAY(SELECT seq FROM own))`,
          [relayName],
        );
        if (rowCount > 0) tx.notes.left = true;
        return rowCount;
      });
      if (count < mostTakenOver) return;
    }
  }

  async function takeOver(): Promise<void> {
    const { rows } = await database.single.query<{ upTo: number | null }>(
      `WITH ${[
        ["urgent", looksUrgent, "severity, seq"],
        ["over", "routed_at IS NULL", "routing_until, seq"],
      ].map(
        ([name, which, order]) => `${name} AS MATERIALIZED (
         SELECT seq FROM alerts WHERE ${which} AND routed_by IS DISTINCT FROM $1 AND ${isLeftBehind("$2")}
         ORDER BY ${order} LIMIT ${mostTakenOver} FOR UPDATE SKIP LOCKED)`,
      )},
       taken AS (
         UPDATE alerts SET routed_by = $1, routing_until = ${untilNext}
         WHERE seq = ANY (ARRAY(SELECT seq FROM urgent UNION ALL SELECT seq FROM over))
         RETURNING seq)
       SELECT CASE WHEN $3 THEN (SELECT CASE WHEN is_called THEN last_value END FROM alerts_seq_seq)
         ELSE (SELECT max(seq) FROM taken) END AS "upTo"`,
      // A killed process of this name may have been storing an alert, which is committed later.
      [relayName, relayId, foreignUpTo === undefined],
    );
    foreignUpTo = Math.max(foreignUpTo ?? 0, rows[0]?.upTo ?? 0);
  }

  async function extend(seqs: number[]): Promise<void> {
    await database.single.query(
      `WITH own AS MATERIALIZED (
         SELECT seq FROM alerts WHERE seq = ANY($2::bigint[]) AND ${isUnroutedOf("$1")}
         ORDER BY seq FOR NO KEY UPDATE SKIP LOCKED)
       UPDATE alerts SET routing_until = ${untilNext} WHERE seq = ANY (ARRAY(SELECT seq FROM own))`,
      [relayName, seqs],
    );
  }

  async function listFresh(limit: number, after: number, isUrgent: boolean): Promise<ListedRow[]> {
    const { rows } = await database.single.query<ListedRow>(
      `WITH first AS MATERIALIZED (
         SELECT ${unroutedColumns}, routing_until FROM alerts
         WHERE routed_by = $1 AND ${isUrgent ? looksUrgent : "routed_at IS NULL"} AND route_failures = 0
           AND (seq > $2 OR seq <> ALL ($3::bigint[]))
         ORDER BY ${isUrgent ? "severity, seq" : "seq"} LIMIT $4),
       listed AS MATERIALIZED (
         SELECT * FROM first
         UNION ALL
         SELECT ${unroutedColumns}, routing_until FROM alerts
         WHERE request_seq = (SELECT request_seq FROM first ORDER BY seq DESC LIMIT 1)
           AND seq > (SELECT max(seq) FROM first HAVING count(*) = $4)
           AND ${isUnroutedOf("$1")} AND route_failures = 0),
       sized AS (
         SELECT r.seq, r.content_type, r.body, of.first,
           sum(octet_length(r.body)) OVER (ORDER BY of.first) - octet_length(r.body) AS before
         FROM (SELECT request_seq, min(seq) AS first FROM listed GROUP BY request_seq) AS of
         JOIN requests r ON r.seq = of.request_seq)
       SELECT ${unroutedColumns.replaceAll(/\w+/g, "l.$&")}, s.content_type, CASE WHEN l.seq = s.first THEN s.body END AS body,
         l.routing_until < ${soon} AS is_ending
       FROM listed l LEFT JOIN sized s ON s.seq = l.request_seq
       WHERE coalesce(s.before, 0) < ${fullListBytes} ORDER BY s.first, l.seq`,
      [relayName, after, after === 0 ? [] : [...givenOut].filter((seq) => seq <= after), limit],
    );
    const ending = rows.filter((row) => row.is_ending).map(({ seq }) => seq);
    if (ending.length > 0) await extend(ending);
    return rows;
  }

  /** The failed alerts whose next try is due, of one request at most. */
  async function listFailed(now: number): Promise<ListedRow[]> {
    const { rows } = await database.single.query<ListedRow>(
      `WITH first AS MATERIALIZED (
         SELECT seq, request_seq FROM alerts
         WHERE routed_at IS NULL AND route_failures > 0 AND route_after <= $2
           AND (routed_by = $1 OR ${isLeftBehind("$3")})
         ORDER BY route_after, seq LIMIT 1 FOR UPDATE SKIP LOCKED),
       listed AS (
         UPDATE alerts SET routed_by = $1, routing_until = ${untilNext}
         WHERE request_seq = (SELECT request_seq FROM first) AND seq >= (SELECT seq FROM first)
           AND routed_at IS NULL AND route_failures > 0 AND (routed_by = $1 OR ${isLeftBehind("$3")})
         RETURNING ${unroutedColumns})
       SELECT ${unroutedColumns.replaceAll(/\w+/g, "l.$&")}, r.content_type,
         CASE WHEN l.seq = (SELECT seq FROM first) THEN r.body END AS body
       FROM listed l LEFT JOIN requests r ON r.seq = l.request_seq ORDER BY l.seq`,
      [relayName, now, relayId],
    );
    return rows;
  }

  /**
   * Notes this process as the reader, before the alerts are read. Alerts that it has accepted itself are not noted, which saves a
   * write in the usual case. An alert that kills every reader may therefore end one process more.
   * @returns the alerts whose former reader has ended. A reader that runs again after a freeze was not killed by them. When
   * several relays list an alert, one gets it, or one death would count twice
   */
  async function noteReading(rows: readonly UnroutedRow[]): Promise<Set<number>> {
    if (rows.length === 0) return new Set();
    const { rows: ended } = await database.single.query<{ alert_seq: number }>(
      `WITH left_behind AS MATERIALIZED (
         SELECT alert_seq FROM readings WHERE alert_seq = ANY ($1::bigint[]) AND reader <> $2 AND NOT ${isReaderAlive}
         ORDER BY alert_seq FOR UPDATE),
       ended AS (
         DELETE FROM readings WHERE alert_seq = ANY (ARRAY(SELECT alert_seq FROM left_behind)) RETURNING alert_seq),
       noted AS (
         INSERT INTO readings (alert_seq, reader)
         SELECT DISTINCT seq, $2 FROM unnest($1::bigint[]) AS seq
         WHERE seq <> ALL (ARRAY(SELECT alert_seq FROM ended)) ORDER BY seq
         ON CONFLICT (alert_seq) DO UPDATE SET reader = excluded.reader WHERE readings.reader <> excluded.reader)
       SELECT alert_seq FROM ended`,
      [rows.map(({ seq }) => seq), relayId],
    );
    return new Set(ended.map(({ alert_seq }) => alert_seq));
  }

  const desk: Omit<Required<RoutingDesk>, "recordNotice"> = {
    async listUnrouted(limit, now, after = 0, isUrgent = false) {
      isRouting = true;
      const isFromStart = after === 0 && limit > 0 && !isUrgent;
      if (isFromStart || othersHaveLeft) {
        othersHaveLeft = false;
        await takeOver();
      }
      if (isFromStart) givenOut.clear();
      const [fresh, failed] = await Promise.all([limit > 0 ? listFresh(limit, after, isUrgent) : [], listFailed(now)]);
      for (const { seq } of fresh) givenOut.add(seq);
      const foreign = fresh.filter(({ seq }) => seq <= (foreignUpTo ?? 0));
      const interrupted = await noteReading([...foreign, ...failed]);
      const requests = [...toUnrouted(fresh, openRequest), ...toUnrouted(failed, openRequest)];
      if (interrupted.size === 0) return requests;
      return requests.map((request) =>
        request.alerts.some(({ seq }) => interrupted.has(seq)) ? { ...request, isInterrupted: true } : request,
      );
    },

    async recordRouting(records) {
      const recorded = await database.transaction((tx) => recordRouting(toTx(tx, tx.notes), records));
      for (const { alertSeq } of records) givenOut.delete(alertSeq);
      return recorded;
    },

    // An alert that another relay has taken over fails or succeeds there. A killed process has also noted it in its file, and one
    // death would count twice.
    async recordRoutingFailure(alertSeqs, error, retryAt) {
      await database.transaction(async (tx) => {
        const { rows } = await tx.query<{ seq: number }>(
          `SELECT seq FROM alerts WHERE seq = ANY ($1::bigint[]) AND ${isUnroutedOf("$2")} ORDER BY seq FOR NO KEY UPDATE`,
          [alertSeqs, relayName],
        );
        const own = rows.map(({ seq }) => seq);
        await Promise.all([
          recordRoutingFailure(toTx(tx, tx.notes), own, error, retryAt),
          tx.query("DELETE FROM readings WHERE alert_seq = ANY($1::bigint[])", [own]),
        ]);
      });
      for (const seq of alertSeqs) givenOut.delete(seq);
    },

    async leaveRouting(toOthers) {
      isLeft = toOthers;
      if (toOthers) await giveUp();
    },
  };
  return {
    ...desk,
    /** Whether this relay leaves the alerts that it accepts to the others. */
    isLeft: () => isLeft,
    /** Other relays have left alerts. The next list takes them over. */
    noteLeft(): void {
      othersHaveLeft = true;
    },
    /** For the end of this relay: leaves the unrouted alerts to the others. */
    async giveUpRouting(): Promise<void> {
      if (isRouting) await giveUp();
    },
  };
}

const openRequest = ({ content_type, body }: ListedRow) => ({
  contentType: content_type ?? undefined,
  // Copied: the body is a part of the connection's larger buffer.
  body: new Uint8Array(body ?? []),
});
