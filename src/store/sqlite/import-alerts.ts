import { rmSync } from "node:fs";
import type { Database } from "better-sqlite3";
import type { DeliveryState } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { giveToOwner } from "../../ground/files/replace-file.ts";
import { fingerprintOf } from "../fingerprint.ts";
import { openDatabase } from "./open-database.ts";
import { noRoomError } from "./restore-database.ts";
import { isDiskFull } from "./store-error.ts";
import { createSearchParts } from "./transactions/search-parts.ts";

/** An alert as another log had it. */
export type ExportedAlert = Omit<AlertDetail, "position" | "version">;

export interface ImportedCount {
  imported: number;
  /** Their ids are in the log already. */
  present: number;
  /** They were not routed yet where they come from. To take them over would be to send them. */
  unrouted: number;
  /** Deliveries that had not come to their end there: they count as expired, and can be resent. */
  ended: number;
  /** Imported, and older than what this log keeps. */
  old: number;
}

/** What an export's delivery is in the log that takes it over: nothing of it goes out by itself. */
function endedState({ state, dueAt }: { state: DeliveryState; dueAt?: number }): DeliveryState {
  const isOpen =
    state === "queued" || state === "waiting" || state === "sending" || (state === "held" && dueAt !== undefined);
  return isOpen ? "expired" : state;
}

/**
 * Takes alerts over into the log at `path` (made if there is none), each at the place of its time. All of them in one
 * transaction: a kill in the middle leaves the log as it was. Nobody else may have it open.
 *
 * The lines are first laid down in a table of a temporary file, sorted by id, since an export is newest first and may be
 * larger than the memory.
 *
 * @param parse reads a line; each is read twice.
 * @param keptSince what came before is counted as `old`. Epoch milliseconds.
 * @throws what `lines` or `parse` throw, or the database; the log is then unchanged.
 */
export async function importAlerts(
  path: string,
  lines: AsyncIterable<string>,
  parse: (line: string) => ExportedAlert,
  keptSince = 0,
): Promise<ImportedCount> {
  const db = openDatabase({ path });
  giveToOwner(path);
  try {
    db.pragma("temp_store = FILE");
    // Positions of alerts are changed together with those that name them.
    db.pragma("foreign_keys = OFF");
    db.exec(
      "CREATE TEMP TABLE incoming (id TEXT PRIMARY KEY, repeat_of TEXT, line TEXT NOT NULL) STRICT, WITHOUT ROWID",
    );
    db.exec("CREATE INDEX temp.incoming_repeats ON incoming (repeat_of) WHERE repeat_of IS NOT NULL");
    const count: ImportedCount = { imported: 0, present: 0, unrouted: 0, ended: 0, old: 0 };
    const parseCounted = (line: string) => {
      const alert = parse(line);
      if (alert.receivedAt < keptSince) count.old += 1;
      return alert;
    };
    await stage(db, lines, parse, count);
    db.transaction(() => {
      takeOver(db, parseCounted, count);
      // It names alerts by their places, which are others from here on. Without it what a body killed is tried once more.
      if (count.imported > 0) rmSync(`${path}.reading`, { force: true });
    }).immediate();
    return count;
  } catch (error) {
    throw isDiskFull(error) ? noRoomError(path, error) : error;
  } finally {
    db.close();
  }
}

async function stage(
  db: Database,
  lines: AsyncIterable<string>,
  parse: (line: string) => ExportedAlert,
  count: ImportedCount,
): Promise<void> {
  const add = db.prepare("INSERT OR IGNORE INTO incoming VALUES (?, ?, ?)");
  const known = db.prepare("SELECT 1 FROM alerts WHERE id = ?");
  for await (const line of lines) {
    const { id, routedAt, facts, repeatOf } = parse(line);
    if (known.get(id) !== undefined) count.present += 1;
    else if (routedAt === undefined || facts === undefined) count.unrouted += 1;
    else if (add.run(id, repeatOf ?? null, line).changes === 0) count.present += 1;
  }
}

function takeOver(db: Database, parse: (line: string) => ExportedAlert, count: ImportedCount): void {
  const one = (sql: string, ...values: unknown[]) =>
    db
      .prepare<unknown[], number | null>(sql)
      .pluck()
      .get(...values) ?? 0;
  const incoming = one("SELECT count(*) FROM incoming");
  if (incoming === 0) return;
  const [first, last] = ["min", "max"].map((edge) => db.prepare(`SELECT ${edge}(id) FROM incoming`).pluck().get());
  const oldest = one("SELECT min(seq) FROM alerts");
  const newest = one("SELECT max(seq) FROM alerts");
  // Where they were removed from, there is room for them.
  const isOlderThanAll =
    oldest > incoming && one("SELECT count(*) FROM (SELECT 1 FROM alerts WHERE id < ? LIMIT 1)", last) === 0;
  const insert = createInsertion(db, count);
  let place = isOlderThanAll ? oldest : newest + incoming + 1;
  if (isOlderThanAll) db.prepare("UPDATE removed_alerts SET count = count - ?").run(incoming);
  // Behind the oldest that is taken over everything moves up, the newest first, so that no place is taken twice.
  const from = isOlderThanAll ? newest + 1 : one("SELECT min(seq) FROM alerts WHERE id > ?", first);
  const move = createMoving(db);
  const staying = db.prepare<[number], { seq: number; id: string }>(
    "SELECT seq, id FROM alerts WHERE seq < ? ORDER BY seq DESC LIMIT 1",
  );
  const nextIncoming = db.prepare<[string], { id: string; line: string }>(
    "SELECT id, line FROM incoming WHERE id < ? ORDER BY id DESC LIMIT 1",
  );
  const mayMove = (row: { seq: number; id: string } | undefined) =>
    row !== undefined && from > 0 && row.seq >= from ? row : undefined;
  let here = isOlderThanAll ? undefined : mayMove(staying.get(newest + 1));
  let there = nextIncoming.get("\u{10ffff}");
  while (there !== undefined) {
    place -= 1;
    if (here !== undefined && here.id > there.id) {
      move(here.seq, place);
      here = mayMove(staying.get(here.seq));
    } else {
      insertOne(insert, place, parse(there.line));
      there = nextIncoming.get(there.id);
    }
  }
  move.threads();
  indexAnew(db, place);
}

/** @throws AppError where a delivery of it has the id of another: someone has edited the file. */
function insertOne(insert: (seq: number, alert: ExportedAlert) => void, seq: number, alert: ExportedAlert): void {
  try {
    insert(seq, alert);
  } catch (error) {
    if (!/^SQLITE_CONSTRAINT/.test((error as { code?: string }).code ?? "")) throw error;
    throw new AppError("invalid_request", `alert ${alert.id}: ${(error as Error).message}`, {
      hint: "has the file been edited? Each id may occur only once, in it and in this log; nothing was changed",
      cause: error,
    });
  }
}

/** Gives an alert another place, which is free. */
function createMoving(db: Database) {
  db.exec("CREATE TEMP TABLE moved (old INTEGER PRIMARY KEY, new INTEGER NOT NULL) STRICT");
  const moveAlert = db.prepare("UPDATE alerts SET seq = ? WHERE seq = ?");
  const moveDeliveries = db.prepare("UPDATE deliveries SET alert_seq = ? WHERE alert_seq = ?");
  const remember = db.prepare("INSERT INTO moved VALUES (?, ?)");
  const move = (from: number, to: number) => {
    if (from === to) return;
    moveAlert.run(to, from);
    moveDeliveries.run(to, from);
    remember.run(from, to);
  };
  return Object.assign(move, {
    threads() {
      for (const column of ["root_alert_seq", "last_alert_seq"]) {
        db.exec(
          `UPDATE threads SET ${column} = (SELECT new FROM moved WHERE old = ${column})
           WHERE ${column} IN (SELECT old FROM moved)`,
        );
      }
    },
  });
}

function createInsertion(db: Database, count: ImportedCount) {
  const insertRequest = db.prepare(
    `INSERT INTO requests (received_at, content_type, headers, body, fingerprint, items, dedupe_key, conflict, duplicates)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertAlert = db.prepare(
    `INSERT INTO alerts (seq, id, request_seq, item, origin, received_at, routed_at, routing_error, severity, alert_key,
       unmatched, dropped, facts, decisions, repeat_of, source)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertDelivery = db.prepare(
    `INSERT INTO deliveries (id, alert_seq, destination, channel, recipient, route, purpose, instead_of, state, reason,
       created_at, finished_at, attempts, ambiguous, last_detail, last_reason, digest_id, updates)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'auto')`,
  );
  const insertAttempt = db.prepare(
    `INSERT INTO attempts (delivery_seq, at, duration_ms, action, part, parts, outcome, reason, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const standFor = db.prepare("UPDATE deliveries SET resent_by = ? WHERE seq = ?");
  const repeatsOf = db.prepare<[string], number>("SELECT count(*) FROM incoming WHERE repeat_of = ?").pluck();
  const countDuplicates = db.prepare("UPDATE duplicate_count SET count = count + ?");
  /** Alerts of one request come one behind the other, the last of them first. */
  let lastRequest: { seq: number; item: number; receivedAt: number; items: number; body: Uint8Array } | undefined;

  function requestOf({ id, request }: ExportedAlert): number | null {
    if (request === undefined) return null;
    const { receivedAt, body, item, items } = request;
    const isSame =
      lastRequest !== undefined &&
      lastRequest.receivedAt === receivedAt &&
      lastRequest.items === items &&
      item < lastRequest.item &&
      Buffer.compare(lastRequest.body, body) === 0;
    if (!isSame) {
      const duplicates = Math.max(0, request.duplicates - (repeatsOf.get(id) ?? 0));
      const { lastInsertRowid } = insertRequest.run(
        receivedAt,
        request.contentType ?? null,
        JSON.stringify(request.headers),
        body,
        fingerprintOf(body),
        items,
        request.dedupeKey ?? null,
        request.conflict ? 1 : 0,
        duplicates,
      );
      if (duplicates > 0) countDuplicates.run(duplicates);
      lastRequest = { seq: Number(lastInsertRowid), item, receivedAt, items, body };
    } else if (lastRequest !== undefined) lastRequest.item = item;
    return lastRequest?.seq ?? null;
  }

  function insertDeliveries(seq: number, { deliveries }: ExportedAlert): void {
    const seqs = new Map<string, number>();
    for (const delivery of deliveries) {
      const { attempts } = delivery;
      const state = endedState(delivery);
      const isEnded = state !== delivery.state;
      if (isEnded) count.ended += 1;
      const last = attempts.at(-1);
      const { lastInsertRowid } = insertDelivery.run(
        delivery.id,
        seq,
        delivery.destination,
        delivery.channel,
        delivery.recipient,
        delivery.route,
        delivery.purpose,
        delivery.insteadOf ?? null,
        state,
        isEnded
          ? `it was ${delivery.state} in the log that it was exported from, and an import sends nothing`
          : delivery.reason,
        delivery.createdAt,
        delivery.finishedAt ?? (isEnded ? delivery.createdAt : null),
        attempts.length,
        attempts.filter(({ outcome }) => outcome === "ambiguous").length,
        last?.detail ?? null,
        last?.reason ?? null,
        delivery.digestId ?? null,
      );
      seqs.set(delivery.id, Number(lastInsertRowid));
      for (const { at, durationMs, action, part, parts, outcome, reason, detail } of attempts)
        insertAttempt.run(
          lastInsertRowid,
          at,
          durationMs,
          action,
          part,
          parts,
          outcome,
          reason ?? null,
          detail ?? null,
        );
    }
    for (const { id, resentBy } of deliveries) {
      if (resentBy !== undefined && seqs.has(resentBy)) standFor.run(seqs.get(resentBy), seqs.get(id));
    }
  }

  return (seq: number, alert: ExportedAlert): void => {
    const { facts } = alert;
    insertAlert.run(
      seq,
      alert.id,
      requestOf(alert),
      alert.request?.item ?? 0,
      alert.origin,
      alert.receivedAt,
      alert.routedAt,
      alert.routingError ?? null,
      facts?.severity ?? null,
      facts?.alertKey ?? null,
      alert.unmatched ? 1 : 0,
      alert.dropped ? 1 : 0,
      JSON.stringify(facts),
      JSON.stringify(alert.decisions),
      alert.repeatOf ?? null,
      alert.source ?? null,
    );
    if (alert.repeatOf !== undefined) countDuplicates.run(1);
    insertDeliveries(seq, alert);
    count.imported += 1;
  };
}

/** What stands at or behind this place is indexed again when the relay runs, from the beginning of the part it is in. */
function indexAnew(db: Database, seq: number): void {
  const first = (db.prepare("SELECT max(first_seq) FROM search_parts WHERE first_seq <= ?").pluck().get(seq) ??
    seq) as number;
  db.prepare("DELETE FROM search_parts WHERE first_seq >= ?").run(first);
  const parts = createSearchParts({ db });
  while (parts.clearForgotten());
  parts.open(first);
  db.prepare("UPDATE search_cursor SET alert_seq = min(alert_seq, ?)").run(first - 1);
}
