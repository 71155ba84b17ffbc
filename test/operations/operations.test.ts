import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SpoolView } from "../../src/contract/operations.ts";
import { AppError } from "../../src/core/errors.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Mute } from "../../src/core/rules.ts";
import { openMuteBook } from "../../src/operations/mute-book.ts";
import { createStoreLooks, readinessOf } from "../../src/operations/readiness.ts";
import { createDestinationTests } from "../../src/operations/test-destination.ts";
import { viewDestinations } from "../../src/operations/views.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { ntfyTo, startFixture, telegramTo } from "../delivery/engine-fixture.ts";
import { runDuty } from "../support/run-duty.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";

describe("a test straight to one destination", () => {
  const open = async () => {
    const destinations = [telegramTo("chat"), ntfyTo("hook")];
    const fixture = await startFixture(destinations);
    const { store, clock, newId } = fixture;
    return { ...fixture, test: createDestinationTests({ store, destinations, clock, newId, log: silentLog }) };
  };

  it("goes there alone, marked, as a delivery of its own kind, and asks for no fallback", async () => {
    const { test, clock, channels, store } = await open();
    const { isNew, alert } = await test("chat", "warning");
    expect([isNew, alert.origin, alert.facts?.severity, alert.request]).toEqual([true, "test", "warning", undefined]);
    await clock.advance(5_000);
    expect(channels.hook?.calls).toEqual([]);
    expect(channels.chat?.calls).toMatchObject([{ action: "send", text: expect.stringContaining("Test of chat") }]);
    const after = await store.getAlert(alert.id);
    expect(after?.deliveries).toMatchObject([{ purpose: "test", state: "sent", attempts: [{ outcome: "sent" }] }]);
    expect(after?.decisions).toMatchObject([{ route: "test", destination: "chat", result: "deliver" }]);
  });

  it("that fails causes no notice: whoever sent it looks on", async () => {
    const { test, clock, channels, store } = await open();
    const rejected = { kind: "rejected", scope: "message", reason: "empty_text", detail: "text is empty" } as const;
    channels.chat?.script.push(rejected, rejected);
    const { alert } = await test("chat");
    await clock.advance(120_000);
    expect((await store.getAlert(alert.id))?.deliveries[0]?.state).toBe("failed");
    expect(await store.countAlerts()).toMatchObject({ total: 1 });
  });

  it("is sent once however often it is asked for, until it has ended and 10 s are over", async () => {
    const { test, clock, channels } = await open();
    channels.chat?.script.push({ kind: "retry", reason: "connect_failed", detail: "nobody listens", waitMs: 60_000 });
    const both = await Promise.all([test("chat"), test("chat")]);
    await clock.advance(30_000);
    const later = await test("chat");
    expect(new Set([...both, later].map(({ alert }) => alert.id)).size).toBe(1);
    expect(later).toMatchObject({ isNew: false, alert: { deliveries: [{ state: "waiting" }] } });
    await clock.advance(120_000);
    expect(channels.chat?.calls).toHaveLength(2);
    const second = await test("chat");
    await clock.advance(9_000);
    expect(await test("chat")).toMatchObject({ isNew: false, alert: { id: second.alert.id } });
    await clock.advance(1_000);
    expect(await test("chat")).toMatchObject({ isNew: true });
    expect(await test("hook")).toMatchObject({ isNew: true });
  });

  it("is not taken for sent when the store refuses it, and says what is wrong with an unknown name", async () => {
    const { test, store, clock, channels } = await open();
    const { recordNotice } = store;
    store.recordNotice = () => Promise.reject(new AppError("store_unavailable", "the disk is full"));
    await expect(test("chat")).rejects.toMatchObject({ code: "store_unavailable" });
    store.recordNotice = recordNotice;
    expect(await test("chat")).toMatchObject({ isNew: true });
    await clock.advance(5_000);
    expect(channels.chat?.calls).toHaveLength(1);
    const hint = expect.stringContaining("chat, hook");
    await expect(test("nowhere")).rejects.toMatchObject({ code: "not_found", hint });
  });
});

describe("mutes made at run time", () => {
  const matchers = [{ field: "severity", condition: { equals: ["info"] } }];
  const always = { startsAt: 0, endsAt: Number.MAX_SAFE_INTEGER, createdAt: 0 };
  const ofConfiguration: Mute = {
    id: "config-1",
    matchers,
    reason: "migration",
    createdBy: "configuration",
    ...always,
  };
  const open = async () => {
    const clock = createTestClock();
    const path = join(makeTempFolder(), "tocsin.db");
    /** As another process has it. */
    const [store, otherStore] = [0, 1].map(() => openLocalStore({ path, ballastBytes: 0, now: clock.now }));
    if (!store || !otherStore) throw new Error("never");
    const newId = createIdSource(clock.now);
    const book = await openMuteBook({ store, configured: [ofConfiguration], clock, newId, log: silentLog });
    onTestFinished(async () => void (await Promise.all([store.close(), otherStore.close()])));
    runDuty(book);
    return { book, clock, otherStore };
  };

  it("are active until they end, of themselves or at once, and listed with those of the configuration", async () => {
    const { book, clock } = await open();
    const add = (reason: string) => book.addMute({ matchers, reason, endsAt: clock.now() + 60_000, createdBy: "api" });
    const [mute, other] = [await add("deploy"), await add("upgrade")];
    expect(new Set((await book.listMutes()).map(({ id }) => id))).toEqual(new Set(["config-1", mute.id, other.id]));
    await book.endMute(other.id);
    expect(book.active().map(({ id }) => id)).toEqual([mute.id]);
    await clock.advance(60_000);
    expect(book.active()).toEqual([]);
    expect((await book.listMutes(true)).map(({ id }) => id)).toContain(mute.id);
    await expect(book.endMute(other.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(book.endMute("config-1")).rejects.toMatchObject({ code: "conflict" });
  });

  it("hold once they are stored, though an older answer comes later and the store answers nothing more", async () => {
    const clock = createTestClock();
    const answers: { resolve(mutes: Mute[]): void; reject(error: Error): void }[] = [];
    const store = {
      listMutes: () => new Promise<Mute[]>((resolve, reject) => void answers.push({ resolve, reject })),
      addMute: async () => "done" as const,
      endMute: async () => true,
      loadWatchState: async () => undefined,
      countSilenced: async () => [],
      listSilenced: async () => new Map(),
    };
    const newId = createIdSource(clock.now);
    const opening = openMuteBook({ store, configured: [], clock, newId, log: silentLog });
    answers[0]?.resolve([{ ...ofConfiguration, id: "old" }]);
    const book = await opening;
    runDuty(book);
    await clock.advance(1_000);
    const endsAt = clock.now() + 60_000;
    const mute = await book.addMute({ matchers, reason: "deploy", endsAt, createdBy: "api" });
    await book.endMute("old");
    answers[1]?.resolve([{ ...ofConfiguration, id: "old" }]);
    await clock.advance(1_000);
    answers[2]?.reject(new Error("the disk is gone"));
    await clock.settle();
    expect(answers.length).toBeGreaterThan(2);
    expect(book.active()).toEqual([mute]);
  });

  it("that another process makes or ends hold within a second, and at once when a signal says so", async () => {
    const { book, clock, otherStore } = await open();
    await clock.settle();
    const times = { startsAt: clock.now(), endsAt: clock.now() + 60_000, createdAt: clock.now() };
    await otherStore.addMute({ id: "m1", matchers, reason: "deploy", createdBy: "api", ...times });
    await clock.settle();
    expect(book.active()).toEqual([]);
    await clock.advance(1_000);
    expect(book.active().map(({ id }) => id)).toEqual(["m1"]);
    await otherStore.endMute("m1", clock.now());
    book.wake();
    await clock.settle();
    expect(book.active()).toEqual([]);
  });

  it("are refused with a matcher that cannot be read, or when they end before they start", async () => {
    const { book, clock } = await open();
    const later = clock.now() + 60_000;
    const add = (changes: object) =>
      book.addMute({ matchers, reason: "x", endsAt: later, createdBy: "api", ...changes });
    for (const changes of [
      { matchers: [{ field: "nonsense", condition: { exists: true } }] },
      { endsAt: clock.now() - 1 },
      { startsAt: later + 1 },
    ])
      await expect(add(changes)).rejects.toMatchObject({ code: "invalid_request" });
    expect(book.active()).toEqual([]);
  });
});

describe("readiness", () => {
  const healthy = { writable: true, full: false, unrouted: 0, bytes: 1 };
  type Deps = Parameters<typeof readinessOf>[0];
  const clock = createTestClock();
  const [silent, away] = [() => new Promise<never>(() => {}), () => Promise.reject(new Error("it is away"))];
  const stopped = AbortSignal.abort();
  const engineOf = (idleMs: number, laneIdleMs = 0): Deps["engine"] => ({
    lastTurnAt: () => clock.now() - idleMs,
    laneTurns: () => [{ destination: "desk", at: clock.now() - laneIdleMs }],
  });
  const storeOf = (changes: object): Deps["store"] => ({ health: async () => ({ ...healthy, ...changes }) });
  const noThreads = { problem: () => "no threads left" };
  /** Of a relay that is well but for this. */
  const ask = (changes: Partial<Deps> = {}, of?: "alerts") => {
    const own = { store: storeOf({}), engine: engineOf(0), reader: { problem: () => undefined }, clock };
    return readinessOf({ ...own, stopping: new AbortController().signal, ...changes }, of);
  };

  it.each<[string, Partial<Deps>, boolean]>([
    ["all is well", {}, true],
    ["the disk is full", { store: storeOf({ full: true }) }, false],
    ["the store does not commit", { store: storeOf({ writable: false }) }, false],
    ["the dispatcher hangs", { engine: engineOf(31_000) }, false],
    ["it is being stopped", { stopping: stopped }, false],
    ["nothing can be read", { reader: noThreads }, false],
    ["a lane hangs", { engine: engineOf(0, 31_000) }, false],
  ])("when %s", async (_name, changes, ready) => {
    const verdict = await ask(changes);
    expect(verdict.ready).toBe(ready);
    expect(verdict.reasons.length).toBe(ready ? 0 : 1);
  });

  it.each(["before", "after"])(
    "is denied at once to who asks just %s a stop, though the store does not answer",
    async (when) => {
      const draining = new AbortController();
      if (when === "after") draining.abort();
      const asked = ask({ store: { health: silent }, draining: draining.signal });
      draining.abort();
      expect(await asked).toMatchObject({ ready: false, reasons: ["it is being stopped"] });
    },
  );

  it("of alerts asks the spool first, and looks at nothing that the hook does not need", async () => {
    const spool = { alerts: 3, bytes: 1, maxBytes: 2, stuck: 0, unreadable: 0, damagedFiles: [] };
    const askOf = (view?: SpoolView, more: Partial<Deps> = {}) => {
      const ill = { store: { health: away }, engine: engineOf(31_000), reader: noThreads };
      return ask({ ...ill, ...(view && { spool: () => view }), ...more }, "alerts");
    };
    expect(await askOf(spool, { store: { health: silent } })).toEqual({ ready: true, reasons: [], spooled: 3 });
    const reasons = ["the store does not answer", "3 alerts wait in the spool"];
    expect(await askOf({ ...spool, problem: "full" })).toEqual({ ready: false, reasons, spooled: 3 });
    expect(await askOf()).toEqual({ ready: false, reasons: ["the store does not answer"] });
    expect(await askOf(undefined, { store: storeOf({}) })).toEqual({ ready: true, reasons: [] });
    const whenStopped = { ready: false, reasons: ["it is being stopped", reasons[1]] };
    expect(await askOf(spool, { stopping: stopped })).toMatchObject(whenStopped);
  });

  it("answers within a second by the look before, until the one under way has lasted too long", async () => {
    const looks: { resolve(health: typeof healthy): void; reject(error: Error): void }[] = [];
    const looked = () => new Promise<typeof healthy>((resolve, reject) => looks.push({ resolve, reject }));
    const { health, lastHealth } = createStoreLooks({ health: looked }, clock);
    const isReady = async () => {
      const asked = ask({ store: { health }, lastHealth });
      await clock.advance(800);
      return (await asked).ready;
    };
    expect(await isReady(), "nothing is known").toBe(false);
    looks[0]?.resolve(healthy);
    expect(await isReady()).toBe(true);
    expect([await isReady(), looks.length], "one look at a time").toEqual([true, 2]);
    await clock.advance(8_500);
    expect(await isReady()).toBe(false);
    looks[1]?.resolve(healthy);
    expect(await isReady()).toBe(true);
    looks[2]?.resolve(healthy);
    await clock.advance(10_000);
    expect(await isReady(), "what is known is old").toBe(false);
    const failing = isReady();
    looks[3]?.reject(new Error("it is away"));
    expect(await failing).toBe(false);
    const { lastHealth: known } = createStoreLooks({ health: async () => healthy }, clock, healthy);
    expect(known(), "what the start has found").toBe(healthy);
  });
});

describe("what is shown of destinations", () => {
  const now = 1_000_000;
  const status = { kind: "destination" as const, name: "x", health: "ok" as const, reason: "", since: 0, failures: 0 };

  it("shows the account's trouble when it is worse than the destination's own", () => {
    const trouble = { health: "paused", reason: "token refused", probeAt: now } as const;
    const paused = { ...status, name: "account:telegram:7", ...trouble };
    const [view] = viewDestinations([{ destination: telegramTo("chat"), own: status, account: paused }], []);
    expect(view).toMatchObject({ health: "paused", reason: "token refused", nextTryAt: now, recipients: ["-1004"] });
  });
});
