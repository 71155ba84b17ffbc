import { expect, it } from "vitest";
import type { AlertFacts } from "../../../src/core/alert.ts";
import { AppError, type ErrorCode } from "../../../src/core/errors.ts";
import type { Position, StoredFacts } from "../../../src/core/ports/alert-log.ts";
import type { MetricHistoryService } from "../../../src/core/ports/metric-history.ts";
import { GapCheck } from "../../../src/watch/gaps/gap-check.ts";
import { hour, minute } from "../../support/test-clock.ts";

const begin = Date.UTC(2026, 10, 21, 12);
const key = "eth_token_price_0x00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd";

/** At 110 every second minute, else at 90: an alert a minute. */
const priceAt = (at: number): number => (Math.floor(at / minute) % 2 === 0 ? 110 : 90);

function alertAt(seq: number, at: number): StoredFacts {
  const holds = priceAt(at) > 100;
  const facts = {
    title: "",
    severity: "info",
    status: holds ? "firing" : "resolved",
    format: "json",
    alertKey: "",
    fields: [{ name: "condition", value: "above" }],
    notes: [],
    metric: key,
    threshold: "100",
    value: String(priceAt(at)),
    occurredAt: at,
  } as unknown as AlertFacts;
  return { position: String(seq) as Position, alertSeq: seq, origin: "hook", receivedAt: at + 100, facts };
}

interface World {
  /** In the order in which they came. */
  alerts: StoredFacts[];
  records?: MetricHistoryService["lookAtRecords"];
  keys?: string[];
  oldestUnroutedAt?: number;
}

function open(world: World) {
  let now = begin;
  const calls: string[] = [];
  const service: MetricHistoryService = {
    async lookAtSubscriptions() {
      calls.push("subscriptions");
      const keys = world.keys ?? [key];
      return { entries: keys.map((one) => ({ subscription: { id: one, op: ">", value: 100 }, metric: { key: one } })) };
    },
    lookAtRecords(query) {
      calls.push(query.key);
      if (world.records !== undefined) return world.records(query);
      const points = [];
      for (let at = Math.max(query.fromAt ?? 0, begin - 8 * hour); at <= now; at += minute)
        points.push({ at: at + 30_000, value: priceAt(at + 30_000) });
      return Promise.resolve({ points, unread: 0 });
    },
  };
  const check = new GapCheck({
    service,
    clock: { now: () => now, sleep: async () => {} },
    store: {
      async listFacts({ fromAt, before, limit }) {
        const upTo = before === undefined ? Number.MAX_SAFE_INTEGER : Number(before);
        const found = [];
        for (let index = world.alerts.length - 1; index >= 0 && found.length < limit; index -= 1) {
          const one = world.alerts[index] as StoredFacts;
          if (one.alertSeq < upTo && one.receivedAt >= fromAt) found.push(one);
        }
        return found;
      },
      async health() {
        const { oldestUnroutedAt } = world;
        return { writable: true, full: false, unrouted: 0, bytes: 0, oldestUnroutedAt };
      },
    },
  });
  return {
    calls,
    look: () => check.check({ downtimes: [] }),
    pass(ms: number) {
      now += ms;
    },
  };
}

/** An alert a minute. */
const minutes = (from: number, to: number): number[] =>
  Array.from({ length: Math.round((to - from) / minute) }, (_, index) => from + index * minute);

it("a log with more alerts than are looked at never has a hole in what it has read", async () => {
  const others = Array.from({ length: 99_990 }, (_, seq) => ({
    ...alertAt(seq, begin - 8 * hour - 100_000 + seq),
    facts: alertAt(seq, 0).facts,
  }));
  const later = (from: number, to: number, seq: number) =>
    minutes(from, to).map((at, index) => alertAt(seq + index, at));
  const alerts = [...others, ...later(begin - 8 * hour, begin, 100_000)];
  const world = { alerts };
  const { look, pass } = open(world);
  expect((await look()).missing).toEqual([]);
  pass(12 * hour);
  alerts.push(...later(begin, begin + 12 * hour, 101_000));
  const report = await look();
  expect(report.answered).toBeGreaterThan(600);
  expect(report.missing).toEqual([]);
  expect(report.unknown.map(({ why }) => why)).toContain("more than 100,000 alerts arrived since");
});

it("a log with more alerts than are looked at cannot tell while alerts that arrived wait to be read", async () => {
  const alerts = minutes(begin - 8 * hour, begin - 2 * hour).map((at, seq) => alertAt(seq, at));
  const { look } = open({ alerts, oldestUnroutedAt: begin - 2 * hour });
  const report = await look();
  expect(report).toMatchObject({ missing: [], sight: { isBehind: true } });
  expect(report.unknown.map(({ why }) => why).join()).toContain("alerts that arrived wait to be read");
  expect((await open({ alerts }).look()).missing.length).toBeGreaterThan(50);
});

it("calls of the service are shared by all who ask at once, each with a time of their own", async () => {
  const alerts = minutes(begin - 8 * hour, begin).map((at, seq) => alertAt(seq, at));
  const { look, calls } = open({ alerts });
  await Promise.all(Array.from({ length: 20 }, look));
  expect(calls).toEqual(["subscriptions", key]);
});

const keys = Array.from({ length: 60 }, (_, index) => `${key.slice(0, -2)}${10 + index}`);
it.each<[ErrorCode, number]>([
  ["upstream_failed", 3],
  ["upstream_unreachable", 3],
  ["upstream_bad_answer", 3],
  ["upstream_rate_limited", 1],
  ["upstream_unauthorized", 1],
  ["upstream_not_found", 10],
])("calls of the service end after %s: %i of 60", async (code, most) => {
  const records = () => Promise.reject(new AppError(code, "alerting: no"));
  const { look, calls } = open({ alerts: [], keys, records });
  const report = await look();
  expect(calls).toHaveLength(1 + most);
  expect(report.unknown.find(({ why }) => why === "alerting: no")).toMatchObject({ names: 60 });
  expect(report.missing).toEqual([]);
});
