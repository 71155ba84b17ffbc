import type { AlertFacts, AlertOrigin } from "../../../core/alert.ts";
import type { DeliveryPurpose } from "../../../core/delivery.ts";
import type {
  MadeDelivery,
  NoticeRecord,
  PlannedClaim,
  RecordedAlert,
  RoutingRecord,
  UnroutedRequest,
} from "../../../core/ports/routing-desk.ts";
import { type PlannedDelivery, routesThatTook } from "../../../core/rules.ts";
import { type EarlierEnd, mostEnds, untoldStates, withoutToldEnd } from "../../told-ends.ts";
import type { SharedMethods } from "../../transactions/index.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import type { Counting } from "./counting.ts";
import { underFence } from "./lanes.ts";
import type { LookedUp, Repeats } from "./repeats.ts";
import type { Searching } from "./searching.ts";
import type { Bound } from "./shared.ts";

interface UnroutedRow {
  seq: number;
  id: string;
  request_seq: number;
  item: number;
  origin: AlertOrigin;
  source: string | null;
  received_at: number;
  route_failures: number;
  routing_error: string | null;
}

const unroutedColumns = "seq, id, request_seq, item, origin, source, received_at, route_failures, routing_error";

const noLookUp: LookedUp = {};
const nothingToSend: ReturnType<typeof withoutToldEnd> = { decisions: [], deliveries: [] };

/** Bodies of one list; the rest comes with the next. Reading them takes time from the thread that accepts. */
const maxBodyBytes = 4 * 1024 * 1024;

/** Gives the position and the id of what it inserts. */
export type InsertDelivery = (
  alertSeq: number,
  planned: PlannedDelivery,
  purpose: DeliveryPurpose,
  at: number,
  insteadOf?: string,
) => MadeDelivery;

export function createDeliveryInsertion({ db, newId, changed }: TransactionContext): InsertDelivery {
  const insert = db.prepare(
    `INSERT INTO deliveries (id, alert_seq, destination, channel, recipient, route, purpose, instead_of, state, reason,
       created_at, due_at, finished_at, updates, freshness_ms, fallback_to, fallback_at, instead_because)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (alertSeq, planned, purpose, at, insteadOf) => {
    const muted = planned.state === "muted";
    const id = newId();
    const { lastInsertRowid } = insert.run(
      id,
      alertSeq,
      planned.destination,
      planned.channel,
      planned.recipient,
      planned.route,
      purpose,
      insteadOf ?? null,
      planned.state,
      planned.reason,
      at,
      muted ? null : planned.dueAt,
      muted ? at : null,
      planned.updates,
      planned.freshnessMs ?? null,
      planned.fallback?.to ?? null,
      muted ? null : (planned.fallback?.at ?? null),
      planned.insteadBecause ?? null,
    );
    changed.add(alertSeq);
    return { seq: Number(lastInsertRowid), id };
  };
}

interface ToClaim {
  delivery: MadeDelivery;
  claim: PlannedClaim;
}

/** T2: what was decided for an alert, and the deliveries that follow from it. */
export function createRouting(
  context: TransactionContext,
  insertDelivery: InsertDelivery,
  { indexedUpTo, indexLate }: Pick<Searching, "indexedUpTo" | "indexLate">,
  { lookUp }: Repeats,
  {
    claimEach,
    saveStatus,
    saveWatchState,
    countRoutes,
  }: Pick<Bound, "claimEach"> & Pick<SharedMethods, "saveStatus" | "saveWatchState"> & Pick<Counting, "countRoutes">,
) {
  const { db, changed } = context;
  const listFresh = db.prepare<[number, number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts WHERE seq > ? AND routed_at IS NULL AND route_failures = 0
     ORDER BY seq ${boundLimit}`,
  );
  const findFailed = db.prepare<[number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts WHERE routed_at IS NULL AND route_failures > 0 AND route_after <= ?
     ORDER BY route_after, seq LIMIT 1`,
  );
  /** Alerts of one request were stored one behind the other. */
  const listRest = db.prepare<[number, number, number, number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts
     WHERE seq > ? AND seq < ? + (SELECT items FROM requests WHERE seq = ?) AND request_seq = ? AND routed_at IS NULL`,
  );
  const findRequest = db.prepare<[number], { content_type: string | null; body: Uint8Array }>(
    "SELECT content_type, body FROM requests WHERE seq = ?",
  );
  const markRouted = db.prepare(
    `UPDATE alerts SET version = ?, routed_at = ?, severity = ?, alert_key = ?, unmatched = ?, dropped = ?, facts = ?, decisions = ?,
       fingerprint = ?, repeat_of = ?, routing_error = NULL
     WHERE seq = ? AND routed_at IS NULL`,
  );
  const idOf = db.prepare<[number], string>("SELECT id FROM alerts WHERE seq = ?").pluck();
  const countRepeat = db.prepare("UPDATE duplicate_count SET count = count + 1");
  const markFailed = db.prepare(
    `UPDATE alerts SET route_failures = route_failures + 1, routing_error = ?, route_after = ?
     WHERE seq = ? AND routed_at IS NULL`,
  );
  const markOver = db.prepare(
    `UPDATE threads SET over_at = ? WHERE destination = ? AND recipient = ? AND alert_key = ?
       AND over_at IS NULL AND status <> 'resolved'`,
  );
  const listEnds = db.prepare<[string, number, string, number], { id: string; seq: number; facts: string }>(
    `SELECT id, seq, facts FROM alerts
     WHERE alert_key = ? AND seq <> ? AND repeat_of IS NULL AND facts ->> '$.status' = 'resolved' AND seq > coalesce((
       SELECT seq FROM alerts WHERE alert_key = ? AND seq < ? AND repeat_of IS NULL AND facts ->> '$.status' <> 'resolved'
       ORDER BY seq DESC LIMIT 1), 0)
     ORDER BY seq DESC LIMIT ${mostEnds}`,
  );
  const listTold = db.prepare<[number], EarlierEnd["told"][number]>(
    `SELECT destination, recipient FROM deliveries
     WHERE alert_seq = ? AND purpose <> 'test' AND state NOT IN ${untoldStates}`,
  );
  const insertNotice = db.prepare(
    `INSERT INTO alerts (id, request_seq, item, origin, received_at, routed_at, severity, alert_key, unmatched, facts,
       decisions)
     SELECT ?, NULL, 0, ?, ?, ?, ?, ?, ?, ?, ? WHERE ? IS NULL OR ${underFence}`,
  );

  function openRequest({ request_seq, source }: UnroutedRow): UnroutedRequest {
    const found = findRequest.get(request_seq);
    return {
      contentType: found?.content_type ?? undefined,
      body: found?.body ?? new Uint8Array(),
      ...(source !== null && { source }),
      alerts: [],
    };
  }

  function openRequests(rows: UnroutedRow[]): UnroutedRequest[] {
    const requests: UnroutedRequest[] = [];
    let bytes = 0;
    let requestSeq: number | undefined;
    for (const row of rows) {
      const failures = row.route_failures;
      let request = requests.at(-1);
      if (
        request === undefined ||
        requestSeq !== row.request_seq ||
        (request.alerts[0]?.failures === 0) !== (failures === 0)
      ) {
        if (bytes >= maxBodyBytes) break;
        requestSeq = row.request_seq;
        request = openRequest(row);
        bytes += request.body.length;
        requests.push(request);
      }
      request.alerts.push({
        seq: row.seq,
        id: row.id,
        item: row.item,
        origin: row.origin,
        receivedAt: row.received_at,
        failures,
        ...(row.routing_error !== null && { error: row.routing_error }),
      });
    }
    return requests;
  }

  function restOfRequest(row: UnroutedRow): UnroutedRow[] {
    return listRest.all(row.seq, row.seq - row.item, row.request_seq, row.request_seq);
  }

  function otherEnds(key: string, alertSeq: number): EarlierEnd[] {
    return listEnds
      .all(key, alertSeq, key, alertSeq)
      .map(({ id, seq, facts }) => ({ id, facts: JSON.parse(facts) as AlertFacts, told: listTold.all(seq) }));
  }

  async function claimMade(toClaim: readonly ToClaim[]): Promise<void> {
    const claimed = await claimEach(
      toClaim.map(({ delivery: { seq }, claim: { lane, token, leaseMs } }) => [
        lane,
        [{ token, deliverySeqs: [seq], leaseMs }],
      ]),
    );
    toClaim.forEach(({ delivery }, index) => {
      const [one] = claimed[index] ?? [];
      if (typeof one === "object") delivery.claimed = one;
    });
  }

  function leftToSend(record: RoutingRecord): ReturnType<typeof withoutToldEnd> {
    return record.endEdits === undefined
      ? record
      : withoutToldEnd(record, otherEnds(record.facts.alertKey, record.alertSeq));
  }

  return {
    listUnrouted(limit: number, now: number, after = 0): UnroutedRequest[] {
      const rows = listFresh.all(after, limit);
      const last = rows.at(-1);
      if (rows.length === limit && last !== undefined)
        rows.push(...restOfRequest(last).filter((row) => row.route_failures === 0));
      const failed = findFailed.get(now);
      if (failed !== undefined) rows.push(failed, ...restOfRequest(failed).filter((row) => row.route_failures > 0));
      return openRequests(rows);
    },

    async recordRouting(records: RoutingRecord[]): Promise<RecordedAlert[]> {
      const recorded: RecordedAlert[] = [];
      const toClaim: ToClaim[] = [];
      const taken = new Map<string, { alerts: number; lastId: string }>();
      const indexedTo = indexedUpTo();
      for (const record of records) {
        const { alertSeq, repeatWindowMs, isRepeatDespiteKey } = record;
        const { fingerprint, repeatOf } =
          repeatWindowMs === undefined ? noLookUp : lookUp(alertSeq, repeatWindowMs, isRepeatDespiteKey);
        const { decisions, deliveries } = repeatOf === undefined ? leftToSend(record) : nothingToSend;
        const isNowhere = !deliveries.some(Boolean) && repeatOf === undefined;
        const isDropped = isNowhere && decisions.some(({ result }) => result === "dropped");
        const isContained = decisions.some(({ result }) => result === "contained");
        const { changes } = markRouted.run(
          ++context.version,
          record.routedAt,
          record.facts.severity,
          record.facts.alertKey,
          isNowhere && !isDropped && !isContained ? 1 : 0,
          isDropped ? 1 : 0,
          JSON.stringify(record.facts),
          JSON.stringify(decisions),
          fingerprint ?? null,
          repeatOf ?? null,
          alertSeq,
        );
        if (changes === 0) continue;
        if (repeatOf !== undefined) countRepeat.run();
        for (const route of routesThatTook(decisions))
          taken.set(route, { alerts: (taken.get(route)?.alerts ?? 0) + 1, lastId: idOf.get(alertSeq) ?? "" });
        if (alertSeq <= indexedTo) indexLate(alertSeq, record.facts);
        const made: RecordedAlert["deliveries"] = [];
        recorded.push(
          repeatOf === undefined ? { alertSeq, deliveries: made } : { alertSeq, repeatOf, deliveries: made },
        );
        deliveries.forEach((planned, index) => {
          if (planned === undefined) {
            made.push(undefined);
            return;
          }
          const delivery: MadeDelivery = insertDelivery(alertSeq, planned, record.purpose, record.routedAt);
          made.push(delivery);
          if (record.facts.status === "resolved" && record.purpose === "alert")
            markOver.run(record.routedAt, planned.destination, planned.recipient, record.facts.alertKey);
          const claim = record.claims?.[index];
          if (claim !== undefined && planned.state === "queued") toClaim.push({ delivery, claim });
        });
      }
      if (toClaim.length > 0) await claimMade(toClaim);
      // They have their version with the rest of their rows, which need not be written a second time.
      for (const { alertSeq } of recorded) changed.delete(alertSeq);
      if (taken.size > 0) countRoutes(taken, records[0]?.routedAt ?? 0);
      return recorded;
    },

    recordRoutingFailure(alertSeqs: readonly number[], error: string, retryAt: number): void {
      for (const alertSeq of alertSeqs) {
        if (markFailed.run(error, retryAt, alertSeq).changes > 0) changed.add(alertSeq);
      }
    },

    async recordNotice(notice: NoticeRecord): Promise<"done" | "lost"> {
      const { group = null, fence = null } = notice.lane ?? {};
      const { origin = "notice" } = notice;
      const { changes, lastInsertRowid } = insertNotice.run(
        notice.id,
        origin,
        notice.at,
        notice.at,
        notice.facts.severity,
        notice.facts.alertKey,
        notice.deliveries.length === 0 ? 1 : 0,
        JSON.stringify(notice.facts),
        JSON.stringify(notice.decisions),
        group,
        group,
        fence,
      );
      if (changes === 0) return "lost";
      const alertSeq = Number(lastInsertRowid);
      changed.add(alertSeq);
      for (const planned of notice.deliveries) insertDelivery(alertSeq, planned, origin, notice.at);
      if (notice.watch !== undefined) await saveWatchState(notice.watch);
      if (notice.about !== undefined && notice.lane !== undefined) await saveStatus(notice.lane, notice.about);
      return "done";
    },
  };
}
