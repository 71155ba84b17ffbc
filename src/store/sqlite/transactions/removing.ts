import type { DeliveryState } from "../../../core/delivery.ts";
import type { Removal, RemovalStep, RoomGiven } from "../../../core/ports/retention.ts";
import { fromPosition, toPosition } from "../../positions.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { createSearchParts } from "./search-parts.ts";

interface OldAlert {
  seq: number;
  request_seq: number | null;
  item: number;
  received_at: number;
  routed_at: number | null;
  version: number | null;
  repeat_of: string | null;
}

interface OldDelivery {
  seq: number;
  state: DeliveryState;
  resent_by: number | null;
  /** Nothing is to become of it by itself. */
  idle: 0 | 1;
}

interface ThreadRow {
  destination: string;
  recipient: string;
  alert_key: string;
  root_alert_seq: number;
  last_alert_seq: number;
  last_at: number;
}

/** In front of every key of `threads`. */
const fromFirst: [string, string, string] = ["", "", ""];
/** There are at most about as many threads as deliveries, so all are gone through while a part of the log is removed. */
const threadsPerAlert = 2;

const finishedStates: readonly DeliveryState[] = ["sent", "failed", "muted", "expired", "digested"];

/**
 * Behind the first of these nothing is old: what is stored later came later, whatever a clock that was behind says. One from
 * the future says nothing of the others: a clock that was ahead for a while must not keep the log for as long.
 */
const isYoung = (receivedBefore: number, now: number) => (alert: OldAlert) =>
  alert.received_at >= receivedBefore && alert.received_at <= now;

/** 256 KiB of pages that are moved and cut off the end of the file. */
const pagesAtOnce = 32;

/** Room that stays, as a share of the file: what comes next takes it, and would only make the file grow again. */
const reserve = 0.02;

/**
 * Removes what is old, oldest first. `INTEGER PRIMARY KEY` numbers a row behind the last that there is, and an event
 * stream goes on by the highest version: so the alerts that hold the last of these numbers stay until there are later
 * ones. Whatever still names a removed row is then known to name nothing.
 */
export function createRemoving(
  { db, now }: Pick<TransactionContext, "db" | "now">,
  nowMs: () => number = () => performance.now(),
) {
  const parts = createSearchParts({ db });
  let threadsAfter = fromFirst;
  /** Behind it there are no gaps, so whether an alert is there need not be asked. */
  let walkedTo = 0;
  const list = db.prepare<[number, number], OldAlert>(
    `SELECT seq, request_seq, item, received_at, routed_at, version, repeat_of FROM alerts WHERE seq > ?
     ORDER BY seq ${boundLimit}`,
  );
  const deliveriesOf = db.prepare<[number], OldDelivery>(
    `SELECT seq, state, resent_by,
       due_at IS NULL AND claim_token IS NULL AND fallback_at IS NULL AS idle
     FROM deliveries WHERE alert_seq = ?`,
  );
  const lastAlert = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();
  const lastRequest = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM requests").pluck();
  const lastVersion = db
    .prepare<[], number | null>("SELECT max(version) FROM alerts WHERE version IS NOT NULL")
    .pluck();
  const alertOfLastDelivery = db
    .prepare<[], number>("SELECT alert_seq FROM deliveries ORDER BY seq DESC LIMIT 1")
    .pluck();
  const nextThreads = db.prepare<[string, string, string, number], ThreadRow>(
    `SELECT destination, recipient, alert_key, root_alert_seq, last_alert_seq, last_at FROM threads
     WHERE (destination, recipient, alert_key) > (?, ?, ?) ORDER BY destination, recipient, alert_key ${boundLimit}`,
  );
  const hasAlert = db.prepare<[number], number>("SELECT 1 FROM alerts WHERE seq = ?").pluck();
  const removeThread = db.prepare("DELETE FROM threads WHERE destination = ? AND recipient = ? AND alert_key = ?");
  const removeAttempts = db.prepare("DELETE FROM attempts WHERE delivery_seq = ?");
  const removeDeliveries = db.prepare("DELETE FROM deliveries WHERE alert_seq = ?");
  const removeAlert = db.prepare("DELETE FROM alerts WHERE seq = ?");
  /** Alerts of one request were stored one behind the other. */
  const othersOf = db
    .prepare<[number, number, number, number], number>(
      `SELECT 1 FROM alerts WHERE seq >= ? AND seq < ? + (SELECT items FROM requests WHERE seq = ?) AND request_seq = ?
       LIMIT 1`,
    )
    .pluck();
  const removeRequest = db.prepare<[number], { duplicates: number }>(
    "DELETE FROM requests WHERE seq = ? RETURNING duplicates",
  );
  const removeRefused = db.prepare("DELETE FROM refused_requests WHERE received_at < ?");
  const uncountDuplicates = db.prepare("UPDATE duplicate_count SET count = count - ?");
  const countRemoved = db.prepare("UPDATE removed_alerts SET count = count + ?");

  /** Whether it can be removed, and what goes with it. */
  function finishedDeliveries({ seq, routed_at }: OldAlert): OldDelivery[] | undefined {
    if (routed_at === null) return undefined;
    const deliveries = deliveriesOf.all(seq);
    const isFinished = deliveries.every(
      ({ state, resent_by, idle }) =>
        idle === 1 && (finishedStates.includes(state) || (state === "held" && resent_by !== null)),
    );
    return isFinished ? deliveries : undefined;
  }

  function remove({ seq }: OldAlert, deliveries: OldDelivery[]): void {
    for (const delivery of deliveries) removeAttempts.run(delivery.seq);
    if (deliveries.length > 0) removeDeliveries.run(seq);
    removeAlert.run(seq);
  }

  /**
   * Of the messages of a key, those whose last alert is gone. They lie by destination and key, and those of one step are all
   * over the table: to remove each with its alert would write a page for nearly every one. So each step goes on through
   * some of them, and round and round through all.
   */
  function removeThreads(limit: number, upTo: number, receivedBefore: number): void {
    walkedTo = Math.max(walkedTo, upTo);
    const rows = nextThreads.all(...threadsAfter, limit);
    const last = rows.at(-1);
    threadsAfter =
      rows.length < limit || last === undefined ? fromFirst : [last.destination, last.recipient, last.alert_key];
    for (const { destination, recipient, alert_key, root_alert_seq, last_alert_seq, last_at } of rows) {
      // One of before may not know its last alert (0); when its last message went out says as much.
      const seq = last_alert_seq || root_alert_seq;
      const isPast = seq <= walkedTo && (last_alert_seq > 0 || last_at < receivedBefore);
      if (isPast && hasAlert.get(seq) === undefined) removeThread.run(destination, recipient, alert_key);
    }
  }

  /** Of requests of which an alert was removed, with the place of their first: those that have none any more. */
  function removeRequests(touched: Map<number, number>): number {
    let duplicates = 0;
    for (const [requestSeq, first] of touched) {
      if (othersOf.get(first, first, requestSeq, requestSeq) !== undefined) continue;
      duplicates += removeRequest.get(requestSeq)?.duplicates ?? 0;
    }
    return duplicates;
  }

  function usedBytes(): number {
    const pages = db.pragma("page_count", { simple: true }) as number;
    const free = db.pragma("freelist_count", { simple: true }) as number;
    return (pages - free) * (db.pragma("page_size", { simple: true }) as number);
  }

  function removeOld({ after, receivedBefore, limit }: RemovalStep): Pick<Removal, "removed" | "next"> {
    const from = after === undefined ? 0 : (fromPosition(after)[0] as number);
    const listed = list.all(from, limit);
    const firstYoung = listed.findIndex(isYoung(receivedBefore, now()));
    const rows = firstYoung === -1 ? listed : listed.slice(0, firstYoung);
    const last = rows.at(-1);
    if (last === undefined) {
      removeThreads(limit * threadsPerAlert, (listed[0]?.seq ?? from + 1) - 1, receivedBefore);
      parts.shrink(from, listed[0]?.seq ?? from);
      return { removed: 0 };
    }
    const isOld = ({ received_at }: OldAlert) => received_at < receivedBefore;
    const needed = {
      seqs: [lastAlert.get(), alertOfLastDelivery.get()],
      request: lastRequest.get(),
      version: lastVersion.get(),
    };
    const requests = new Map<number, number>();
    let removed = 0;
    let duplicates = 0;
    for (const row of rows) {
      const isNeeded =
        needed.seqs.includes(row.seq) || row.request_seq === needed.request || row.version === (needed.version ?? -1);
      const deliveries = isOld(row) && !isNeeded ? finishedDeliveries(row) : undefined;
      if (deliveries === undefined) continue;
      remove(row, deliveries);
      removed += 1;
      if (row.repeat_of !== null) duplicates += 1;
      if (row.request_seq !== null) requests.set(row.request_seq, row.seq - row.item);
    }
    duplicates += removeRequests(requests);
    if (duplicates > 0) uncountDuplicates.run(duplicates);
    if (removed > 0) countRemoved.run(removed);
    removeThreads(limit * threadsPerAlert, last.seq, receivedBefore);
    parts.shrink(from, (listed[firstYoung] ?? last).seq);
    return rows.length < limit ? { removed } : { removed, next: toPosition(last.seq) };
  }

  return {
    removeAlerts(step: RemovalStep): Removal {
      const startedAt = nowMs();
      // First what was freed by the last ones, so that what the log takes is known before more is removed.
      if (step.after === undefined) removeRefused.run(step.receivedBefore);
      const done = parts.clearForgotten() ? { removed: 0, next: step.after ?? toPosition(0) } : removeOld(step);
      return { ...done, accepted: lastAlert.get() ?? 0, usedBytes: usedBytes(), tookMs: nowMs() - startedAt };
    },

    giveBackRoom(): RoomGiven {
      const startedAt = nowMs();
      let more = parts.clearForgotten();
      if (!more) {
        const kept = Math.floor((db.pragma("page_count", { simple: true }) as number) * reserve);
        const spare = (db.pragma("freelist_count", { simple: true }) as number) - kept;
        if (spare > 0) db.pragma(`incremental_vacuum(${Math.min(spare, pagesAtOnce)})`);
        more = spare > pagesAtOnce;
      }
      return { more, tookMs: nowMs() - startedAt };
    },
  };
}
