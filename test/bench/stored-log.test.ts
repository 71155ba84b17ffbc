import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sampleDestinations, sampleSpanMs, sampleWords } from "../../bench/sample-alerts.ts";
import { type StoredLog, writeStoredLog } from "../../bench/stored-log.ts";
import { deliveryStates } from "../../src/core/delivery.ts";
import type { AlertQuery, AlertSummary } from "../../src/core/ports/alert-log.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import type { SqliteStore } from "../../src/store/sqlite/store.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const endAt = Date.UTC(2026, 5, 1);
const count = 20_000;

describe("a log that was laid down in bulk", () => {
  const path = join(makeTempFolder(afterAll), "tocsin.db");
  let log: StoredLog;
  let store: SqliteStore;
  let all: AlertSummary[];

  beforeAll(async () => {
    log = writeStoredLog({ path, alerts: count, endAt });
    store = openLocalStore({ path, ballastBytes: 0 });
    all = await readAll();
    return async () => {
      await store.close();
    };
  });

  const list = (query: Partial<AlertQuery>) => store.listAlerts({ limit: 100, ...query });

  async function readAll(): Promise<AlertSummary[]> {
    const found: AlertSummary[] = [];
    for (;;) {
      const page = await store.listAlerts({ limit: 1_000, before: found.at(-1)?.position });
      if (page.length === 0) return found;
      found.push(...page);
    }
  }

  it("is sound, and has every index and trigger of an empty one", () => {
    const names = (file: string) => {
      const db = new Sqlite(file, { readonly: true });
      try {
        expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
        expect(db.pragma("foreign_key_check")).toEqual([]);
        return db
          .prepare("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'alerts_search%' ORDER BY 1, 2")
          .all();
      } finally {
        db.close();
      }
    };
    const empty = join(makeTempFolder(), "tocsin.db");
    openLocalStore({ path: empty, ballastBytes: 0 }).close();
    expect(names(path)).toEqual(names(empty));
  });

  it("is read from end to end, with ids and times of half a year", () => {
    expect(all).toHaveLength(count);
    expect(log.alerts).toBe(count);
    for (const [index, alert] of all.entries()) {
      const older = all[index + 1];
      if (older === undefined) break;
      expect(alert.id > older.id).toBe(true);
      expect(alert.receivedAt).toBeGreaterThanOrEqual(older.receivedAt);
      const idTime = Number.parseInt(alert.id.replace("-", "").slice(0, 12), 16);
      expect(idTime - alert.receivedAt).toBeGreaterThanOrEqual(0);
      expect(idTime - alert.receivedAt).toBeLessThan(100);
    }
    expect(all[0]?.receivedAt).toBeLessThanOrEqual(endAt);
    expect(all[0]?.receivedAt).toBeGreaterThan(endAt - sampleSpanMs / 100);
    expect(all.at(-1)?.receivedAt).toBeLessThan(endAt - sampleSpanMs * 0.99);
  });

  it("has deliveries in every state but the one of a running call, and counts them as the store does", async () => {
    const counted = new Map<string, number>();
    for (const { destination, state, resentBy } of all.flatMap(({ deliveries }) => deliveries)) {
      if (resentBy !== undefined) continue;
      counted.set(`${destination} ${state}`, (counted.get(`${destination} ${state}`) ?? 0) + 1);
    }
    const kept = await store.countByDestination();
    const known = kept.flatMap(({ destination, counts }) =>
      Object.entries(counts).map(([state, number]) => [`${destination} ${state}`, number] as const),
    );
    expect(new Map(known)).toEqual(counted);
    expect(kept.map(({ destination }) => destination).sort()).toEqual(Object.keys(sampleDestinations).sort());
    const states = new Set(all.flatMap(({ deliveries }) => deliveries.map(({ state }) => state)));
    expect(states).toEqual(new Set(deliveryStates.filter((state) => state !== "sending")));
  });

  it.each(["unmatched", "dropped", "repeat", "unrouted", "sent", "failed", "waiting"] as const)(
    "has alerts to be found as %s",
    async (state) => {
      expect((await list({ state })).length).toBeGreaterThan(0);
    },
  );

  it("has words that all, many and few alerts say", async () => {
    expect(await list({ q: sampleWords.everywhere })).toHaveLength(100);
    expect(await list({ q: sampleWords.common })).toHaveLength(100);
    expect(await list({ q: sampleWords.rare })).toHaveLength(3);
    expect(await list({ q: sampleWords.seldom })).toHaveLength(count / 10_000);
    expect((await list({ q: sampleWords.oldest })).map(({ id }) => id)).toEqual([all.at(-1)?.id]);
  });

  it("tells each alert with its request, its attempts and its decisions", async () => {
    for (const id of log.ids) {
      const alert = await store.getAlert(id);
      expect(alert?.request?.body.length).toBeGreaterThan(100);
      for (const { state, attempts, finishedAt } of alert?.deliveries ?? []) {
        if (state === "queued" || state === "muted") expect(attempts).toEqual([]);
        if (state === "sent" || state === "digested") expect(attempts.map(({ outcome }) => outcome)).toEqual(["sent"]);
        if (state === "sent") expect(finishedAt).toBeGreaterThan(alert?.receivedAt ?? 0);
      }
    }
  });

  it("is the same for the same end", () => {
    const again = writeStoredLog({ path: join(makeTempFolder(), "tocsin.db"), alerts: 500, endAt });
    const once = writeStoredLog({ path: join(makeTempFolder(), "tocsin.db"), alerts: 500, endAt });
    expect({ ...again, ids: [] }).toEqual({ ...once, ids: [] });
  });
});
