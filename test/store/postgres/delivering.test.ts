import { describe, expect, it, onTestFinished } from "vitest";
import type { AttemptRecord } from "../../../src/core/ports/dispatch.ts";
import type { LaneFence } from "../../../src/core/ports/lanes.ts";
import type { Store } from "../../../src/core/ports/store.ts";
import { openPostgresDatabase, openPostgresStore } from "../../../src/store/postgres/store.ts";
import { toTx } from "../../../src/store/postgres/tx.ts";
import {
  attemptOf,
  claimOf,
  newId,
  noon,
  planned,
  request,
  routed,
  thread,
} from "../../conformance/store/scene-samples.ts";
import { takeLane } from "../../support/lane.ts";
import { makePostgresDatabase, openClient, postgresDatabaseOf, runSql } from "../../support/postgres.ts";
import { shared } from "../../support/postgres-transactions.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

const { recordRouting, savePaces } = shared;

const someDatabase = () => postgresDatabaseOf(makeTempFolder());

async function openRelay(url: string, relayName = "a relay") {
  const store = await openPostgresStore({ url, relayName });
  onTestFinished(() => store.close());
  return store;
}

async function route(store: Store, count: number, destinations = ["chat"], key = (_: number) => "tvl:usdc") {
  await Promise.all(Array.from({ length: count }, () => store.acceptRequest(request({ ids: [newId()] }))));
  const alerts = (await store.listUnrouted(count, noon)).flatMap((one) => one.alerts);
  await store.recordRouting(
    alerts.map(({ seq }, index) => {
      const record = routed(seq, { deliveries: destinations.map((name) => planned(name)) });
      return { ...record, facts: { ...record.facts, alertKey: key(index) } };
    }),
  );
}

const sent = (token: string, seq: number, changes: Partial<AttemptRecord> = {}) => attemptOf(token, [seq], changes);

function createGate() {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}

/** What comes first: that a connection of this database waits for another one's transaction, or that this is done. */
async function whatComesFirst(url: string, work: Promise<unknown>): Promise<"it waits" | "it is done"> {
  let isDone = false;
  const note = () => {
    isDone = true;
  };
  work.then(note, note);
  let waiting = 0;
  await expect
    .poll(async () => {
      const sql = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      waiting = (await runSql(url, sql)).length;
      return isDone || waiting > 0;
    })
    .toBe(true);
  return waiting > 0 ? "it waits" : "it is done";
}

describe("claims", () => {
  it("of 1,000 deliveries by four connections at once take none twice and leave none", async () => {
    const url = await someDatabase();
    const stores = await Promise.all(["a", "b", "c", "d"].map((name) => openRelay(url, name)));
    const [first] = stores as [Store];
    const lane = await takeLane(first);
    await route(first, 1_000);
    const taken: number[] = [];
    await Promise.all(
      stores.map(async (store, index) => {
        for (let turn = 0; ; turn += 1) {
          const due = await store.listDue("chat", noon, 40);
          if (due.length === 0) return;
          const deliverySeqs = due.map(({ seq }) => seq);
          // Half of them ask in the other order.
          if (index % 2 === 1) deliverySeqs.reverse();
          const claim = claimOf(`${index}.${turn}`, ...deliverySeqs);
          const claimed = await store.claimDeliveries(lane, claim, []);
          if (claimed !== "lost") taken.push(...claimed.map(({ seq }) => seq));
        }
      }),
    );
    expect(taken).toHaveLength(1_000);
    expect(new Set(taken).size).toBe(1_000);
  });
});

describe("lanes that write together", () => {
  const groups = ["chat", "mail", "hook", "desk"];

  async function openLanes() {
    const url = await someDatabase();
    const store = await openRelay(url);
    const lanes = new Map<string, LaneFence>();
    for (const group of groups) lanes.set(group, await takeLane(store, group));
    await route(store, 1, groups);
    const due = new Map<string, number>();
    for (const group of groups) due.set(group, (await store.listDue(group, noon, 10))[0]?.seq as number);
    const laneOf = (group: string) => lanes.get(group) as LaneFence;
    const seqOf = (group: string) => due.get(group) as number;
    const claim = (group: string) => store.claimRun(laneOf(group), [claimOf(group, seqOf(group))]);
    const record = (group: string) => store.recordAttempts(laneOf(group), [sent(group, seqOf(group))]);
    return { url, store, lanes, claim, record };
  }

  it("are kept waiting by none of them that changes hands just then", async () => {
    const { url, claim, record } = await openLanes();
    for (const work of [claim, record]) {
      const client = await openClient(url);
      // As whoever takes a lane does, stopped before its commit.
      await client.query("BEGIN");
      await client.query("SELECT FROM lanes WHERE lane_group = 'mail' FOR UPDATE");
      const waiting = groups.map((group) => ({ group, done: work(group) }));
      const others = waiting.filter(({ group }) => group !== "mail");
      await Promise.all(others.map(({ done }) => done));
      const mail = waiting.find(({ group }) => group === "mail")?.done as Promise<unknown>;
      expect(await whatComesFirst(url, mail)).toBe("it waits");
      await client.query("ROLLBACK");
      expect(await mail).not.toBe("lost");
    }
    const states = await runSql(url, "SELECT DISTINCT state, attempts FROM deliveries");
    expect(states).toEqual([{ state: "sent", attempts: 1 }]);
    expect(await runSql(url, "SELECT DISTINCT count(*)::int FROM attempts")).toEqual([{ count: groups.length }]);
  });

  it("write nothing for one that is lost but its attempt, and all for the others", async () => {
    const { url, lanes, claim, record } = await openLanes();
    await runSql(url, "UPDATE lanes SET fence = nextval('lane_fences') WHERE lane_group = 'hook'");
    const claimed = await Promise.all(groups.map(claim));
    expect(claimed.map((one) => (one === "lost" ? one : one.map(({ token }) => token)))).toEqual([
      ["chat"],
      ["mail"],
      "lost",
      ["desk"],
    ]);
    await runSql(url, "UPDATE lanes SET fence = nextval('lane_fences') WHERE lane_group = 'desk'");
    expect(await Promise.all(groups.map(record))).toEqual([["recorded"], ["recorded"], "lost", "lost"]);
    const deliveries = await runSql(url, "SELECT destination, state FROM deliveries ORDER BY destination");
    expect(deliveries).toEqual([
      { destination: "chat", state: "sent" },
      { destination: "desk", state: "sending" },
      { destination: "hook", state: "queued" },
      { destination: "mail", state: "sent" },
    ]);
    expect(await runSql(url, "SELECT count(*)::int FROM attempts")).toEqual([{ count: lanes.size }]);
  });
});

describe("lanes", () => {
  it("go to one of those who ask at once, for a while by the database's clock", async () => {
    const url = await someDatabase();
    const relays = await Promise.all(["one", "two", "three"].map((name) => openRelay(url, name)));
    const groups = Array.from({ length: 20 }, (_, index) => `group ${(index * 7) % 20}`);
    const asked = groups.map((group) => ({ group, statuses: [], paces: [] }));
    const grants = await Promise.all(
      relays.map((store, index) => store.acquireLanes(`process ${index}`, asked, 3_600_000)),
    );
    expect(
      grants
        .flat()
        .map(({ group }) => group)
        .sort(),
    ).toEqual(groups.toSorted());
    expect(new Set(grants.flat().map(({ fence }) => fence)).size).toBe(20);
    const rows = await runSql(
      url,
      "SELECT DISTINCT lease_until BETWEEN now() AND now() + interval '1 hour' AS by_it FROM lanes",
    );
    expect(rows).toEqual([{ by_it: true }]);
  });
});

describe("fallbacks of two relays at once", () => {
  /** Two mailboxes of one alert, each with a fallback, while one relay has called that of the first and is not done. */
  async function open() {
    const url = await someDatabase();
    const database = await openPostgresDatabase({ url, relayName: "one" });
    onTestFinished(() => database.close());
    const other = await openRelay(url, "other");
    await other.acceptRequest(request({ ids: [newId()] }));
    const [alert] = (await other.listUnrouted(1, noon)).flatMap(({ alerts }) => alerts);
    const fallback = { to: "mail", at: noon };
    const deliveries = ["a", "b"].map((recipient) => planned("desk", { recipient, fallback }));
    const [recorded] = await other.recordRouting([routed(alert?.seq ?? 0, { deliveries })]);
    const seqs = recorded?.deliveries.map((made) => made?.seq ?? 0) ?? [];
    const call = (index: number, recipient: string) => [
      { deliverySeq: seqs[index] ?? 0, planned: [planned("mail", { recipient })] },
    ];
    const made = () => runSql(url, "SELECT recipient FROM deliveries WHERE destination = 'mail'");
    const called = createGate();
    const paused = createGate();
    const first = database.transaction(async (tx) => {
      await shared.callFallbacks(toTx(tx), call(0, "m"), noon);
      called.open();
      await paused.passed;
    });
    await called.passed;
    return { url, other, call, made, first, paused };
  }

  it("are made once for all mailboxes of the alert", async () => {
    const { url, other, call, made, first, paused } = await open();
    const second = other.callFallbacks(call(1, "m"), noon);
    expect(await whatComesFirst(url, second).finally(paused.open)).toBe("it waits");
    await Promise.all([first, second]);
    expect(await made()).toEqual([{ recipient: "m" }]);
  });

  it("are made once for one delivery, though its addresses have changed", async () => {
    const { url, other, call, made, first, paused } = await open();
    const second = other.callFallbacks(call(0, "new"), noon);
    expect(await whatComesFirst(url, second).finally(paused.open)).toBe("it waits");
    await Promise.all([first, second]);
    expect(await made()).toEqual([{ recipient: "m" }]);
  });
});

describe("a fence", () => {
  const pace = (at: number) => [{ key: "chat", sentAt: [at], parkedUntil: 0 }];
  const bot = { group: "bot", statuses: [], paces: ["chat"] };

  async function open() {
    const url = await someDatabase();
    const database = await openPostgresDatabase({ url, relayName: "one" });
    onTestFinished(() => database.close());
    const other = await openRelay(url, "other");
    const lane = await takeLane(other, bot.group);
    return { url, database, other, lane };
  }

  it("lets a writer that was paused in its transaction finish before the next holder begins", async () => {
    const { url, database, other, lane } = await open();
    const written = createGate();
    const paused = createGate();
    const writing = database.transaction(async (tx) => {
      const saved = await savePaces(toTx(tx), lane, pace(noon));
      written.open();
      await paused.passed;
      return saved;
    });
    await written.passed;
    const acquiring = other.acquireLanes("other", [bot], 60_000);
    const first = await whatComesFirst(url, acquiring).finally(paused.open);
    expect(first).toBe("it waits");
    expect(await writing).toBe("done");
    const [grant] = await acquiring;
    // What the writer has saved is not lost on the one who comes after it.
    expect(grant?.memory.paces).toEqual(pace(noon));
    expect(await database.transaction((tx) => savePaces(toTx(tx), lane, pace(noon + 1)))).toBe("lost");
    const [later] = await other.acquireLanes("other", [bot], 60_000);
    expect(later?.memory.paces).toEqual(pace(noon));
  });

  it("lets whoever claims what it routes finish before the next holder begins", async () => {
    const { url, database, other, lane } = await open();
    await other.acceptRequest(request({ ids: [newId()] }));
    const [alert] = (await other.listUnrouted(1, noon)).flatMap(({ alerts }) => alerts);
    const claims = [{ lane, token: "t", leaseMs: 60_000 }];
    const record = { ...routed(alert?.seq ?? 0, { deliveries: [planned("chat")] }), claims };
    const written = createGate();
    const paused = createGate();
    const routing = database.transaction((tx) =>
      recordRouting(
        {
          ...toTx(tx),
          async routeAlerts() {
            written.open();
            await paused.passed;
            return new Map();
          },
        },
        [record],
      ),
    );
    await written.passed;
    const acquiring = other.acquireLanes("other", [bot], 60_000);
    expect(await whatComesFirst(url, acquiring).finally(paused.open)).toBe("it waits");
    await Promise.all([routing, acquiring]);
  });

  it("refuses a writer that waited while the next holder began", async () => {
    const { url, database, other, lane } = await open();
    const begun = createGate();
    const paused = createGate();
    // As acquiring does it, stopped before its commit.
    const acquiring = database.transaction(async (tx) => {
      await tx.query("SELECT FROM lanes WHERE lane_group = 'bot' FOR UPDATE");
      await tx.query("UPDATE lanes SET fence = nextval('lane_fences') WHERE lane_group = 'bot'");
      begun.open();
      await paused.passed;
    });
    await begun.passed;
    const writing = other.savePaces(lane, pace(noon));
    const first = await whatComesFirst(url, writing).finally(paused.open);
    expect(first).toBe("it waits");
    await acquiring;
    expect(await writing).toBe("lost");
    expect(await runSql(url, "SELECT FROM paces")).toEqual([]);
  });

  it("lets a lease be renewed while a write under it is not committed", async () => {
    const { database, other, lane } = await open();
    await database.transaction(async (tx) => {
      await savePaces(toTx(tx), lane, pace(noon));
      expect(await other.renewLanes([lane], 60_000)).toEqual(["bot"]);
    });
  });

  it("counts for each alert of a routing that claims at once", async () => {
    const { url, other } = await open();
    const held = await takeLane(other, "held");
    const lost = await takeLane(other, "lost");
    await takeLane(other, "lost");
    await other.acceptRequest(request());
    const [{ alerts = [] } = {}] = await other.listUnrouted(1, noon);
    const claimUnder = (lane: LaneFence) => ({ lane, token: lane.group, leaseMs: 1_000 });
    const [recorded] = await other.recordRouting([
      {
        ...routed(alerts[0]?.seq ?? 0, { deliveries: [planned("a"), planned("b")] }),
        claims: [claimUnder(lost), claimUnder(held)],
      },
    ]);
    expect(recorded?.deliveries.map((made) => made?.claimed?.token)).toEqual([undefined, "held"]);
    expect(
      await runSql(url, "SELECT state, claim_token, due_at IS NULL AS claimed FROM deliveries ORDER BY seq"),
    ).toEqual([
      { state: "queued", claim_token: null, claimed: false },
      { state: "sending", claim_token: "held", claimed: true },
    ]);
  });
});

describe("what waits for a destination that a relay does not know", () => {
  it("is left to the relay that does, as long as that holds its lane", async () => {
    const url = await someDatabase();
    const [older, newer] = await Promise.all([openRelay(url, "older"), openRelay(url, "newer")]);
    const lane = await takeLane(older, "orphans");
    await route(older, 3, ["known", "new", "gone"]);
    const [grant] = await newer.acquireLanes(
      "newer",
      [{ group: "bot", statuses: [{ kind: "destination", name: "new" }], paces: [] }],
      60_000,
    );
    const orphansOf = async (store: Store) =>
      new Set((await store.listOrphans(["known"], 10)).map(({ destination }) => destination));
    expect(await orphansOf(older)).toEqual(new Set(["gone"]));
    expect(await older.failOrphans(lane, ["known"], noon)).toBe(3);
    expect(await older.listDue("new", noon, 10)).toHaveLength(3);
    await newer.releaseLanes(grant ? [grant] : []);
    expect(await orphansOf(older)).toEqual(new Set(["new"]));
    expect(await older.failOrphans(lane, ["known"], noon)).toBe(3);
  });

  it("is its own to end after a restart without it", async () => {
    const url = await someDatabase();
    const killed = await openRelay(url, "relay");
    await route(killed, 1, ["gone"]);
    await killed.acquireLanes(
      "a process that was killed",
      [{ group: "gone", statuses: [{ kind: "destination", name: "gone" }], paces: [] }],
      60_000,
    );
    const restarted = await openRelay(url, "relay");
    expect(await restarted.listOrphans([], 10)).toHaveLength(1);
  });
});

describe("writes of several lanes about the same alerts", () => {
  it("send each once, and never wait for each other in a circle", async () => {
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
          const records = run.map(({ token, deliveries: [delivery] }) => sent(token, delivery?.seq ?? 0, { thread }));
          expect(new Set(await store.recordAttempts(lane, records))).toEqual(new Set(["recorded"]));
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
});
