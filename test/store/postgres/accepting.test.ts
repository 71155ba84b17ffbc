import { expect, it } from "vitest";
import type { Now } from "../../../src/core/clock.ts";
import { createAccepting } from "../../../src/store/postgres/accepting.ts";
import { createLog } from "../../../src/store/postgres/log.ts";
import { factsOf, newId, noon, planned, request, routed } from "../../conformance/store/scene-samples.ts";
import { createFailingProxy } from "../../support/failing-proxy.ts";
import { openClient, runSql } from "../../support/postgres.ts";
import { acceptRequests } from "../../support/postgres-transactions.ts";
import { openDatabase, openRelay, someDatabase } from "./open-relays.ts";

async function openInbox(url: string, relayName: string, now: Now = () => noon, answerWithinMs?: number) {
  const database = await openDatabase(url, relayName, { answerWithinMs });
  return { database, ...createAccepting(database, { relayName, now, acceptRequests }) };
}

const countIn = async (url: string, table: string) =>
  Number((await runSql<{ count: string }>(url, `SELECT count(*) FROM ${table}`))[0]?.count);

it("accepting on PostgreSQL waits for no lock that only the routing of an alert needs: that alert is routed later", async () => {
  const url = await someDatabase();
  const store = await openRelay(url);
  const other = await openClient(url);
  await other.query("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('tvl:usdc', 2))");
  const { alertSeq: _none, ...draft } = routed(0, { facts: factsOf({ status: "resolved" }), endEdits: [] });
  const [over, plain] = [request({ ids: [newId()] }), request({ ids: [newId()] })];
  const answers = await Promise.all([store.acceptRequest(over, [draft]), store.acceptRequest(plain)]);
  expect(answers.map(({ kind }) => kind)).toEqual(["accepted", "accepted"]);
  const unrouted = (await store.listUnrouted(10, noon)).flatMap(({ alerts }) => alerts.map(({ id }) => id));
  expect(unrouted).toEqual([...over.ids, ...plain.ids]);
  await other.query("ROLLBACK");
});

it.each([
  ["at once", 60_000, 0],
  ["2 s later, over a way that hung", -2_000, 2_000],
])(
  "accepting on PostgreSQL says when the server got an alert that was routed on its arrival: %s",
  async (_when, clockMs, laterMs) => {
    const url = await someDatabase();
    const { acceptRequest } = await openInbox(url, "one", () => Date.now() + clockMs);
    const { alertSeq: _none, ...draft } = routed(0, { deliveries: [planned("tg-risk")] });
    await acceptRequest(request({ ids: [newId()] }), [draft]);
    const times = "SELECT a.routed_at AS routed, d.created_at AS created";
    const both = `${times} FROM alerts a JOIN deliveries d ON d.alert_seq = a.seq`;
    const [made] = await runSql<{ routed: string; created: string }>(url, both);
    const behind = Number(made?.created) - draft.routedAt;
    expect(behind).toBeGreaterThanOrEqual(laterMs);
    expect(behind > 0).toBe(laterMs > 0);
    expect(made?.routed).toBe(made?.created);
  },
);

it("accepting on PostgreSQL gives a key to one of the relays that take it at once, however often", async () => {
  const url = await someDatabase();
  const relays = await Promise.all(["one", "two", "three"].map((name) => openInbox(url, name)));
  for (let round = 0; round < 10; round += 1) {
    const requestOf = (key: string) =>
      request({ dedupeKey: `${key}${round}`, body: Buffer.from(key), ids: [newId(), newId()] });
    const asked = relays.flatMap(({ acceptRequest }) => [..."abcd"].map((key) => acceptRequest(requestOf(key))));
    const answers = await Promise.all(asked);
    expect(answers.filter(({ kind }) => kind === "accepted")).toHaveLength(4);
    const ids = new Set(answers.map((answer) => answer.ids.join()));
    expect(ids.size).toBe(4);
  }
  expect(await countIn(url, "requests")).toBe(40);
  expect(await runSql(url, "SELECT sum(duplicates)::int FROM requests")).toEqual([{ sum: 80 }]);
});

it("accepting on PostgreSQL finds by its time what another relay stored while this one had it in its spool", async () => {
  const url = await someDatabase();
  const minute = 60_000;
  const minutes = Array.from({ length: 41 }, (_, index) => noon + index * minute);
  let now = noon;
  const inTime = await openInbox(url, "in time", () => now);
  const log = createLog(inTime.database);
  const bars = async () => {
    const { steps } = await log.countOverTime({ fromAt: noon, stepMs: 10 * minute, steps: 4 }, 10_000);
    return steps.map(({ at, info }) => `${(at - noon) / minute}: ${info}`).sort();
  };
  const route = () => runSql(url, "UPDATE alerts SET severity = 'info'");
  for (now of minutes) await inTime.acceptRequest(request({ receivedAt: now }));
  await route();
  expect(await bars()).toEqual(["0: 10", "10: 10", "20: 10", "30: 10"]);
  const late = await openInbox(url, "late", () => now);
  await Promise.all(minutes.map((receivedAt) => late.acceptRequest(request({ receivedAt: receivedAt + 1 }))));
  await route();

  const timesOf = async (times: { fromAt?: number; toAt?: number }) => {
    const found = await log.listAlerts({ ...times, limit: 100 });
    return found.map(({ receivedAt }) => receivedAt).sort((one, other) => one - other);
  };
  const both = (from: number, to: number) => minutes.slice(from, to).flatMap((at) => [at, at + 1]);
  expect(await timesOf({ fromAt: noon + 25 * minute })).toEqual(both(25, 41));
  expect(await timesOf({ toAt: noon + 5 * minute + 1 })).toEqual(both(0, 6));
  expect(await timesOf({ fromAt: noon + 20 * minute, toAt: noon + 22 * minute + 1 })).toEqual(both(20, 23));
  expect(await bars()).toEqual(["0: 20", "10: 20", "20: 20", "30: 20"]);
  // One for all, but for what was written before the first was committed.
  expect(await countIn(url, "late_spans")).toBeLessThan(4);
});

it("accepting on PostgreSQL keeps what its columns cannot hold as near as they can, and the body byte for byte", async () => {
  const url = await someDatabase();
  const { acceptRequest } = await openInbox(url, "one");
  const bodies = [Buffer.alloc(0), Buffer.from([0, 92, 34, 255]), Buffer.alloc(3_000_000, 7), Buffer.from("x")];
  const hostile = { contentType: "a\0b", headers: '[["x","{\\"}"]]' };
  const sent = bodies.map((body, index) => request({ body, dedupeKey: `k\0${index}`, ...hostile }));
  await Promise.all(sent.map((one) => acceptRequest(one)));
  const columns = "SELECT body, content_type, dedupe_key, headers FROM requests ORDER BY seq";
  const rows = await runSql<{ body: Buffer }>(url, columns);
  expect(rows.map(({ body }, index) => body.equals(bodies[index] as Buffer))).toEqual([true, true, true, true]);
  const kept = { content_type: "a\ufffdb", dedupe_key: "k\ufffd0", headers: '[["x","{\\"}"]]' };
  expect(rows[0]).toMatchObject(kept);
  expect(await acceptRequest(request({ body: bodies[1], dedupeKey: "k\x001" }))).toMatchObject({ kind: "duplicate" });
});

it("accepting on PostgreSQL gives each alert to the relay that accepted it, for a while by the database's clock", async () => {
  const url = await someDatabase();
  const { acceptRequest } = await openInbox(url, "one");
  await acceptRequest(request({ receivedAt: noon + 1e12 }));
  const soon = "routing_until BETWEEN now() - interval '1 hour' AND now() + interval '10 s' AS soon";
  expect(await runSql(url, `SELECT routed_by, ${soon} FROM alerts`)).toEqual([{ routed_by: "one", soon: true }]);
});

it("accepting on PostgreSQL stores what another relay stands still with in the middle of a commit, when it is sent again by its key", async () => {
  const url = await someDatabase();
  const proxy = await createFailingProxy(url);
  const still = await openInbox(proxy.url, "still", undefined, 4_000);
  const other = await openInbox(url, "other", undefined, 4_000);
  proxy.holdBack("COMMIT\0");
  const asked = still.acceptRequest(request({ dedupeKey: "k" })).catch((error: unknown) => error);
  await expect.poll(proxy.isHolding).toBe(true);
  const again = request({ dedupeKey: "k" });
  expect(await other.acceptRequest(again)).toMatchObject({ kind: "accepted", ids: again.ids });
  expect(await asked).toMatchObject({ code: "store_unavailable" });
  expect(await countIn(url, "requests")).toBe(1);
});
