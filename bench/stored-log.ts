/**
 * `npx tsx bench/stored-log.ts ALERTS --keep DIR`: writes a data folder with a log of this many alerts, as after months
 * of use (a million take some minutes and 3 GB; DIR must not have a log yet).
 * The rows are those of the store's transactions, written in bulk and without syncs.
 * `test/store/postgres/listing.test.ts` reads them back through both drivers.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Database, Statement } from "better-sqlite3";
import { createIdSource } from "../src/core/id.ts";
import { fingerprintOf } from "../src/store/fingerprint.ts";
import { openDatabase } from "../src/store/sqlite/open-database.ts";
import { createSearching } from "../src/store/sqlite/transactions/searching.ts";
import { createSeededRandom } from "../test/support/seeded-random.ts";
import {
  type SampleAlert,
  type SampleDelivery,
  type SampleRequest,
  sampleDestinations,
  sampleRequests,
} from "./sample-alerts.ts";

type Row = Record<string, unknown>;

const dayMs = 86_400_000;
const indexedAtOnce = 5_000;
const headers = JSON.stringify([
  ["host", "tocsin.example.com"],
  ["user-agent", "watcher/4.2"],
  ["content-type", "application/json"],
  ["x-forwarded-for", "203.0.113.7"],
]);

/** @param endAt the instant of the newest alert, epoch milliseconds. Default: now */
export function writeStoredLog({ path, alerts, endAt = Date.now() }: { path: string; alerts: number; endAt?: number }) {
  const db = openDatabase({ path });
  // A crash loses nothing, as the log can be written again.
  db.pragma("journal_mode = OFF");
  db.pragma("synchronous = OFF");
  const writer = new RowWriter(db);
  const { indexAlerts } = createSearching({ db });
  const write = db.transaction(() => {
    for (const request of sampleRequests({ alerts, endAt })) writer.writeRequest(request);
    writer.writeRest(endAt);
    while (indexAlerts(indexedAtOnce) === indexedAtOnce);
  });
  write();
  db.pragma("journal_mode = WAL");
  db.close();
  return { ...writer.written, endAt };
}

/** Writes the rows that the store's transactions leave for a request and its alerts, at the end of all steps. */
class RowWriter {
  readonly written = { alerts: 0, requests: 0, deliveries: 0, startAt: 0 };
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

  writeRequest(request: SampleRequest): void {
    const { receivedAt, body, dedupeKey, duplicates, alerts } = request;
    this.#clock = receivedAt;
    this.written.startAt ||= receivedAt;
    this.written.requests += 1;
    const requestSeq = this.#add("requests", {
      received_at: receivedAt,
      content_type: "application/json",
      headers,
      body,
      fingerprint: fingerprintOf(body),
      items: alerts.length,
      dedupe_key: dedupeKey,
      duplicates,
    });
    const ids = alerts.map(() => this.#newId());
    alerts.forEach((alert, item) => {
      this.#writeAlert(alert, request, { id: ids[item] as string, request_seq: requestSeq, item });
    });
  }

  #writeAlert({ facts, outcome, deliveries }: SampleAlert, request: SampleRequest, row: Row & { id: string }): void {
    this.written.alerts += 1;
    const isRouted = outcome !== "unrouted";
    const routedAt = request.receivedAt + 3;
    const isNew = isRouted && outcome !== "repeat";
    const seq = this.#add("alerts", {
      ...row,
      origin: this.written.alerts % 2_000 === 0 ? "test" : "hook",
      received_at: request.receivedAt,
      version: isRouted ? this.#versionOf(this.written.alerts) : null,
      routed_at: isRouted ? routedAt : null,
      severity: isRouted ? facts.severity : null,
      alert_key: isRouted ? facts.alertKey : null,
      unmatched: Number(outcome === "unmatched"),
      dropped: Number(outcome === "dropped"),
      facts: isRouted ? JSON.stringify(facts) : null,
      decisions: isRouted ? JSON.stringify(decisionsOf(outcome, deliveries)) : null,
      fingerprint: isNew && request.dedupeKey === undefined ? fingerprintOf(request.body) : null,
      repeat_of: outcome === "repeat" ? this.#lastId : null,
    });
    if (outcome === "delivered") this.#lastId = row.id;
    this.#clock = routedAt;
    for (const delivery of deliveries) {
      this.#writeDelivery(seq, delivery, routedAt);
      if (delivery.state === "sent") this.#keepThread(seq, delivery, facts.alertKey, routedAt);
    }
  }

  /** Most alerts changed last shortly after they came. Some changed much later. */
  #versionOf(number: number): number {
    return this.#random() < 0.01 ? (number + 1_000) * 3 + 1 : number * 3;
  }

  #writeDelivery(alertSeq: number, delivery: SampleDelivery, at: number): void {
    const { destination, state, dueAt, isResend } = delivery;
    const { channel, recipient } = sampleDestinations[destination];
    const wasTried = state !== "muted" && state !== "queued" && dueAt === undefined;
    const latencyMs = 40 + Math.floor(this.#random() * 400);
    const isLost = state === "failed" || state === "expired";
    const tries = isLost ? 3 : Number(wasTried);
    const failure = isLost ? { reason: "bad_address", detail: "400 Bad Request: chat not found" } : undefined;
    if (this.#random() < 0.1) this.#digestId = this.#newId();
    this.written.deliveries += 1;
    const seq = this.#add("deliveries", {
      id: this.#newId(),
      alert_seq: alertSeq,
      destination,
      channel,
      recipient,
      route: "everything",
      purpose: isResend ? "resend" : "alert",
      state,
      reason: failure ? `gave up after 6 tries: ${failure.detail}` : "",
      created_at: at,
      due_at: dueAt,
      finished_at: dueAt === undefined && state !== "held" ? at + latencyMs : null,
      attempts: tries,
      ambiguous: Number(state === "held" && dueAt === undefined),
      last_detail: failure?.detail,
      progress: state === "sent" ? `{"refs":["${this.written.deliveries}"]}` : '{"refs":[]}',
      digest_id: state === "digested" ? this.#digestId : null,
      updates: "auto",
      last_reason: failure?.reason,
    });
    if (isResend) this.#db.prepare("UPDATE deliveries SET resent_by = ? WHERE seq = ?").run(seq, seq - 1);
    for (let attempt = 1; attempt <= tries; attempt += 1) {
      this.#add("attempts", {
        delivery_seq: seq,
        at: at + attempt * 5,
        duration_ms: latencyMs,
        action: "send",
        part: 1,
        parts: 1,
        outcome: isLost ? "rejected" : state === "held" ? "ambiguous" : "sent",
        reason: failure?.reason,
        detail: failure?.detail,
      });
    }
  }

  #keepThread(alertSeq: number, { destination }: SampleDelivery, alertKey: string, at: number): void {
    const { recipient } = sampleDestinations[destination];
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
    this.#threads.set(`${destination} ${alertKey}`, {
      ...known,
      last_ref: ref,
      last_new_at: at,
      last_at: at,
      count: Number(known.count) + 1,
      severity: "info",
      status: "firing",
      last_alert_seq: alertSeq,
    });
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

  /** Rows of one table have the same columns in the same order. */
  #add(table: string, row: Row): number {
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

function decisionsOf(outcome: SampleAlert["outcome"], deliveries: SampleDelivery[]) {
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

function main([count = "1000000", option, folder]: string[]): void {
  const alerts = Number(count);
  if (!(alerts >= 1) || option !== "--keep" || folder === undefined) {
    console.error("usage: npx tsx bench/stored-log.ts ALERTS --keep DIR");
    process.exitCode = 2;
    return;
  }
  const path = join(resolve(folder), "tocsin.db");
  if (existsSync(path)) throw new Error(`${path} is there already; name another folder`);
  const { requests, deliveries } = writeStoredLog({ path, alerts });
  const seconds = (performance.now() / 1000).toFixed(0);
  console.error(`${alerts} alerts in ${requests} requests, ${deliveries} deliveries, ${seconds} s`);
}

if (import.meta.filename === resolve(process.argv[1] ?? "")) main(process.argv.slice(2));
