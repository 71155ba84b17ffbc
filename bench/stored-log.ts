/**
 * `npx tsx bench/stored-log.ts ALERTS --keep DIR`: writes a data folder with a log of this many alerts, as after months
 * of use (a million take some minutes and 3 GB; DIR must not have a log yet).
 * The rows are those of the store's transactions, written in bulk and without syncs.
 * `test/store/postgres/listing.test.ts` reads them back through both drivers.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Database, Statement } from "better-sqlite3";
import { createIdSource } from "../src/core/id.ts";
import { fingerprintOf } from "../src/store/fingerprint.ts";
import { openDatabase } from "../src/store/sqlite/open-database.ts";
import { createSearching } from "../src/store/sqlite/transactions/searching.ts";
import { createSeededRandom } from "../test/support/seeded-random.ts";
import { type SampleDelivery, type SampleRequest, sampleRequests } from "./sample-alerts.ts";

type Row = Record<string, unknown>;

const dayMs = 86_400_000;
const headers = JSON.stringify([
  ["host", "tocsin.example.com"],
  ["user-agent", "watcher/4.2"],
  ["content-type", "application/json"],
  ["x-forwarded-for", "203.0.113.7"],
]);

const detail = "400 Bad Request: chat not found";
const failure = { reason: "bad_address", detail };
const lost = { reason: `gave up after 6 tries: ${detail}`, last_detail: detail, last_reason: failure.reason };

/** @param endAt the instant of the newest alert, epoch milliseconds. Default: now */
export function writeStoredLog({ path, alerts, endAt = Date.now() }: { path: string; alerts: number; endAt?: number }) {
  const db = openDatabase({ path });
  // A crash loses nothing, as the log can be written again.
  db.pragma("journal_mode = OFF");
  db.pragma("synchronous = OFF");
  const writer = new RowWriter(db);
  const { indexAlerts } = createSearching({ db });
  db.transaction(() => {
    for (const request of sampleRequests(alerts, endAt)) writer.writeRequest(request);
    writer.writeRest(endAt);
    while (indexAlerts(5_000) > 0);
  })();
  db.pragma("journal_mode = WAL");
  db.close();
  return { ...writer.written, endAt };
}

/** Writes the rows that the store's transactions leave for a request and its alerts, at the end of all steps. */
class RowWriter {
  readonly written = { alerts: 0, deliveries: 0, startAt: 0 };
  readonly #db: Database;
  readonly #random = createSeededRandom(2).next;
  readonly #newId = createIdSource(() => this.#clock);
  readonly #inserting = new Map<string, Statement<unknown[]>>();
  readonly #threads = new Map<string, Row>();
  #clock = 0;
  #digestId = this.#newId();
  #lastId: string | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  writeRequest({ row, alerts }: SampleRequest): void {
    this.#clock = row.received_at;
    this.written.startAt ||= row.received_at;
    const fingerprint = fingerprintOf(row.body);
    const sent = { content_type: "application/json", headers };
    const requestSeq = this.#add("requests", { ...row, ...sent, fingerprint, items: alerts.length });
    const ids = alerts.map(() => this.#newId());
    for (const [item, alert] of alerts.entries()) {
      const id = ids[item] ?? "";
      const own = { id, request_seq: requestSeq, item, received_at: row.received_at };
      this.#writeAlert(alert, own, row.dedupe_key === undefined ? fingerprint : undefined);
      if (alert.outcome === "delivered") this.#lastId = id;
    }
  }

  #writeAlert(alert: SampleRequest["alerts"][number], row: Row & { received_at: number }, fingerprint?: number): void {
    const { facts, outcome, deliveries } = alert;
    this.written.alerts += 1;
    const number = this.written.alerts;
    const routedAt = row.received_at + 3;
    const routed = outcome && {
      // Most alerts changed last shortly after they came. Some changed much later.
      version: this.#random() < 0.01 ? (number + 1_000) * 3 + 1 : number * 3,
      routed_at: routedAt,
      severity: facts.severity,
      alert_key: facts.alertKey,
      unmatched: Number(outcome === "unmatched"),
      dropped: Number(outcome === "dropped"),
      facts: JSON.stringify(facts),
      decisions: JSON.stringify(decisionsOf(outcome, deliveries)),
      ...(outcome === "repeat" ? { repeat_of: this.#lastId } : { fingerprint }),
    };
    const seq = this.#add("alerts", { ...row, origin: number % 2_000 === 0 ? "test" : "hook", ...routed });
    this.#clock = routedAt;
    for (const delivery of deliveries) {
      this.#writeDelivery(seq, delivery, routedAt);
      if (delivery.state === "sent") this.#keepThread(seq, delivery, facts.alertKey, routedAt);
    }
  }

  #writeDelivery(alertSeq: number, row: SampleDelivery, at: number): void {
    const { state, due_at: dueAt } = row;
    const isLost = state === "failed" || state === "expired";
    const isUnclear = state === "held" && dueAt === undefined;
    const wasTried = state !== "muted" && state !== "queued" && dueAt === undefined;
    const attempts = isLost ? 3 : Number(wasTried);
    const latencyMs = 40 + Math.floor(this.#random() * 400);
    if (this.#random() < 0.1) this.#digestId = this.#newId();
    this.written.deliveries += 1;
    const seq = this.#add("deliveries", {
      ...row,
      id: this.#newId(),
      alert_seq: alertSeq,
      route: "everything",
      reason: "",
      created_at: at,
      finished_at: dueAt === undefined && !isUnclear ? at + latencyMs : null,
      attempts,
      ambiguous: Number(isUnclear),
      progress: state === "sent" ? `{"refs":["${this.written.deliveries}"]}` : '{"refs":[]}',
      digest_id: state === "digested" ? this.#digestId : null,
      updates: "auto",
      ...(isLost && lost),
    });
    if (row.purpose === "resend")
      this.#db.prepare("UPDATE deliveries SET resent_by = ? WHERE seq = ?").run(seq, seq - 1);
    const outcome = isLost ? "rejected" : isUnclear ? "ambiguous" : "sent";
    const attempt = { delivery_seq: seq, duration_ms: latencyMs, action: "send", part: 1, parts: 1, outcome };
    for (let number = 1; number <= attempts; number += 1)
      this.#add("attempts", { ...attempt, at: at + number * 5, ...(isLost && failure) });
  }

  #keepThread(alertSeq: number, { destination, recipient }: SampleDelivery, alertKey: string, at: number): void {
    const ref = String(alertSeq);
    const first = {
      destination,
      recipient,
      alert_key: alertKey,
      root_ref: ref,
      root_alert_seq: alertSeq,
      first_at: at,
    };
    const known = this.#threads.get(`${destination} ${alertKey}`) ?? { ...first, count: 0 };
    const last = { last_ref: ref, last_alert_seq: alertSeq, last_new_at: at, last_at: at };
    const count = Number(known.count) + 1;
    this.#threads.set(`${destination} ${alertKey}`, { ...known, ...last, count, severity: "info", status: "firing" });
  }

  /** Writes rows that are known only at the end. */
  writeRest(endAt: number): void {
    for (const row of this.#threads.values()) this.#add("threads", row);
    for (let number = 0; number < 40; number += 1) {
      this.#clock = endAt - number * dayMs;
      this.#add("mutes", {
        id: this.#newId(),
        matchers: JSON.stringify([{ field: "token", condition: { equals: [`MAINTENANCE${number}`] } }]),
        reason: `maintenance ${number}`,
        starts_at: this.#clock,
        ends_at: this.#clock + (number < 5 ? 30 : 1) * dayMs,
        created_at: this.#clock,
        created_by: "page",
      });
    }
    this.#db.exec(
      `UPDATE duplicate_count SET count = (SELECT coalesce(sum(duplicates), 0) FROM requests)
         + (SELECT count(*) FROM alerts WHERE repeat_of IS NOT NULL)`,
    );
  }

  /** @returns its position */
  #add(table: string, row: Row): number {
    const names = Object.keys(row);
    const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
    const statement = this.#inserting.get(sql) ?? this.#db.prepare<unknown[]>(sql);
    this.#inserting.set(sql, statement);
    return Number(statement.run(...Object.values(row).map((value) => value ?? null)).lastInsertRowid);
  }
}

function decisionsOf(outcome: string, deliveries: SampleDelivery[]) {
  if (outcome === "repeat") return [];
  if (outcome === "dropped") return [{ route: "noise", result: "dropped", reason: "severity is info" }];
  const missed = { route: "criticals", result: "not_matched", reason: "severity is not critical" };
  const sent = deliveries.map(({ destination, state }) => ({
    route: "everything",
    destination,
    result: state === "muted" ? "muted" : "deliver",
    reason: "every alert",
  }));
  return [missed, ...sent];
}

if (import.meta.filename === resolve(process.argv[1] ?? "")) {
  const [, , alerts = "", option, folder] = process.argv;
  if (!(Number(alerts) >= 1) || option !== "--keep" || folder === undefined)
    throw new Error("usage: npx tsx bench/stored-log.ts ALERTS --keep DIR");
  mkdirSync(folder, { recursive: true });
  const path = join(resolve(folder), "tocsin.db");
  if (existsSync(path)) throw new Error(`${path} is there already; name another folder`);
  const { deliveries } = writeStoredLog({ path, alerts: Number(alerts) });
  const seconds = (performance.now() / 1000).toFixed(0);
  console.error(`${alerts} alerts, ${deliveries} deliveries, ${seconds} s`);
}
