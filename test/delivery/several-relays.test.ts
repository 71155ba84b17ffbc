import { describe, expect, it, onTestFinished } from "vitest";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import { planDeliveries } from "../../src/core/rules.ts";
import { Engine } from "../../src/delivery/engine.ts";
import { createComposer } from "../../src/delivery/lane/compose.ts";
import { openPostgresStore, type PostgresStore } from "../../src/store/postgres/store.ts";
import { recipientsOf } from "../../src/vendors/index.ts";
import { anAlert } from "../support/facts.ts";
import type { KnownDestination as Destination } from "../support/known-vendors.ts";
import { postgresDatabaseOf, runSql } from "../support/postgres.ts";
import { createRendering } from "../support/rendering.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock, type TestClock } from "../support/test-clock.ts";
import { createScriptedChannel, ntfyTo, type ScriptedChannel, stopEngine } from "./engine-fixture.ts";

interface TestRelay {
  name: string;
  store: PostgresStore;
  engine: Engine;
  /** What this relay calls. */
  channels: Record<string, ScriptedChannel>;
  /** It was ready once. */
  started: boolean;
  /** Stores an alert, routed to these. Returns its id. */
  accept(to: string[]): Promise<string>;
  /** Destinations whose lanes it runs. */
  runs(): string[];
  stop(): Promise<void>;
  /** As SIGSTOP: it does nothing more, and holds its lanes for good. */
  hang(): Promise<void>;
  /** As SIGKILL: it does nothing more, and its leases end. */
  kill(): Promise<void>;
}

interface StartOptions {
  destinations?: Destination[];
  configuration?: string;
  started?: boolean;
}

interface Relays {
  clock: TestClock;
  url: string;
  start(name: string, options?: StartOptions): Promise<TestRelay>;
  step(): Promise<void>;
  /** Moves the clock on by little until it is as wished. */
  until(wished: () => boolean | Promise<boolean>, what: string): Promise<void>;
}

const publicUrl = "https://tocsin.example.com";

async function createRelays(all: Destination[]): Promise<Relays> {
  const clock = createTestClock();
  const url = await postgresDatabaseOf(makeTempFolder());
  const settings = { ...defaultDeliverySettings(), jitter: 0 };
  const running: TestRelay[] = [];

  /** What was woken asks the database, which takes its real time. */
  async function step(): Promise<void> {
    await clock.advance(250);
    for (const { store } of running) await store.listRelays();
  }

  async function start(
    name: string,
    { destinations = all, configuration = "c", started = true }: StartOptions = {},
  ): Promise<TestRelay> {
    const store = await openPostgresStore({ url, relayName: name });
    const newId = createIdSource(clock.now);
    let isKilled = false;
    let relay: TestRelay | undefined;
    const channels = Object.fromEntries(destinations.map((one) => [one.name, createScriptedChannel(one.type, clock)]));
    const ofEngine = new Proxy(store, {
      get: (target, key: keyof PostgresStore) => (isKilled ? () => new Promise(() => {}) : target[key]),
    });
    const engine = await Engine.start({
      self: { id: newId(), name, version: "0.1.0", configuration, startedAt: clock.now() },
      report: () => ({ ready: true, reasons: [], started: relay?.started ?? started, accepted: 0, hooks: {} }),
      store: ofEngine,
      outlets: destinations.map((destination) => ({
        destination,
        channel: channels[destination.name] as ScriptedChannel,
      })),
      composer: createComposer({ rendering: createRendering({ publicUrl }), log: silentLog, publicUrl }),
      publicUrl,
      settings,
      clock,
      newId,
      random: () => 0.5,
      log: silentLog,
    });
    store.subscribe("due", (names) => !isKilled && engine.wake(names));
    store.subscribe("lanes", () => !isKilled && engine.lookForLanes());
    store.subscribe("mail", () => !isKilled && engine.wishes.wake());
    let isOver = false;
    relay = {
      name,
      started,
      accept: (to) => acceptFor(store, destinations, { to, at: clock.now(), id: newId() }),
      store,
      engine,
      channels,
      runs: () => engine.laneTurns().map(({ destination }) => destination),
      async stop() {
        if (isOver) return;
        isOver = true;
        running.splice(running.indexOf(relay as TestRelay), 1);
        if (!isKilled) await stopEngine(engine, clock);
        await store.close();
      },
      async hang() {
        isKilled = true;
        await runSql(url, "UPDATE lanes SET lease_until = 'infinity' WHERE relay = $1", [name]);
      },
      async kill() {
        isKilled = true;
        await runSql(url, "UPDATE lanes SET lease_until = clock_timestamp() WHERE relay = $1", [name]);
        await runSql(url, "UPDATE relays SET gone_at = clock_timestamp() WHERE name = $1", [name]);
      },
    };
    running.push(relay);
    onTestFinished(relay.stop);
    return relay;
  }

  return {
    clock,
    url,
    start,
    step,
    async until(wished, what) {
      for (let turn = 0; turn < 400; turn += 1) {
        if (await wished()) return;
        await step();
      }
      throw new Error(`never: ${what}`);
    },
  };
}

async function acceptFor(
  store: PostgresStore,
  destinations: Destination[],
  { to, at, id }: { to: string[]; at: number; id: string },
): Promise<string> {
  const request = { receivedAt: at, headers: "[]", body: Buffer.from(id), ids: [id] };
  await store.acceptRequest({ ...request, origin: "hook", dedupeWindowMs: 1 });
  const listed = await store.listUnrouted(100, at);
  const alert = listed.flatMap(({ alerts }) => alerts).find((one) => one.id === id);
  if (alert === undefined) throw new Error("it is not this relay's to route");
  const planned = { route: "everything", state: "queued", reason: "", dueAt: at, updates: "auto" } as const;
  const reached = destinations.filter(({ name }) => to.includes(name));
  await store.recordRouting([
    {
      alertSeq: alert.seq,
      facts: anAlert({ alertKey: id }),
      decisions: [],
      deliveries: reached.flatMap((destination) => planDeliveries(destination, recipientsOf(destination), planned)),
      purpose: "alert",
      routedAt: at,
    },
  ]);
  return id;
}

/** The one of two that runs the destination, and the other. */
async function holderOf(name: string, relays: Relays, two: [TestRelay, TestRelay]): Promise<[TestRelay, TestRelay]> {
  await relays.until(() => two.some((one) => one.runs().includes(name)), `a relay that runs ${name}`);
  const [one, other] = two;
  return one.runs().includes(name) ? [one, other] : [other, one];
}

/** Moves the clock while it waits. */
async function during<T>(relays: Relays, asked: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = asked.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  await relays.until(() => isSettled, "an answer");
  return settled;
}

const stateOf = ({ engine }: TestRelay) => engine.configuration();

const healthOn = ({ engine }: TestRelay, name: string) =>
  engine.statuses().find(({ destination }) => destination.name === name)?.own;

describe("relays with several configurations on one PostgreSQL", () => {
  it("leave routing and lanes to the newest that was ready, and take them again when none runs it any more", async () => {
    const [a, b] = [ntfyTo("a"), ntfyTo("b")];
    const relays = await createRelays([a]);
    const one = await relays.start("one", { configuration: "old" });
    const two = await relays.start("two", { configuration: "old" });
    await relays.until(() => one.runs().length + two.runs().length === 1, "a relay that runs it");

    const next = await relays.start("next", { configuration: "new", destinations: [a, b], started: false });
    await relays.until(() => stateOf(next) === "starting", "one that starts");
    expect([stateOf(one), stateOf(two), next.runs()]).toEqual(["newest", "newest", []]);
    next.started = true;
    await relays.until(() => next.runs().length === 2, "the newest to run all");
    await relays.until(() => [one, two].every((relay) => stateOf(relay) === "older"), "the others to see it");
    expect(stateOf(next)).toBe("newest");
    expect([one.runs(), two.runs()]).toEqual([[], []]);

    // The way back: as relays with the old one start, the newest goes on until it ends.
    const back = await relays.start("back", { configuration: "old" });
    await relays.until(() => stateOf(back) === "older", "one that waits");
    expect(next.runs()).toHaveLength(2);
    await next.kill();
    await relays.until(() => [one, two, back].some((relay) => relay.runs().includes("a")), "an older one to run it");
    await relays.until(() => [one, two, back].every((relay) => stateOf(relay) === "newest"), "all of them to see it");
  });

  it("fail nothing that waits for a destination of another configuration", async () => {
    const [a, b] = [ntfyTo("a"), ntfyTo("b")];
    const relays = await createRelays([a]);
    const old = await relays.start("old", { configuration: "old" });
    const next = await relays.start("next", { configuration: "new", destinations: [a, b] });
    await relays.until(() => next.runs().length === 2, "the newest to run all");
    const id = await next.accept(["b"]);
    await next.kill();
    await relays.until(() => old.runs().includes("a"), "the older one to run what it knows");
    const back = await relays.start("back", { configuration: "old" });
    await old.stop();
    await relays.until(() => back.runs().includes("a"), "another to run it");
    const state = async () => (await back.store.getAlert(id))?.deliveries[0]?.state;
    expect(await state()).toBe("queued");
    const again = await relays.start("again", { configuration: "new", destinations: [a, b] });
    await relays.until(async () => (await state()) === "sent", "it to be sent");
    expect(again.channels.b?.calls).toHaveLength(1);
  });
});

describe("the lanes of several relays on one PostgreSQL", () => {
  it("are spread evenly, taken over from one that was killed, and move back when it returns", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const relays = await createRelays(names.map((name) => ntfyTo(name)));
    const three = [await relays.start("one"), await relays.start("two"), await relays.start("three")];
    const counts = (some: TestRelay[]) => some.map((relay) => relay.runs().length).join(" ");
    await relays.until(() => counts(three) === "2 2 2", "two lanes on each");
    const [killed, ...others] = three as [TestRelay, TestRelay, TestRelay];
    await killed.kill();
    await relays.until(() => counts(others) === "3 3", "three lanes on each that is left");
    const back = await relays.start("one");
    await relays.until(() => counts([back, ...others]) === "2 2 2", "two lanes on each again");
    expect([back, ...others].flatMap((relay) => relay.runs()).sort()).toEqual(names);
    // And no lane goes round in circles from then on.
    const before = [back, ...others].map((relay) => relay.runs());
    for (let turn = 0; turn < 40; turn += 1) await relays.step();
    expect([back, ...others].map((relay) => relay.runs())).toEqual(before);
  });
});

describe("several relays on one PostgreSQL", () => {
  it("pause, resume and try a destination whichever of them is asked, and show how it is on each", async () => {
    const relays = await createRelays([ntfyTo("a"), ntfyTo("b")]);
    const two: [TestRelay, TestRelay] = [await relays.start("one"), await relays.start("two")];
    const [holder, other] = await holderOf("a", relays, two);
    expect(await during(relays, other.engine.setPause("a", "page"))).toBe(true);
    for (const one of two) expect(healthOn(one, "a")?.paused?.by).toBe("page");
    await during(relays, other.engine.setPause("a", undefined));
    for (const one of two) expect(healthOn(one, "a")?.paused).toBeUndefined();

    holder.channels.a?.probes.push({ kind: "sent", ref: "", note: "it is there" });
    const trial = await during(relays, other.engine.tryNow("a"));
    expect(trial).toMatchObject({ kind: "probed", outcome: { kind: "sent", note: "it is there" } });
    expect(await other.engine.tryNow("nobody")).toBeUndefined();
  });

  it("know which lane no relay that runs has, and since when, until one has taken it", async () => {
    const relays = await createRelays([ntfyTo("a")]);
    const two: [TestRelay, TestRelay] = [await relays.start("one"), await relays.start("two")];
    const [holder, other] = await holderOf("a", relays, two);
    const group = [...other.engine.laneGroups().keys()][0] ?? "";
    expect([other, holder].map(({ engine }) => engine.membership.unheld().has(group))).toEqual([false, false]);
    // Its lease goes on though it runs no more, so nobody may take it.
    await holder.hang();
    await runSql(relays.url, "UPDATE relays SET gone_at = clock_timestamp() WHERE name = $1", [holder.name]);
    const before = relays.clock.now();
    await relays.until(() => other.engine.membership.unheld().has(group), "the lane to be nobody's");
    const since = other.engine.membership.unheld().get(group) ?? 0;
    expect(since).toBeGreaterThanOrEqual(before);
    for (let turn = 0; turn < 20; turn += 1) await relays.step();
    expect(other.engine.membership.unheld().get(group)).toBe(since);
    await holder.kill();
    await relays.until(() => other.runs().includes("a"), "the other to run it");
    await relays.until(() => !other.engine.membership.unheld().has(group), "the lane to have somebody");
  });
});
