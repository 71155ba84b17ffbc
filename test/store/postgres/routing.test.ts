import { expect, it, onTestFinished, vi } from "vitest";
import { allCauses, type GroupRule, nameGroup } from "../../../src/core/group.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { BodyReader } from "../../../src/core/ports/body-reader.ts";
import type { RoutingRecord } from "../../../src/core/ports/routing-desk.ts";
import type { Store } from "../../../src/core/ports/store.ts";
import type { Mute } from "../../../src/core/rules.ts";
import { Judging } from "../../../src/routing/judging.ts";
import { createRouter } from "../../../src/routing/router.ts";
import { RoutingLoop } from "../../../src/routing/routing-loop.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { factsOf, newId, noon, planned, request, routed } from "../../conformance/store/scene-samples.ts";
import { openClient, runSql } from "../../support/postgres.ts";
import { createLocalReader, createMemoryJournal } from "../../support/reader.ts";
import { createTestClock } from "../../support/test-clock.ts";
import { openRelay, openRelays, someDatabase, someoneWaits } from "./open-relays.ts";

const accept = async (store: Store, count: number) => {
  await Promise.all(Array.from({ length: count }, () => store.acceptRequest(request({ ids: [newId()] }))));
};

const list = async (store: Store, after?: number) =>
  (await store.listUnrouted(10_000, noon, after)).flatMap(({ alerts }) => alerts.map(({ seq }) => seq));

const toChat = (seq: number, changes: Partial<RoutingRecord> = {}) =>
  routed(seq, { deliveries: [planned("chat")], ...changes });

/** By request: whether another process was given it before and is gone. */
const flagsOf = async (store: Store) => (await store.listUnrouted(10, noon)).map(({ isInterrupted }) => isInterrupted);

/** Two relays, each with so many alerts, which they route at the same moment: all in one step, or each in a step of its own. */
async function routeAtOnce(count: number, isInSteps: boolean, toRecord: (seq: number, place: number) => RoutingRecord) {
  const { one, other } = await openRelays("one", "other");
  const lists: [Store, number[]][] = [];
  for (const store of [one, other]) {
    await accept(store, count);
    lists.push([store, await list(store)]);
  }
  const steps = lists.flatMap(([store, seqs]) => {
    const records = seqs.map(toRecord);
    return isInSteps ? records.map((record) => store.recordRouting([record])) : store.recordRouting(records);
  });
  return { one, recorded: (await Promise.all(steps)).flat() };
}

/** Routes what the store has, at a clock that a test moves, until the test is over. */
function startLoop(store: Store, reader: BodyReader) {
  const clock = createTestClock(noon);
  const told = { clock, log: silentLog };
  const router = createRouter({ destinations: [], routes: [], mutes: [] });
  const rules = { router, repeatWindowMs: 1, hasUnsignedKeys: () => false, activeMutes: () => [] };
  const judging = new Judging({ ...rules, ...told });
  const journal = createMemoryJournal();
  const loop = new RoutingLoop({ store, judging, reader, journal, isFlooded: () => false, ...told });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void loop.run(stop.signal);
  return { loop, clock };
}

/** Its time to route them is over, by the database's clock. */
const endLeases = (url: string) => runSql(url, "UPDATE alerts SET routing_until = clock_timestamp()");

it("routing by several relays gives an alert to the relay that has accepted it, and after its time to another", async () => {
  const { url, one, other } = await openRelays("one", "other");
  await accept(one, 3);
  expect(await list(other)).toEqual([]);
  const seqs = await list(one);
  expect(seqs).toHaveLength(3);
  await endLeases(url);
  // What a relay is given again is its own for longer.
  expect(await list(one)).toEqual(seqs);
  expect(await list(other)).toEqual([]);
  await endLeases(url);
  expect(await list(other)).toEqual(seqs);
  expect(await list(one)).toEqual([]);
  // The first was only slow: what it has decided comes too late.
  await other.recordRouting(seqs.map((seq) => toChat(seq)));
  expect(await one.recordRouting(seqs.map((seq) => toChat(seq)))).toEqual([]);
  expect(await one.listDue("chat", noon, 10)).toHaveLength(3);
});

it("routing by several relays leaves what a relay has not routed to the others as soon as that ends, which is no death", async () => {
  const { url, other } = await openRelays("other");
  const ending = await openPostgresStore({ url, relayName: "ending" });
  await accept(ending, 3);
  const seqs = await list(ending);
  expect(await list(other)).toEqual([]);
  await ending.close();
  const left = await other.listUnrouted(10, noon);
  expect(left.map(({ alerts }) => alerts[0]?.seq)).toEqual(seqs);
  expect(left.some(({ isInterrupted }) => isInterrupted)).toBe(false);
});

it("routing by several relays is left to the others by a relay that only accepts, and told to them, until it routes again", async () => {
  const { one, other } = await openRelays("one", "other");
  await accept(one, 2);
  const before = await list(one);
  await one.leaveRouting?.(true);
  expect(await flagsOf(other)).toEqual([undefined, undefined]);
  expect(await list(other)).toEqual(before);
  const left = vi.fn();
  onTestFinished(other.subscribe("left", left));
  await accept(one, 1);
  await expect.poll(() => left.mock.calls.length).toBeGreaterThan(0);
  // Not only with the list from the start, which is made once a second.
  const after = await list(other, before.at(-1));
  expect(after).toHaveLength(1);
  await one.leaveRouting?.(false);
  await accept(one, 1);
  expect(await list(other, after.at(-1))).toEqual([]);
  expect(await list(one)).toHaveLength(1);
});

it("routing by several relays gives what a dead relay has left to one of the others, whoever asks at once", async () => {
  const { url, relays } = await openRelays("dead", "one", "two", "three");
  const [dead, ...others] = relays as [Store, ...Store[]];
  await accept(dead, 500);
  await endLeases(url);
  const taken = (await Promise.all(others.map((store) => list(store)))).flat();
  expect([taken.length, new Set(taken).size]).toEqual([500, 500]);
});

it("routing by several relays takes over what looks urgent first, when a dead relay has left more than is taken at once", async () => {
  const { url, one, other } = await openRelays("one", "other");
  const ids = Array.from({ length: 1_000 }, newId);
  await one.acceptRequest(request({ ids }));
  await one.acceptRequest(request({ body: Buffer.from("critical") }));
  await endLeases(url);
  expect((await other.listUnrouted(10, noon, 0, true)).map(({ body }) => String(Buffer.from(body)))).toEqual([
    "critical",
  ]);
});

it("routing by several relays takes over what has failed elsewhere, at its time and with why, and counts no failure that its former relay still notes", async () => {
  const { url, one, other } = await openRelays("one", "other");
  await accept(one, 1);
  const seqs = await list(one);
  await one.recordRoutingFailure(seqs, "it broke", noon);
  expect(await list(other)).toEqual([]);
  await endLeases(url);
  const [taken] = await other.listUnrouted(10, noon);
  const broken = { seq: seqs[0], failures: 1, error: "it broke" };
  expect(taken?.alerts).toMatchObject([broken]);
  expect(await list(one)).toEqual([]);
  // Started again, it has it in its file's note.
  await one.recordRoutingFailure(seqs, "it has ended", noon);
  expect((await other.listUnrouted(10, noon))[0]?.alerts).toMatchObject([broken]);
});

it("routing by several relays gives out what becomes visible behind a later position, and that once", async () => {
  const { url, one, other } = await openRelays("one", "other");
  await accept(one, 1);
  const [first] = await list(one);
  // As a transaction that was given its position first and is committed last.
  await accept(other, 1);
  await accept(one, 1);
  expect(await list(one, first)).toEqual([(first ?? 0) + 2]);
  await runSql(url, "UPDATE alerts SET routed_by = 'one' WHERE seq = $1", [(first ?? 0) + 1]);
  expect(await list(one, (first ?? 0) + 2)).toEqual([(first ?? 0) + 1]);
  expect(await list(one, (first ?? 0) + 2)).toEqual([]);
  // A relay that begins anew is given all.
  expect(await list(one)).toHaveLength(3);
});

it("routing by several relays sends a body once that two relays route at the same moment", async () => {
  const { one, recorded } = await routeAtOnce(20, false, (seq) => toChat(seq, { repeatWindowMs: 3_600_000 }));
  expect([recorded.length, recorded.filter(({ repeatOf }) => repeatOf === undefined).length]).toEqual([40, 1]);
  expect(await one.listDue("chat", noon, 100)).toHaveLength(1);
  expect(await one.countDuplicates()).toBe(39);
});

it("routing by several relays leaves an alert as it is that another relay routes between its look-up and its write", async () => {
  const { url, one } = await openRelays("one");
  await accept(one, 1);
  const [seq] = await list(one);
  const client = await openClient(url);
  await client.query("BEGIN");
  await client.query("UPDATE alerts SET routed_at = 1 WHERE seq = $1", [seq]);
  const recording = one.recordRouting([toChat(seq ?? 0)]);
  await someoneWaits(url, recording);
  await client.query("COMMIT");
  expect(await recording).toEqual([]);
  expect(await one.listDue("chat", noon, 9)).toEqual([]);
});

it("routing by several relays tells the ends of keys once that two relays route at the same moment", async () => {
  const { one } = await routeAtOnce(20, false, (seq, place) => {
    const facts = factsOf({ status: "resolved", occurredAt: noon, alertKey: `key ${place}` });
    return toChat(seq, { facts, endEdits: [] });
  });
  expect(await one.listDue("chat", noon, 100)).toHaveLength(20);
});

it("routing by several relays leaves no mute until it is over behind the end of its key, which two relays route and mute at the same moment", async () => {
  const { one, other } = await openRelays("one", "other");
  const keys = Array.from({ length: 12 }, (_, index) => `key ${index}`);
  const mute = (untilOver: string, id: string): Mute => {
    const times = { startsAt: noon, createdAt: noon, endsAt: noon + 3_600_000 };
    return { id, matchers: [], reason: "known", createdBy: "page", untilOver, ...times };
  };
  const recordsOf = async (store: Store) => {
    await accept(store, keys.length);
    return (await list(store)).map((seq, index) => ({ seq, alertKey: keys[index] as string }));
  };
  const fired = (await recordsOf(one)).map(({ seq, alertKey }) => routed(seq, { facts: factsOf({ alertKey }) }));
  await one.recordRouting(fired);
  await Promise.all(keys.map((key, index) => one.addMute(mute(key, `before ${index}`))));
  const ifOver = { decisions: [], deliveries: [planned("chat")] };
  const muted = { routedAt: noon + 1, deliveries: [planned("chat", { state: "muted" })], ifOver };
  const firings = (await recordsOf(other)).map(({ seq, alertKey }) =>
    routed(seq, { facts: factsOf({ alertKey }), ...muted }),
  );
  const ends = (await recordsOf(one)).map(({ seq, alertKey }) => {
    const facts = factsOf({ alertKey, status: "resolved" });
    return toChat(seq, { facts, endEdits: [], routedAt: noon + 1 });
  });
  const made = await Promise.all([
    ...keys.map((key, index) => other.addMute(mute(key, `beside ${index}`))),
    one.recordRouting(ends),
    other.recordRouting(firings.toReversed()),
  ]);
  expect(made.slice(0, -2).every((one) => one === "done" || one === "over")).toBe(true);
  const over = (await one.listDue("chat", noon + 1, 100)).filter(({ status }) => status === "resolved");
  expect(over).toHaveLength(keys.length);
  expect(await other.listMutes(noon + 1, false)).toEqual([]);
});

it("routing by several relays rings as often as the rule allows for a key that two relays route at the same moment", async () => {
  const deliveries = [planned("mail", { channel: "email", ring: { flapping: true } })];
  const decisions = [{ route: "all", destination: "mail", result: "deliver" as const, reason: "" }];
  const { one } = await routeAtOnce(10, true, (seq) => routed(seq, { deliveries, decisions }));
  const due = await one.listDue("mail", Number.MAX_SAFE_INTEGER, 100);
  expect(due.map(({ updates }) => updates)).toEqual(["auto", "reply", "reply", "reply", "summary"]);
  expect(due.at(-1)?.damped).toMatchObject({ count: 16 });
});

it("routing by several relays makes one group of alerts that two relays route at the same moment", async () => {
  const group = { name: '["group","all","chain","eth"]', waitMs: 20_000, againMs: 300_000, waitCriticalMs: 0 };
  const deliveries = [planned("mail", { channel: "email", dueAt: noon, group: { group } })];
  // One after another, so that a relay which does not see the other's group begins one of its own.
  let at = noon;
  const { one } = await routeAtOnce(10, true, (seq) => {
    at += 100;
    return routed(seq, { deliveries, routedAt: at });
  });
  const due = await one.listDue("mail", Number.MAX_SAFE_INTEGER, 100);
  expect([due.length, new Set(due.map(({ dueAt }) => dueAt)).size]).toEqual([20, 1]);
});

it("routing by several relays tells one of all who list it that another process was given it before and is gone", async () => {
  const { url, killed, one, other } = await openRelays("killed", "one", "other");
  await accept(killed, 2);
  await endLeases(url);
  // Accepted, and listed by nobody.
  expect(await flagsOf(one)).toEqual([undefined, undefined]);
  expect(await flagsOf(one)).toEqual([undefined, undefined]);
  await endLeases(url);
  expect(await flagsOf(other)).toEqual([true, true]);
  await endLeases(url);
  expect(await flagsOf(killed)).toEqual([undefined, undefined]);
  await endLeases(url);
  await other.recordRoutingFailure(await list(other), "it has ended", noon);
  expect(await flagsOf(other)).toEqual([undefined]);
  // The same again, where it is read alone.
  await endLeases(url);
  expect(await flagsOf(one)).toEqual([true]);
});

it("routing by several relays tells the next one of a reader that took the alert over while it ran, and is gone", async () => {
  const { url, killed, one, other } = await openRelays("killed", "one", "other");
  expect(await list(one)).toEqual([]);
  await accept(killed, 1);
  await endLeases(url);
  expect(await flagsOf(one)).toEqual([undefined]);
  await endLeases(url);
  expect(await flagsOf(other)).toEqual([true]);
});

it("routing by several relays leaves what a relay that runs reads to it for longer, and does not take that for its end", async () => {
  const url = await someDatabase();
  const open = async (name: string) => {
    const id = `relay ${name}`;
    const store = await openRelay(url, name, { relayId: id });
    await store.announceRelay({ id, name, version: "0.1.0", configuration: "c", startedAt: noon }, 60_000);
    return store;
  };
  const [slow, other, third] = [await open("slow"), await open("other"), await open("third")];
  const ends = (relayName: string) =>
    runSql(url, "UPDATE relays SET gone_at = clock_timestamp() WHERE name = $1", [relayName]);
  await accept(slow, 1);
  expect(await flagsOf(slow)).toEqual([undefined]);
  // It stands still: others wait for a while, then one reads it without a mark.
  await endLeases(url);
  expect(await flagsOf(other)).toEqual([]);
  await runSql(url, "UPDATE alerts SET routing_until = clock_timestamp() - interval '20 seconds'");
  expect(await flagsOf(other)).toEqual([undefined]);
  // Who has it now ends: the next one is not kept waiting, and knows.
  await endLeases(url);
  expect(await flagsOf(third)).toEqual([]);
  await ends("other");
  expect(await flagsOf(third)).toEqual([true]);
  // The same of what is read alone.
  await third.recordRoutingFailure(await list(third), "it has ended", noon);
  expect(await flagsOf(third)).toEqual([undefined]);
  await endLeases(url);
  expect(await flagsOf(slow)).toEqual([]);
  await third.forgetRelay("relay third");
  expect(await flagsOf(slow)).toEqual([true]);
});

it("routing by several relays routes and notes what the process before it was storing when it was killed, also when that is committed later", async () => {
  const { url, relays } = await openRelays("same", "same");
  const [former, next] = relays as [Store, Store];
  // A commit that waits for the holder of this lock.
  const holdUp = `CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER hold_up AFTER INSERT ON requests DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
       WHEN (NEW.content_type = 'slow') EXECUTE FUNCTION hold_up()`;
  await runSql(url, holdUp);
  onTestFinished(() => runSql(url, "DROP TRIGGER hold_up ON requests; DROP FUNCTION hold_up").then(() => {}));
  const client = await openClient(url);
  await client.query("SELECT pg_advisory_lock(7)");
  const slow = former.acceptRequest(request({ ids: [newId()], contentType: "slow" }));
  await someoneWaits(url, slow);
  const reader = createLocalReader(() => [{ facts: factsOf() }]);
  const { loop, clock } = startLoop(next, reader);
  const isCaughtUp = () => expect.poll(loop.isCaughtUp, { interval: 5 }).toBe(true);
  await isCaughtUp();
  const own = await next.acceptRequest(request({ ids: [newId()] }));
  loop.wake();
  await isCaughtUp();
  expect((await next.getAlert(own.ids[0] ?? ""))?.routedAt).toBeDefined();
  await client.query("SELECT pg_advisory_unlock(7)");
  const { ids } = await slow;
  // Nobody says so to the process that has its name now.
  await clock.advance(1_000);
  await expect.poll(async () => (await next.getAlert(ids[0] ?? ""))?.routedAt).toBeDefined();
  expect(await runSql(url, "SELECT FROM readings")).toHaveLength(1);
});

it("routing by several relays reads what three relays have died of no more, sends it as it came, and loses nothing beside it", async () => {
  const { url, relays } = await openRelays("one", "two", "three", "four");
  const reads: string[][] = [];
  const poison = "poison";
  const [first, , , last] = relays as [Store, Store, Store, Store];
  await accept(first, 2);
  const { ids } = await first.acceptRequest(request({ ids: [newId()], body: Buffer.from(poison) }));
  await accept(first, 2);
  for (const store of relays) {
    await endLeases(url);
    const read: string[] = [];
    reads.push(read);
    startLoop(store, {
      async read(bodies) {
        read.push(...bodies.map(({ body }) => Buffer.from(body).toString()));
        // A process that dies says nothing any more.
        if (read.includes(poison)) await new Promise(() => {});
        return bodies.map(() => ({ kind: "read", translations: [{ facts: factsOf(), namesItself: false }] }));
      },
    });
    const isOver = async () => read.includes(poison) || (await store.getAlert(ids[0] ?? ""))?.routedAt !== undefined;
    await expect.poll(isOver, { interval: 20 }).toBe(true);
  }
  expect(reads.map((read) => read.filter((body) => body === poison).length)).toEqual([1, 1, 1, 0]);
  expect(await last.getAlert(ids[0] ?? "")).toMatchObject({ facts: { format: "unreadable", text: poison } });
  expect((await last.countAlerts()).total).toBe(5);
  await expect.poll(() => runSql(url, "SELECT seq FROM alerts WHERE routed_at IS NULL")).toEqual([]);
});

it("routing by several relays waits for what another relay knows of causes where it may change that, and nowhere else", async () => {
  const { url, one } = await openRelays("one");
  const client = await openClient(url);
  const name = nameGroup("cause", "bridge down", []);
  const route = (seq: number, group: GroupRule) =>
    one.recordRouting([toChat(seq, { deliveries: [planned("chat", { group })] })]);
  await accept(one, 2);
  const [pool = 0, bridge = 0] = await list(one);
  await client.query("SELECT pg_advisory_lock(hashtextextended($1, 4))", [JSON.stringify(["chat", allCauses])]);
  expect(await route(pool, { heldBy: [name] })).toHaveLength(1);
  const routing = route(bridge, { holds: [{ name, atMostMs: 60_000 }] });
  await someoneWaits(url, routing);
  await client.query("SELECT pg_advisory_unlock_all()");
  expect(await routing).toHaveLength(1);
});
