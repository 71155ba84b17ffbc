import type { AlertChange, AlertCounts, ChangeCursor } from "../../../core/ports/alert-log.ts";
import type { Acceptance, Inbox } from "../../../core/ports/inbox.ts";
import type { Removal, RemovalStep, RoomGiven } from "../../../core/ports/retention.ts";
import { fullListBytes, type UnroutedRequest } from "../../../core/ports/routing-desk.ts";
import { createListing } from "../../listing/listing.ts";
import { createOverTime } from "../../listing/over-time.ts";
import { type ListedRow, listedColumns, toSummary } from "../../log-entries.ts";
import { toPosition } from "../../positions.ts";
import type { Asked } from "../../transactions/accepting.ts";
import {
  createSharedTransactions,
  type JointMethods,
  type RemoveOld,
  type SharedMethods,
} from "../../transactions/index.ts";
import { type Dialect, runJoint, type Tx } from "../../tx.ts";
import { toUnrouted, type UnroutedRow, unroutedColumns } from "../../unrouted.ts";
import { fromChangeCursor, toChangeCursor } from "../cursors.ts";
import { createSqliteDialect, runShared } from "../tx.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { createListWords } from "./list-words.ts";
import { createStepCounter } from "./over-time.ts";
import { createSearching, createSearchParts } from "./searching.ts";
import { createWriting } from "./writing.ts";

/** Every transaction function of the port, for one connection that may write. */
export function createTransactions(context: TransactionContext, sql = createSqliteDialect(context)) {
  const searching = createSearching(context);
  const writing = createWriting(context, searching);
  const { shared, joint, acceptRequests, removeOld } = createSharedTransactions(sql, {
    ...{ relayName: "", startedAt: "" },
    newId: context.newId,
  });
  const bound = Object.entries(shared).map(([name, transaction]) => {
    const work = transaction as (tx: Tx, ...args: unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => runShared((tx) => work(tx, ...args), context, writing)];
  });
  const accept = (asked: readonly Asked[]) => runShared((tx) => acceptRequests(tx, asked), context, writing);
  const together: JointMethods & Inbox = {
    acceptRequest: async (request, drafts) => (await accept([{ request, drafts }]))[0] as Acceptance,
    claimRun: (...call) => runShared((tx) => runJoint(tx, joint.claimRun, call), context),
    recordAttempt: (...call) => runShared((tx) => runJoint(tx, joint.recordAttempt, call), context),
  };
  return {
    ...(Object.fromEntries(bound) as SharedMethods),
    ...together,
    acceptRequests: accept,
    ...createRouting(context),
    ...createLog(context, sql),
    indexAlerts: searching.indexAlerts,
    ...createRemoving(context, removeOld),
  };
}

export type Transactions = ReturnType<typeof createTransactions>;
export type TransactionName = keyof Transactions;

function createRouting({ db }: Pick<TransactionContext, "db">) {
  const listFresh = db.prepare<[number, number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts WHERE seq > ? AND routed_at IS NULL AND route_failures = 0
     ORDER BY seq ${boundLimit}`,
  );
  const listUrgent = db.prepare<[number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts WHERE severity = 'urgent' AND route_failures = 0 ORDER BY seq ${boundLimit}`,
  );
  const findFailed = db.prepare<[number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts WHERE routed_at IS NULL AND route_failures > 0 AND route_after <= ?
     ORDER BY route_after, seq LIMIT 1`,
  );
  /** The alerts of a request are in adjacent rows. */
  const listRest = db.prepare<[number, number, number, number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts
     WHERE seq > ? AND seq < ? + (SELECT items FROM requests WHERE seq = ?) AND request_seq = ? AND routed_at IS NULL`,
  );
  const findRequest = db.prepare<[number], { content_type: string | null; body: Uint8Array }>(
    "SELECT content_type, body FROM requests WHERE seq = ?",
  );
  function restOfRequest(row: UnroutedRow): UnroutedRow[] {
    return listRest.all(row.seq, row.seq - row.item, row.request_seq, row.request_seq);
  }

  return {
    listUnrouted(limit: number, now: number, after = 0, isUrgent = false): UnroutedRequest[] {
      let bytes = 0;
      const open = ({ request_seq }: UnroutedRow) => {
        const found = findRequest.get(request_seq);
        const body = found?.body ?? new Uint8Array();
        bytes += body.length;
        return { contentType: found?.content_type ?? undefined, body };
      };
      const openNext = (row: UnroutedRow) => (bytes >= fullListBytes ? undefined : open(row));
      const fresh = isUrgent ? listUrgent.all(limit) : listFresh.all(after, limit);
      const last = fresh.at(-1);
      if (fresh.length === limit && last !== undefined)
        fresh.push(...restOfRequest(last).filter((row) => row.route_failures === 0));
      const failed = findFailed.all(now).flatMap((row) => {
        return [row, ...restOfRequest(row).filter((one) => one.route_failures > 0)];
      });
      return [...toUnrouted(fresh, openNext), ...toUnrouted(failed, open)];
    },
  };
}

/** Reads the log. Every filter has an index that ends in the alert's position. */
function createLog({ db }: Pick<TransactionContext, "db">, sql: Dialect) {
  const changes = db.prepare<[number, number], ListedRow>(
    `SELECT ${listedColumns(sql)} FROM alerts a WHERE a.version > ? ORDER BY a.version ${boundLimit}`,
  );
  // The index has only alerts with a version. Without the condition SQLite reads the whole table.
  const version = db.prepare<[], number | null>("SELECT max(version) FROM alerts WHERE version IS NOT NULL").pluck();
  const latestVersion = (): number => version.get() ?? 0;
  const total = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();
  const receivedAtOf = db
    .prepare<[number], number>("SELECT received_at FROM alerts WHERE seq >= ? ORDER BY seq LIMIT 1")
    .pluck();
  const removed = db.prepare<[], number>("SELECT count FROM removed_alerts").pluck();
  // Tests and notices are few, so only the newest alerts of the table are read.
  const last = db
    .prepare<[], number | null>("SELECT received_at FROM alerts WHERE origin = 'hook' ORDER BY seq DESC LIMIT 1")
    .pluck();
  const duplicates = db.prepare<[], number>("SELECT count FROM duplicate_count").pluck();

  return {
    ...createListing(createListWords({ db }, sql)),
    countOverTime: createOverTime(createStepCounter({ db }, sql)),

    listChanges: (after: ChangeCursor | undefined, limit: number): AlertChange[] =>
      changes.all(after === undefined ? 0 : fromChangeCursor(after), limit).map((row) => ({
        ...toSummary(row),
        cursor: toChangeCursor(row.version ?? 0),
      })),

    latestVersion,
    latestChange: (): ChangeCursor => toChangeCursor(latestVersion()),
    knowsChange: (cursor: ChangeCursor): boolean => fromChangeCursor(cursor) <= latestVersion(),

    countAlerts(): AlertCounts {
      const accepted = total.get() ?? 0;
      return {
        total: accepted,
        kept: accepted - (removed.get() ?? 0),
        oldestReceivedAt: receivedAtOf.get(0),
        lastReceivedAt: last.get() ?? undefined,
      };
    },

    countDuplicates: (): number => duplicates.get() ?? 0,
  };
}

/** Pages that are moved and cut off the end of the file at once: 256 KiB. */
const pagesAtOnce = 32;

/** Free room that stays in the file, as a share of it. New rows use it. Without it the file would only grow again. */
const reserve = 0.02;

/** Removes old alerts with their part of the search index, and makes the file smaller. */
function createRemoving(context: TransactionContext, removeOld: RemoveOld) {
  const { db } = context;
  const parts = createSearchParts(context);
  const lastAlert = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();

  function usedBytes(): number {
    const pages = db.pragma("page_count", { simple: true }) as number;
    const free = db.pragma("freelist_count", { simple: true }) as number;
    return (pages - free) * (db.pragma("page_size", { simple: true }) as number);
  }

  async function remove(step: RemovalStep): Promise<Pick<Removal, "removed" | "next">> {
    // The search index of former removals is cleared first: their writes to the log must be known before more is removed.
    if (parts.clearForgotten()) return { removed: 0, next: step.after ?? toPosition(0) };
    const { from, to, ...done } = await runShared((tx) => removeOld(tx, step), context);
    parts.shrink(from, to);
    return done;
  }

  return {
    async removeAlerts(step: RemovalStep): Promise<Removal> {
      const startedAt = performance.now();
      const done = await remove(step);
      return { ...done, accepted: lastAlert.get() ?? 0, usedBytes: usedBytes(), tookMs: performance.now() - startedAt };
    },

    giveBackRoom(): RoomGiven {
      const startedAt = performance.now();
      let more = parts.clearForgotten();
      if (!more) {
        const kept = Math.floor((db.pragma("page_count", { simple: true }) as number) * reserve);
        const spare = (db.pragma("freelist_count", { simple: true }) as number) - kept;
        if (spare > 0) db.pragma(`incremental_vacuum(${Math.min(spare, pagesAtOnce)})`);
        more = spare > pagesAtOnce;
      }
      return { more, tookMs: performance.now() - startedAt };
    },
  };
}
