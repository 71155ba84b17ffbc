import { EventEmitter, once } from "node:events";
import { expect, it } from "vitest";
import type { LaneFence } from "../../../src/core/ports/lanes.ts";
import type { Store } from "../../../src/core/ports/store.ts";
import { openPostgresStore, type PostgresDatabase } from "../../../src/store/postgres/store.ts";
import { toTx } from "../../../src/store/postgres/tx.ts";
import type { Tx } from "../../../src/store/tx.ts";
import * as samples from "../../conformance/store/scene-samples.ts";
import { takeLane } from "../../support/lane.ts";
import { makePostgresDatabase, openClient, runSql } from "../../support/postgres.ts";
import { shared } from "../../support/postgres-transactions.ts";
import { letTransactionsWait } from "../../support/waiting-transactions.ts";
import { openDatabase, openRelay, openRelays, someDatabase, someoneWaits } from "./open-relays.ts";

const { attemptOf, claimOf, factsOf, newId, noon, planned, request, routed, thread } = samples;
const { recordRouting, savePaces } = shared;

async function route(store: Store, count: number, destinations = ["chat"], key = (_: number) => "tvl:usdc") {
  const alerts = await accept(store, count);
  const deliveries = destinations.map((name) => planned(name));
  await store.recordRouting(
    alerts.map(({ seq }, index) => routed(seq, { deliveries, facts: factsOf({ alertKey: key(index) }) })),
  );
}

/** Alerts that wait to be routed. */
async function accept(store: Store, count = 1) {
  await Promise.all(Array.from({ length: count }, () => store.acceptRequest(request({ ids: [newId()] }))));
  return (await store.listUnrouted(count, noon)).flatMap(({ alerts }) => alerts);
}

type Pausing<T> = (tx: Tx, pause: () => Promise<void>) => Promise<T>;

/** Stops in a transaction until it is told to go on: where its work asks for that, or else before its commit. */
async function pauseIn<T>(database: PostgresDatabase, work: Pausing<T>) {
  const [gate, calls] = [new EventEmitter(), { paused: 0 }];
  const pause = async () => {
    const goesOn = once(gate, "goOn");
    calls.paused += 1;
    gate.emit("paused");
    await goesOn;
  };
  const reached = once(gate, "paused");
  const done = database.transaction(async (tx) => {
    const answer = await work(toTx(tx), pause);
    if (calls.paused === 0) await pause();
    return answer;
  });
  await Promise.race([reached, done]);
  return { done, goOn: () => void gate.emit("goOn") };
}

it("claims of 1,000 deliveries by four connections at once take none twice and leave none", async () => {
  const { relays, a } = await openRelays("a", "b", "c", "d");
  const lane = await takeLane(a);
  await route(a, 1_000);
  const taken: number[] = [];
  await Promise.all(
    relays.map(async (store, index) => {
      for (let turn = 0; ; turn += 1) {
        const due = await store.listDue("chat", noon, 40);
        if (due.length === 0) return;
        const deliverySeqs = due.map(({ seq }) => seq);
        // Half of them ask in the other order.
        if (index % 2 === 1) deliverySeqs.reverse();
        const claimed = await store.claimDeliveries(lane, claimOf(`${index}.${turn}`, ...deliverySeqs), []);
        if (claimed !== "lost") taken.push(...claimed.map(({ seq }) => seq));
      }
    }),
  );
  expect(taken).toHaveLength(1_000);
  expect(new Set(taken).size).toBe(1_000);
});

const groups = ["chat", "mail", "hook", "desk"];

async function openLanes() {
  const url = await someDatabase();
  const store = await openRelay(url);
  await route(store, 1, groups);
  const held = new Map<string, { lane: LaneFence; seq: number }>();
  for (const group of groups) {
    const [due] = await store.listDue(group, noon, 10);
    held.set(group, { lane: await takeLane(store, group), seq: due?.seq ?? 0 });
  }
  const of = (group: string) => held.get(group) as { lane: LaneFence; seq: number };
  const claim = (group: string) => store.claimRun(of(group).lane, [claimOf(group, of(group).seq)]);
  const record = (group: string) => store.recordAttempt(of(group).lane, attemptOf(group, [of(group).seq]), []);
  return { url, claim, record };
}

it("lanes that write together are kept waiting by none of them that changes hands just then", async () => {
  const { url, claim, record } = await openLanes();
  for (const work of [claim, record]) {
    const client = await openClient(url);
    // As the next holder of a lane does, stopped before its commit.
    await client.query("BEGIN");
    await client.query("SELECT FROM lanes WHERE lane_group = 'mail' FOR UPDATE");
    const waiting = groups.map((group) => ({ group, done: work(group) }));
    await Promise.all(waiting.flatMap(({ group, done }) => (group === "mail" ? [] : done)));
    await someoneWaits(url, Promise.all(waiting.map(({ done }) => done)));
    await client.query("ROLLBACK");
    for (const { done } of waiting) expect(await done).not.toBe("lost");
  }
  const states = await runSql(url, "SELECT DISTINCT state, attempts FROM deliveries");
  expect(states).toEqual([{ state: "sent", attempts: 1 }]);
  expect(await runSql(url, "SELECT DISTINCT count(*)::int FROM attempts")).toEqual([{ count: groups.length }]);
});

it("lanes that write together write nothing for one that is lost but its attempt, and all for the others", async () => {
  const { url, claim, record } = await openLanes();
  await runSql(url, "UPDATE lanes SET fence = nextval('lane_fences') WHERE lane_group = 'hook'");
  const claimed = await Promise.all(groups.map(claim));
  expect(claimed.map((one) => (one === "lost" ? one : one[0]?.token))).toEqual(["chat", "mail", "lost", "desk"]);
  await runSql(url, "UPDATE lanes SET fence = nextval('lane_fences') WHERE lane_group = 'desk'");
  expect(await Promise.all(groups.map(record))).toEqual(["recorded", "recorded", "lost", "lost"]);
  const states = "SELECT string_agg(destination || ' ' || state, ', ' ORDER BY destination) AS are FROM deliveries";
  expect(await runSql(url, states)).toEqual([{ are: "chat sent, desk sending, hook queued, mail sent" }]);
  expect(await runSql(url, "SELECT count(*)::int FROM attempts")).toEqual([{ count: groups.length }]);
});

it("lanes go to one of those who ask at once, for a while by the database's clock", async () => {
  const { url, relays } = await openRelays("one", "two", "three");
  const groups = Array.from({ length: 20 }, (_, index) => `group ${(index * 7) % 20}`);
  const asked = groups.map((group) => ({ group, statuses: [], paces: [] }));
  const asking = relays.map((store, index) => store.acquireLanes(`process ${index}`, asked, 3_600_000));
  const all = (await Promise.all(asking)).flat();
  expect(all.map(({ group }) => group).sort()).toEqual(groups.toSorted());
  expect(new Set(all.map(({ fence }) => fence)).size).toBe(20);
  const byIt = "SELECT DISTINCT lease_until BETWEEN now() AND now() + interval '1 hour' AS by_it FROM lanes";
  expect(await runSql(url, byIt)).toEqual([{ by_it: true }]);
});

it.each([
  ["for all mailboxes of the alert", 1, "m"],
  ["for one delivery, though its addresses have changed", 0, "new"],
])("fallbacks that two relays call at once are made once %s", async (_, index, recipient) => {
  letTransactionsWait();
  const url = await someDatabase();
  const [database, other] = [await openDatabase(url, "one"), await openRelay(url, "other")];
  const [alert] = await accept(other);
  const fallback = { to: "mail", at: noon };
  const deliveries = ["a", "b"].map((name) => planned("desk", { recipient: name, fallback }));
  const [recorded] = await other.recordRouting([routed(alert?.seq ?? 0, { deliveries })]);
  const call = (place: number, to: string) => [
    { deliverySeq: recorded?.deliveries[place]?.seq ?? 0, planned: [planned("mail", { recipient: to })] },
  ];
  const first = await pauseIn(database, (tx) => shared.callFallbacks(tx, call(0, "m"), noon));
  const second = other.callFallbacks(call(index, recipient), noon);
  await someoneWaits(url, second).finally(first.goOn);
  await Promise.all([first.done, second]);
  const made = await runSql(url, "SELECT recipient FROM deliveries WHERE destination = 'mail'");
  expect(made).toEqual([{ recipient: "m" }]);
});

const pace = (at: number) => [{ key: "chat", sentAt: [at], parkedUntil: 0 }];
const bot = { group: "bot", statuses: [], paces: ["chat"] };

async function open() {
  const url = await someDatabase();
  const [database, other] = [await openDatabase(url, "one"), await openRelay(url, "other")];
  return { url, database, other, lane: await takeLane(other, bot.group) };
}

it("a fence lets a writer that was paused in its transaction finish before the next holder begins", async () => {
  letTransactionsWait();
  const { url, database, other, lane } = await open();
  const writing = await pauseIn(database, (tx) => savePaces(tx, lane, pace(noon)));
  const acquiring = other.acquireLanes("other", [bot], 60_000);
  await someoneWaits(url, acquiring).finally(writing.goOn);
  expect(await writing.done).toBe("done");
  // What the writer has saved is not lost on the one who comes after it.
  expect((await acquiring)[0]?.memory.paces).toEqual(pace(noon));
  expect(await database.transaction((tx) => savePaces(toTx(tx), lane, pace(noon + 1)))).toBe("lost");
  const [later] = await other.acquireLanes("other", [bot], 60_000);
  expect(later?.memory.paces).toEqual(pace(noon));
});

it("a fence lets whoever claims what it routes finish before the next holder begins", async () => {
  letTransactionsWait();
  const { url, database, other, lane } = await open();
  const [alert] = await accept(other);
  const claims = [{ lane, token: "t", leaseMs: 60_000 }];
  const record = { ...routed(alert?.seq ?? 0, { deliveries: [planned("chat")] }), claims };
  const routing = await pauseIn(database, (tx, pause) =>
    recordRouting({ ...tx, routeAlerts: () => pause().then(() => new Map()) }, [record]),
  );
  const acquiring = other.acquireLanes("other", [bot], 60_000);
  await someoneWaits(url, acquiring).finally(routing.goOn);
  await Promise.all([routing.done, acquiring]);
});

it("a fence refuses a writer that waited while the next holder began", async () => {
  const { url, other, lane } = await open();
  // As acquiring does it, stopped before its commit.
  const acquiring = await openClient(url);
  await acquiring.query("BEGIN");
  await acquiring.query("SELECT FROM lanes WHERE lane_group = 'bot' FOR UPDATE");
  await acquiring.query("UPDATE lanes SET fence = nextval('lane_fences') WHERE lane_group = 'bot'");
  const writing = other.savePaces(lane, pace(noon));
  await someoneWaits(url, writing);
  await acquiring.query("COMMIT");
  expect(await writing).toBe("lost");
  expect(await runSql(url, "SELECT FROM paces")).toEqual([]);
});

it("a fence lets a lease be renewed while a write under it is not committed", async () => {
  letTransactionsWait();
  const { database, other, lane } = await open();
  await database.transaction(async (tx) => {
    await savePaces(toTx(tx), lane, pace(noon));
    expect(await other.renewLanes([lane], 60_000)).toEqual(["bot"]);
  });
});

const laneOf = (name: string) => ({ group: name, statuses: [{ kind: "destination" as const, name }], paces: [] });

it("what waits for a destination that a relay does not know is left to the relay that does, as long as that holds its lane", async () => {
  const { older, newer } = await openRelays("older", "newer");
  const lane = await takeLane(older, "orphans");
  await route(older, 3, ["known", "new", "gone"]);
  const [grant] = await newer.acquireLanes("newer", [laneOf("new")], 60_000);
  const orphansOf = async (store: Store) =>
    new Set((await store.listOrphans(["known"], 10)).map(({ destination }) => destination));
  expect(await orphansOf(older)).toEqual(new Set(["gone"]));
  expect(await older.failOrphans(lane, ["known"], noon)).toBe(3);
  expect(await older.listDue("new", noon, 10)).toHaveLength(3);
  await newer.releaseLanes(grant ? [grant] : []);
  expect(await orphansOf(older)).toEqual(new Set(["new"]));
  expect(await older.failOrphans(lane, ["known"], noon)).toBe(3);
});

it("what waits for a destination that a relay does not know is its own to end after a restart without it", async () => {
  const url = await someDatabase();
  const killed = await openRelay(url, "relay");
  await route(killed, 1, ["gone"]);
  await killed.acquireLanes("a process that was killed", [laneOf("gone")], 60_000);
  const restarted = await openRelay(url, "relay");
  expect(await restarted.listOrphans([], 10)).toHaveLength(1);
});

it("writes of several lanes about the same alerts send each once, and never wait for each other in a circle", async () => {
  // Of its own: the server counts the circles of a database, and other tests make some.
  const url = await makePostgresDatabase();
  const relays = await Promise.all(["a", "b"].map((name) => openPostgresStore({ url, relayName: name })));
  const [one] = relays as [Store];
  const destinations = ["chat", "mail", "hook", "ops"];
  await route(one, 400, destinations, (index) => `key ${index % 7}`);
  await Promise.all(
    destinations.map(async (destination, index) => {
      const store = relays[index % 2] as Store;
      const lane = await takeLane(store, destination);
      for (;;) {
        const due = await store.listDue(destination, noon, 50);
        if (due.length === 0) return;
        // Each lane in an order of its own.
        if (index % 2 === 1) due.reverse();
        const claims = due.map(({ seq }) => claimOf(`${destination} ${seq}`, seq));
        const run = await store.claimRun(lane, claims);
        if (run === "lost") throw new Error("the lane is lost");
        const records = run.map(({ token, deliveries }) => attemptOf(token, [deliveries[0]?.seq ?? 0], { thread }));
        const answers = await Promise.all(records.map((record) => store.recordAttempt(lane, record, [])));
        expect(new Set(answers)).toEqual(new Set(["recorded"]));
      }
    }),
  );
  const counts = await one.countByDestination();
  expect(counts.map(({ counts: one }) => one)).toEqual(destinations.map(() => ({ sent: 400 })));
  // What a connection has counted is known for sure when it has ended.
  for (const store of relays) await store.close();
  const deadlocks = "SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()";
  expect(await runSql(url, deadlocks)).toEqual([{ deadlocks: 0 }]);
});
