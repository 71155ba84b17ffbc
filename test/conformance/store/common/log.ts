import { expect, it } from "vitest";
import type { AlertQuery, ChangeCursor, FactsQuery, Position } from "../../../../src/core/ports/alert-log.ts";
import * as samples from "../scene.ts";
import { aboutScenes, type OpenStore, openScene, type Scene } from "../scene.ts";

const { factsOf, findUnrouted, newIdAt, noon, noticeOf, planned, request, routed } = samples;

/** Six alerts, a minute apart: five routed in different ways, the last not yet. */
async function fillLog(open: OpenStore): Promise<Scene> {
  const scene = await openScene(open);
  const route = (title: string, minute: number, options: Parameters<Scene["route"]>[0]) =>
    scene.route({ ...options, facts: { ...options?.facts, title }, receivedAt: noon + minute * 60_000 });
  await route("a", 0, { to: ["chat"], facts: { severity: "critical" } });
  await route("b", 1, { to: ["chat", "mail"], facts: { severity: "info" } });
  await route("c", 2, { to: [], facts: { severity: "critical" } });
  await route("d", 3, { to: [planned("mail", { state: "muted" }), "chat"], facts: { severity: "warning" } });
  await route("e", 4, { to: ["mail", planned("mail", { recipient: "b@example.com" })] });
  await scene.store.acceptRequest(request({ receivedAt: noon + 5 * 60_000 }));
  return scene;
}

export const describeLog = aboutScenes("log", openScene, (test, open) => {
  test("compares a value where it begins with a number, and finds none in a sign alone", async (scene) => {
    const values = ["-", ".", "+", "-n/a", "+0x1f", "3 %", "-2.5", ".5"];
    for (const value of values) await scene.route({ facts: { value, alertKey: value } });
    const found = async (compare: "<" | "=", number: number) => {
      const facts = [{ fact: "value", compare, number } as const];
      return (await scene.store.listAlerts({ limit: 100, facts })).map((alert) => alert.facts?.value);
    };
    expect(await found("<", 5)).toEqual([".5", "-2.5", "3 %", "+0x1f"]);
    expect(await found("=", 0)).toEqual(["+0x1f"]);
  });

  test("filters by the time that it shows, though an id is made a moment later", async (scene) => {
    await scene.store.acceptRequest(request({ receivedAt: noon, ids: [newIdAt(noon + 1), newIdAt(noon + 999)] }));
    const listed = async (query: Partial<AlertQuery>) => (await scene.store.listAlerts({ limit: 10, ...query })).length;
    expect(await listed({ fromAt: noon, toAt: noon })).toBe(2);
    expect(await listed({ toAt: noon })).toBe(2);
    expect(await listed({ fromAt: noon + 1 })).toBe(0);
    expect(await listed({ toAt: noon - 1 })).toBe(0);
  });

  test("filters by the source whose hook an alert came by, and says it of each", async ({ store }) => {
    const [account, forge, other] = [request(), request({ source: "forge" }), request({ source: "other" })];
    for (const one of [account, forge, other]) await store.acceptRequest(one);
    const listed = async (query: Partial<AlertQuery>) =>
      (await store.listAlerts({ limit: 10, ...query })).map(({ id, source }) => [id, source]);
    expect(await listed({ source: "forge" })).toEqual([[forge.ids[0], "forge"]]);
    expect(await listed({ source: "forge", state: "unmatched" })).toEqual([]);
    expect(await listed({ source: "none" })).toEqual([]);
    expect((await listed({})).map(([, source]) => source)).toEqual(["other", "forge", undefined]);
    expect((await store.getAlert(other.ids[0] ?? ""))?.source).toBe("other");
    const unrouted = await store.listUnrouted(10, Number.MAX_SAFE_INTEGER);
    expect(unrouted.map(({ source }) => source)).toEqual([undefined, "forge", "other"]);
  });

  it("gives the facts of what senders sent and routing has seen, newest first", async () => {
    const scene = await fillLog(open);
    const listed = async (query: Partial<FactsQuery>) =>
      (await scene.store.listFacts({ fromAt: noon, limit: 100, ...query })).map(({ facts }) => facts.title);
    expect(await listed({})).toEqual(["e", "d", "c", "b", "a"]);
    expect(await listed({ fromAt: noon + 2 * 60_000, limit: 2 })).toEqual(["e", "d"]);
    const [, second] = await scene.store.listFacts({ fromAt: noon, limit: 2 });
    expect(await listed({ before: second?.position })).toEqual(["c", "b", "a"]);
    expect(await listed({ fromAt: noon + 6 * 60_000 })).toEqual([]);
    await scene.store.recordNotice(noticeOf({ at: noon + 6 * 60_000 }));
    expect(await listed({ fromAt: noon + 6 * 60_000 })).toEqual([]);
  });

  test("gives what senders sent with its body and where routes sent it, newest first, the body of a batch once", async (scene) => {
    const { store } = scene;
    const body = Buffer.from("[1, 2]");
    const batch = request({ ids: [newIdAt(noon), newIdAt(noon)], source: "forge", contentType: "text/plain", body });
    await store.acceptRequest(batch);
    const [first, second] = await Promise.all(batch.ids.map((id) => findUnrouted(store, id)));
    const told = { route: "all", destination: "chat", result: "contained", reason: "" } as const;
    const noise = { route: "noise", result: "dropped", reason: "" } as const;
    const facts = factsOf({ title: "one", format: "unreadable" });
    await store.recordRouting([
      routed(first?.seq ?? 0, { facts, decisions: [told], routedAt: noon + 7 }),
      routed(second?.seq ?? 0, { facts: factsOf({ title: "two" }), decisions: [noise] }),
    ]);
    const alone = await scene.route({ receivedAt: noon + 1_000, to: ["chat", planned("mail", { state: "muted" })] });
    await store.acceptRequest(request({ origin: "test", receivedAt: noon + 2_000 }));
    await store.acceptRequest(request({ receivedAt: noon + 3_000 }));
    const found = await store.listPast({ fromAt: noon, limit: 10 });
    const [newest, two, one] = found;
    const deliveries = [
      { destination: "chat", state: "queued" },
      { destination: "mail", state: "muted" },
    ];
    const ofTwo = { decisions: [noise], deliveries: [] };
    const ofOne = { decisions: [told], routedAt: noon + 7 };
    expect(found).toMatchObject([
      { id: alone.id, item: 0, deliveries },
      { ...{ id: batch.ids[1], item: 1, title: "two", dropped: true, wasUnreadable: false }, ...ofTwo },
      { ...{ id: batch.ids[0], item: 0, title: "one", dropped: false, wasUnreadable: true }, ...ofOne },
    ]);
    expect(one?.body).toBe(two?.body);
    const sent = { contentType: "text/plain", source: "forge", body };
    expect({ ...one?.body, body: Buffer.from(one?.body.body ?? []) }).toEqual(sent);
    expect(await store.listPast({ fromAt: noon, before: two?.position, limit: 10 })).toEqual([one]);
    expect(await store.listPast({ fromAt: noon + 1_000, limit: 10 })).toEqual([newest]);
  });

  test("says when senders' alerts came, from whom and by which routes, newest first", async (scene) => {
    const decisions = [
      { route: "critical", result: "not_matched", reason: "" },
      { route: "copies", result: "dropped", reason: "" },
      { route: "rest", destination: "chat", result: "muted", reason: "" },
      { route: "rest", destination: "mail", result: "deliver", reason: "" },
    ] as const;
    const first = await scene.route({ facts: { source: "Pyth" }, decisions: [...decisions] });
    const second = await scene.route({ receivedAt: noon + 1_000, to: [] });
    await scene.store.acceptRequest(request({ origin: "test", receivedAt: noon + 2_000 }));
    await scene.store.acceptRequest(request({ receivedAt: noon + 3_000 }));
    const found = await scene.store.listArrivals({ fromAt: noon, limit: 10 });
    expect(found.map(({ position: _position, ...arrival }) => arrival)).toEqual([
      { id: second.id, receivedAt: noon + 1_000, source: undefined, routes: [] },
      { id: first.id, receivedAt: noon, source: "Pyth", routes: ["copies", "rest"] },
    ]);
    expect(await scene.store.listArrivals({ fromAt: noon + 500, limit: 10 })).toHaveLength(1);
    const [newest] = found;
    const behind = await scene.store.listArrivals({ fromAt: noon, before: newest?.position, limit: 10 });
    expect(behind.map(({ id }) => id)).toEqual([first.id]);
  });

  test("says what senders' alerts were routed behind a position, the oldest first, and up to where all are", async (scene) => {
    const { store } = scene;
    const ids = async (after: Position, limit = 10) =>
      (await store.followArrivals(after, limit)).arrivals.map(({ id }) => id);
    const { arrivals, routedUpTo: start } = await store.followArrivals(undefined, 10);
    expect(arrivals).toEqual([]);
    const first = await scene.route({ facts: { source: "Pyth" } });
    const waits = request({ receivedAt: noon + 1_000 });
    await store.acceptRequest(waits);
    const { routedUpTo } = await store.followArrivals(start, 10);
    const third = await scene.route({ receivedAt: noon + 2_000 });
    await store.acceptRequest(request({ origin: "test", receivedAt: noon + 3_000 }));
    expect(await ids(start)).toEqual([first.id, third.id]);
    expect(await ids(start, 1)).toEqual([first.id]);
    // One that comes late is not passed over.
    const { seq } = await findUnrouted(store, waits.ids[0]);
    await store.recordRouting([routed(seq, {})]);
    const found = await store.followArrivals(routedUpTo, 10);
    expect(found.arrivals).toMatchObject([{ id: waits.ids[0] }, { id: third.id }]);
    expect(await ids(found.routedUpTo)).toEqual([]);
  });

  it("lists newest first, those not yet routed among them, and pages with neither gap nor repeat while new ones come", async () => {
    const scene = await fillLog(open);
    const first = await scene.store.listAlerts({ limit: 2 });
    await scene.route({ facts: { title: "new" } });
    const seen = first.map(({ facts }) => facts?.title);
    let before = first.at(-1)?.position;
    while (before !== undefined) {
      const page = await scene.store.listAlerts({ limit: 2, before });
      seen.push(...page.map(({ facts }) => facts?.title));
      before = page.length < 2 ? undefined : page.at(-1)?.position;
    }
    expect(seen).toEqual([undefined, "e", "d", "c", "b", "a"]);
  });

  test("finds alerts by the beginning and by the end of their ids, newest first", async ({ store, route }) => {
    // Noon's own source has run ahead where a process made over 4,096 ids of noon. Both instants share the first 8 digits.
    const older = (await route({ receivedAt: noon + 10_000 })).id;
    const newer = (await route({ receivedAt: noon + 20_000 })).id;
    const find = async (part: string, limit = 10) => {
      const { alerts, searchedTo } = await store.findByIdPart(part, limit);
      expect(searchedTo).toBeUndefined();
      return alerts.map(({ id }) => id);
    };
    expect(await find(older.slice(-8))).toEqual([older]);
    expect(await find(older.slice(0, 8))).toEqual([newer, older]);
    expect(await find(older.slice(0, 8), 1)).toEqual([newer]);
    expect(await find(newer)).toEqual([newer]);
    expect(await find("ffffffffffff-ffff")).toEqual([]);
    expect(await store.getAlert("01997e3e-0000-7000-8000-000000000000")).toBeUndefined();
  });

  test("knows the alerts beside one, whatever the distance in time", async (scene) => {
    const ids: string[] = [];
    for (const day of [0, 1, 9]) ids.push((await scene.route({ receivedAt: noon + day * 24 * 3_600_000 })).id);
    const beside = async (id = "") => {
      const { newer, older } = await scene.store.neighbours(id);
      return [newer?.id, older?.id];
    };
    expect(await beside(ids[1])).toEqual([ids[2], ids[0]]);
    expect(await beside(ids[0])).toEqual([ids[1], undefined]);
    expect(await beside(ids[2])).toEqual([undefined, ids[1]]);
    expect(await beside("unknown")).toEqual([undefined, undefined]);
  });

  it("takes back the positions and cursors that it gave, as texts of an address, and knows what is none", async () => {
    const { store } = await fillLog(open);
    const [alert] = await store.listAlerts({ limit: 1 });
    const [change] = await store.listChanges(undefined, 1);
    expect(alert?.position).toMatch(/^\d[\w.-]{0,99}$/);
    expect(store.isPosition(alert?.position ?? "")).toBe(true);
    expect(store.isChangeCursor(change?.cursor ?? "")).toBe(true);
    for (const text of ["", "abc", "-1", "1 or 1", "'"]) {
      expect.soft(store.isPosition(text), text).toBe(false);
      expect.soft(store.isChangeCursor(text), text).toBe(false);
    }
  });

  test("counts all alerts, and tells when the last one came from outside", async ({ store }) => {
    expect(await store.countAlerts()).toEqual({ total: 0, kept: 0 });
    await store.acceptRequest(request({ receivedAt: noon + 7 }));
    const times = { oldestReceivedAt: noon + 7, lastReceivedAt: noon + 7 };
    expect(await store.countAlerts()).toEqual({ total: 1, kept: 1, ...times });
    await store.acceptRequest(request({ origin: "test", receivedAt: noon + 9 }));
    expect(await store.countAlerts()).toMatchObject({ total: 2, lastReceivedAt: noon + 7 });
  });

  test("lists what changed after a cursor, each alert once at its latest, and resumes there after a restart", async (scene) => {
    const first = await scene.route({ facts: { title: "first" } });
    const second = await scene.route({ facts: { title: "second" } });
    const seen = await scene.store.latestChange();
    const ids = async (after?: ChangeCursor) => (await scene.store.listChanges(after, 10)).map(({ id }) => id);
    expect(await ids()).toEqual([first.id, second.id]);
    expect(await ids(seen)).toEqual([]);

    const deliverySeqs = (await scene.due("chat")).slice(0, 1).map(({ seq }) => seq);
    await scene.store.claimDeliveries(scene.lane, { token: "t", deliverySeqs, leaseMs: 0 }, []);
    await scene.restart();
    expect(await ids(seen)).toEqual([first.id]);
    expect(await ids()).toEqual([second.id, first.id]);
    await scene.attempt({ token: "t", deliverySeqs });
    const [change] = await scene.store.listChanges(seen, 10);
    expect(change).toMatchObject({ id: first.id, deliveries: [{ state: "sent" }] });
    expect(change?.cursor).toBe(await scene.store.latestChange());
    expect(await scene.store.knowsChange(seen)).toBe(true);
  });
});
