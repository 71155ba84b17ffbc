/**
 * `npx tsx bench/stored-log.ts ALERTS --keep DIR`: writes a data folder with a log of this many alerts, as after months
 * of use (a million take about a minute and 3 GB; DIR must not have a log yet).
 * The rows are those of the store's transactions, written in bulk: indexes and counts are made at the end, without
 * syncs. `test/store/postgres/listing.test.ts` reads them back through both drivers.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Database, Statement } from "better-sqlite3";
import { createIdSource } from "../src/core/id.ts";
import { fingerprintOf } from "../src/store/fingerprint.ts";
import { openDatabase } from "../src/store/sqlite/open-database.ts";
import { createContext } from "../src/store/sqlite/transactions/context.ts";
import { createSearching } from "../src/store/sqlite/transactions/searching.ts";
import {
  createRandom,
  type SampleAlert,
  type SampleDelivery,
  type SampleOptions,
  type SampleRequest,
  sampleDestinations,
  sampleRequests,
} from "./sample-alerts.ts";

export interface StoredLogOptions extends Omit<SampleOptions, "endAt"> {
  path: string;
  /** The instant of the newest alert, epoch milliseconds. Default: now. */
  endAt?: number;
  onProgress?: (alerts: number) => void;
}

export interface StoredLog {
  alerts: number;
  requests: number;
  deliveries: number;
  startAt: number;
  endAt: number;
  /** The id of the alert at each hundredth of the log, oldest first. */
  ids: string[];
}

const indexedAtOnce = 5_000;

export function writeStoredLog({ path, endAt = Date.now(), onProgress, ...options }: StoredLogOptions): StoredLog {
  const db = openDatabase({ path });
  // A crash loses nothing, as the log can be written again.
  db.pragma("journal_mode = OFF");
  db.pragma("synchronous = OFF");
  const restore = dropIndexes(db);
  const written = writeRows(db, { endAt, ...options }, onProgress);
  restore();
  countDeliveries(db);
  db.close();
  indexWords(path);
  return written;
}

function writeRows(db: Database, options: SampleOptions, onProgress?: StoredLogOptions["onProgress"]): StoredLog {
  const writer = new RowWriter(db, options);
  const { log } = writer;
  db.exec("BEGIN");
  for (const request of sampleRequests(options)) {
    log.startAt ||= request.receivedAt;
    writer.writeRequest(request);
    if (log.requests % 5_000 === 0) {
      db.exec("COMMIT; BEGIN");
      onProgress?.(log.alerts);
    }
  }
  writer.writeRest();
  db.exec("COMMIT");
  return log;
}

/** Writes the rows that the store's transactions leave for a request and its alerts, at the end of all steps. */
class RowWriter {
  readonly log: StoredLog;
  readonly #db: Database;
  /** The number of alerts in a hundredth of the log. */
  readonly #each: number;
  readonly #random = createRandom(2);
  readonly #newId = createIdSource(() => this.#clock);
  readonly #inserting = new Map<string, Statement<unknown[]>>();
  readonly #threads = new Map<string, Record<string, unknown>>();
  #clock = 0;
  #digestId = this.#newId();
  #lastId: string | undefined;

  constructor(db: Database, { alerts, endAt }: SampleOptions) {
    this.#db = db;
    this.#each = Math.max(1, Math.floor(alerts / 100));
    this.log = { alerts: 0, requests: 0, deliveries: 0, startAt: 0, endAt, ids: [] };
  }

  writeRequest(request: SampleRequest): void {
    const { receivedAt, body, dedupeKey, duplicates } = request;
    this.#clock = receivedAt;
    this.log.requests += 1;
    const fingerprint = fingerprintOf(body);
    const requestSeq = this.#add("requests", {
      received_at: receivedAt,
      content_type: "application/json",
      headers: JSON.stringify([
        ["host", "tocsin.example.com"],
        ["user-agent", "watcher/4.2"],
        ["content-type", "application/json"],
        ["x-forwarded-for", "203.0.113.7"],
      ]),
      body,
      fingerprint,
      items: request.alerts.length,
      dedupe_key: dedupeKey,
      conflict: 0,
      duplicates,
    });
    const ids = request.alerts.map(() => this.#newId());
    request.alerts.forEach((alert, item) => {
      this.#writeAlert(alert, { id: ids[item] as string, requestSeq, item, fingerprint, request });
    });
  }

  #writeAlert(
    { facts, routed }: SampleAlert,
    at: { id: string; requestSeq: number; item: number; fingerprint: number; request: SampleRequest },
  ): void {
    this.log.alerts += 1;
    const { id, request } = at;
    const routedAt = request.receivedAt + 3;
    const seq = this.#add("alerts", {
      id,
      request_seq: at.requestSeq,
      item: at.item,
      origin: this.log.alerts % 2_000 === 0 ? "test" : "hook",
      received_at: request.receivedAt,
      version: routed && this.#versionOf(this.log.alerts),
      routed_at: routed && routedAt,
      severity: routed && facts.severity,
      alert_key: routed && facts.alertKey,
      unmatched: routed?.outcome === "unmatched" ? 1 : 0,
      dropped: routed?.outcome === "dropped" ? 1 : 0,
      facts: routed && JSON.stringify(facts),
      decisions: routed && JSON.stringify(decisionsOf(routed)),
      fingerprint: routed && routed.outcome !== "repeat" && request.dedupeKey === undefined ? at.fingerprint : null,
      repeat_of: routed?.outcome === "repeat" ? this.#lastId : null,
    });
    if (routed?.outcome === "delivered") this.#lastId = id;
    if (this.log.alerts % this.#each === 1) this.log.ids.push(id);
    this.#clock = routedAt;
    routed?.deliveries.forEach((delivery, index) => {
      const isResend = routed.deliveries[index - 1]?.resent === true;
      this.#writeDelivery(seq, delivery, routedAt, isResend);
      if (delivery.state === "sent") this.#keepThread(seq, delivery, facts.alertKey, routedAt);
    });
  }

  /** Most alerts changed last shortly after they came. Some changed much later. */
  #versionOf(number: number): number {
    return this.#random() < 0.01 ? (number + 1_000) * 3 + 1 : number * 3;
  }

  #writeDelivery(alertSeq: number, delivery: SampleDelivery, at: number, isResend: boolean): void {
    const { destination, state, dueAt, resent } = delivery;
    const { channel, recipient } = sampleDestinations[destination];
    const wasTried = state !== "muted" && state !== "queued" && dueAt === undefined;
    const latencyMs = 40 + Math.floor(this.#random() * 400);
    const isFinal = dueAt === undefined && state !== "held";
    const isLost = state === "failed" || state === "expired";
    if (this.#random() < 0.1) this.#digestId = this.#newId();
    this.log.deliveries += 1;
    const seq = this.log.deliveries;
    this.#add("deliveries", {
      seq,
      id: this.#newId(),
      alert_seq: alertSeq,
      destination,
      channel,
      recipient,
      route: "everything",
      purpose: isResend ? "resend" : "alert",
      state,
      reason: isLost ? "gave up after 6 tries: 400 Bad Request: chat not found" : "",
      created_at: at,
      due_at: dueAt,
      finished_at: isFinal ? at + latencyMs : null,
      attempts: isLost ? 3 : wasTried ? 1 : 0,
      ambiguous: state === "held" && dueAt === undefined ? 1 : 0,
      last_detail: isLost ? "400 Bad Request: chat not found" : null,
      progress: state === "sent" ? `{"refs":["${seq}"]}` : '{"refs":[]}',
      digest_id: state === "digested" ? this.#digestId : null,
      updates: "auto",
      fallback_to: null,
      fallback_at: null,
      resent_by: resent ? seq + 1 : null,
      last_reason: isLost ? "bad_address" : null,
    });
    for (let attempt = 1; wasTried && attempt <= (isLost ? 3 : 1); attempt += 1) {
      this.#add("attempts", {
        delivery_seq: seq,
        at: at + attempt * 5,
        duration_ms: latencyMs,
        action: "send",
        part: 1,
        parts: 1,
        outcome: isLost ? "rejected" : state === "held" ? "ambiguous" : "sent",
        reason: isLost ? "bad_address" : null,
        detail: isLost ? "400 Bad Request: chat not found" : null,
      });
    }
  }

  #keepThread(alertSeq: number, { destination }: SampleDelivery, alertKey: string, at: number): void {
    const { recipient } = sampleDestinations[destination];
    const known = this.#threads.get(`${destination} ${alertKey}`);
    this.#threads.set(`${destination} ${alertKey}`, {
      destination,
      recipient,
      alert_key: alertKey,
      root_ref: known?.root_ref ?? String(alertSeq),
      root_alert_seq: known?.root_alert_seq ?? alertSeq,
      last_ref: String(alertSeq),
      first_at: known?.first_at ?? at,
      last_new_at: at,
      last_at: at,
      count: ((known?.count as number | undefined) ?? 0) + 1,
      severity: "info",
      status: "firing",
      last_alert_seq: alertSeq,
    });
  }

  /** Writes rows that are known only at the end. */
  writeRest(): void {
    for (const row of this.#threads.values()) this.#add("threads", row);
    for (let number = 0; number < 40; number += 1) {
      this.#clock = this.log.endAt - number * 86_400_000;
      this.#add("mutes", {
        id: this.#newId(),
        matchers: JSON.stringify([{ field: "token", condition: { equals: [`MAINTENANCE${number}`] } }]),
        reason: `maintenance ${number}`,
        starts_at: this.#clock,
        ends_at: this.#clock + (number < 5 ? 30 : 1) * 86_400_000,
        created_at: this.#clock,
        created_by: "page",
      });
    }
  }

  /** Rows of one table have the same columns in the same order. */
  #add(table: string, row: Record<string, unknown>): number {
    let statement = this.#inserting.get(table);
    if (statement === undefined) {
      const names = Object.keys(row);
      const places = names.map(() => "?").join(", ");
      statement = this.#db.prepare<unknown[]>(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${places})`);
      this.#inserting.set(table, statement);
    }
    return Number(statement.run(...Object.values(row).map((value) => value ?? null)).lastInsertRowid);
  }
}

function decisionsOf({ outcome, deliveries }: NonNullable<SampleAlert["routed"]>) {
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

/** To make the indexes at the end, sorted once, is quicker than row by row. Returns what makes them again. */
function dropIndexes(db: Database): () => void {
  const made = db
    .prepare<[], { type: string; name: string; sql: string }>(
      `SELECT type, name, sql FROM sqlite_schema
       WHERE type IN ('index', 'trigger') AND sql IS NOT NULL AND tbl_name IN ('requests', 'alerts', 'deliveries', 'attempts')`,
    )
    .all();
  for (const { type, name } of made) db.exec(`DROP ${type} ${name}`);
  return () => {
    for (const { sql } of made) db.exec(sql);
  };
}

/** Sets the counts that the triggers would have made. */
function countDeliveries(db: Database): void {
  db.exec(
    `INSERT INTO delivery_counts SELECT destination, state, count(*) FROM deliveries WHERE resent_by IS NULL
     GROUP BY destination, state`,
  );
  db.exec(
    `UPDATE duplicate_count SET count = (SELECT coalesce(sum(duplicates), 0) FROM requests)
       + (SELECT count(*) FROM alerts WHERE repeat_of IS NOT NULL)`,
  );
}

/** The store itself indexes the words, as only it knows the form of the search index. */
function indexWords(path: string): void {
  const db = openDatabase({ path });
  const { indexAlerts } = createSearching(createContext({ db, newId: createIdSource(Date.now), now: Date.now }));
  const index = db.transaction(() => indexAlerts(indexedAtOnce));
  while (index.immediate() === indexedAtOnce);
  db.close();
}

function main([count = "1000000", option, folder]: string[]): void {
  const alerts = Number(count);
  if (!(alerts >= 1) || option !== "--keep" || folder === undefined) {
    console.error("usage: npx tsx bench/stored-log.ts ALERTS --keep DIR");
    process.exitCode = 2;
    return;
  }
  const path = join(resolve(folder), "tocsin.db");
  if (existsSync(path)) throw new Error(`${path} is there already; name another folder`);
  const startedAt = performance.now();
  const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(0);
  const log = writeStoredLog({
    path,
    alerts,
    onProgress: (done) => done % 100_000 < 6_000 && console.error(`${done} alerts, ${seconds()} s`),
  });
  console.error(`${log.alerts} alerts in ${log.requests} requests, ${log.deliveries} deliveries, ${seconds()} s`);
}

if (process.argv[1] !== undefined && import.meta.url === new URL(`file://${resolve(process.argv[1])}`).href)
  main(process.argv.slice(2));
