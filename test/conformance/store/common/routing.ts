import { expect, it, vi } from "vitest";
import { fullListBytes, type RoutingDraft, type UnroutedRequest } from "../../../../src/core/ports/routing-desk.ts";
import type { Decision } from "../../../../src/core/rules.ts";
import { takeLane } from "../../../support/lane.ts";
import * as samples from "../scene.ts";
import { aboutScenes, openScene } from "../scene.ts";

const { factsOf, findUnrouted, hour, noon, noticeOf, planned, request, routed } = samples;

const dropping: Decision = { route: "noise", result: "dropped", reason: "severity is info" };

function draftOf(changes: Partial<RoutingDraft> = {}): RoutingDraft {
  const { alertSeq: _unknown, ...draft } = routed(0, changes);
  return draft;
}

const seqsOf = (listed: UnroutedRequest[]) => listed.flatMap(({ alerts }) => alerts.map(({ seq }) => seq));

export const describeRouting = aboutScenes("routing", openScene, (test, open) => {
  test("claims each delivery in the same step whose lane is held, unless quiet hours hold it, and leaves those of a lost lane due", async (scene) => {
    const { store, lane, due, newId, states } = scene;
    const lost = await takeLane(store, "other");
    await takeLane(store, "other");
    await store.acceptRequest(request({ ids: [newId()] }));
    const [seq = 0] = seqsOf(await store.listUnrouted(10, noon));
    const deliveries = [planned("chat"), planned("chat"), planned("mail", { state: "held" })];
    const claims = [lost, lane, lane].map((of, place) => ({ lane: of, token: `t${place}`, leaseMs: 1000 }));
    const [recorded] = await store.recordRouting([{ ...routed(seq, { deliveries }), claims }]);
    const [left, taken, held] = recorded?.deliveries ?? [];
    expect(taken?.claimed).toMatchObject({
      token: "t1",
      deliveries: [{ seq: taken?.seq, state: "sending", facts: { title: expect.any(String) } }],
    });
    expect([left?.claimed, held?.claimed]).toEqual([undefined, undefined]);
    expect(await states((await due("mail"))[0]?.alertId ?? "")).toEqual(["queued", "sending", "held"]);
    expect((await due("chat")).map((one) => one.seq)).toEqual([left?.seq]);
  });

  test("lists what looks urgent by itself, until it is routed or has failed, with what has failed before", async ({
    store,
    newId,
  }) => {
    const bodies = [
      '{"severity":"warning"}',
      '{"severity":"CRITICAL"}',
      "P1: bridge down",
      "op10 critically",
      "[Sev-1] oracle",
    ];
    for (const body of bodies) await store.acceptRequest(request({ ids: [newId(), newId()], body: Buffer.from(body) }));
    await store.acceptRequest(request({ ids: [newId()], body: Buffer.from("critical") }), [draftOf()]);
    const list = async (limit: number, isUrgent: boolean) =>
      (await store.listUnrouted(limit, noon, 0, isUrgent)).map(({ body, alerts }) => [
        String(Buffer.from(body)),
        alerts.length,
      ]);
    const twice = (...places: number[]) => places.map((place) => [bodies[place], 2]);
    expect(await list(10, true)).toEqual(twice(1, 2, 4));
    expect(await list(3, true)).toEqual(twice(1, 2));
    expect(await list(20, false)).toEqual(twice(0, 1, 2, 3, 4));
    const [first, second] = await store.listUnrouted(10, noon, 0, true);
    await store.recordRouting((first?.alerts ?? []).map(({ seq }) => routed(seq)));
    await store.recordRoutingFailure(
      (second?.alerts ?? []).map(({ seq }) => seq),
      "a test",
      noon + 1,
    );
    expect(await list(10, true)).toEqual(twice(4));
    expect((await store.listUnrouted(10, noon + 1, 0, true)).map(({ alerts }) => alerts[0]?.failures)).toEqual([0, 1]);
  });

  test("records how an alert is routed in the step that accepts it, with its claim", async (scene) => {
    const { store, lane, newId } = scene;
    const incoming = request({ ids: [newId(), newId()] });
    const heard = vi.fn();
    store.subscribe("accepted", heard);
    const due = vi.fn();
    store.subscribe("due", due);
    const claims = [{ lane, token: "t", leaseMs: 1_000 }, null];
    const acceptance = await store.acceptRequest(incoming, [
      draftOf({ deliveries: [planned("chat"), planned("mail")], claims }),
      draftOf({ deliveries: [planned("mail")] }),
    ]);
    const recorded = acceptance.kind === "accepted" ? (acceptance.recorded ?? []) : [];
    const made = recorded.map(({ deliveries }) => deliveries.map((one) => one?.claimed?.token));
    expect(made).toEqual([["t", undefined], [undefined]]);
    const mails = [recorded[0]?.deliveries[1]?.seq, recorded[1]?.deliveries[0]?.seq];
    expect((await scene.due("mail")).map(({ seq }) => seq)).toEqual(mails);
    expect(await scene.due("chat")).toEqual([]);
    await expect.poll(() => due.mock.calls.flatMap(([names]) => [...names])).toEqual(["mail"]);
    expect(await store.listUnrouted(10, noon)).toEqual([]);
    expect((await store.getAlert(incoming.ids[1] ?? ""))?.routedAt).toBe(noon);
    expect(heard).not.toHaveBeenCalled();
  });

  test("sends nothing for a request with the key of an earlier one, nor for a body that repeats one", async (scene) => {
    const { store, due, newId } = scene;
    const draft = draftOf({ deliveries: [planned("chat")], repeatWindowMs: hour });
    const first = request({ dedupeKey: "k" });
    await store.acceptRequest(first, [draft]);
    const second = await store.acceptRequest(request({ dedupeKey: "k", ids: [newId()] }), [draft]);
    expect(second).toEqual({ kind: "duplicate", ids: first.ids });
    const named = request({ body: Buffer.from('{"eventId":"e-1"}') });
    await store.acceptRequest(named, [draft]);
    const again = await store.acceptRequest({ ...named, ids: [newId()] }, [draft]);
    expect(again).toMatchObject({ recorded: [{ repeatOf: named.ids[0], deliveries: [] }] });
    expect((await due("chat")).map(({ alertId }) => alertId)).toEqual([...first.ids, ...named.ids]);
  });

  test("stores a request whose routing cannot be recorded, alone and among others, and lets it wait for that", async (scene) => {
    const { store, newId } = scene;
    const broken = draftOf({ facts: factsOf({ fields: [{ name: "odd", value: 1n as unknown as string }] }) });
    const heard = vi.fn();
    store.subscribe("accepted", heard);
    const requests = [1, 2, 3].map(() => request({ ids: [newId()] }));
    const drafts = [[draftOf()], [broken], undefined];
    const acceptances = await Promise.all(requests.map((one, index) => store.acceptRequest(one, drafts[index])));
    expect(acceptances.map(({ kind }) => kind)).toEqual(["accepted", "accepted", "accepted"]);
    const waiting = (await store.listUnrouted(10, noon)).flatMap(({ alerts }) => alerts.map(({ id }) => id));
    expect(waiting).toEqual(expect.arrayContaining(requests.slice(1).flatMap(({ ids }) => ids)));
    expect(heard).toHaveBeenCalled();
    const lone = request();
    const acceptance = await store.acceptRequest(lone, [broken]);
    expect(acceptance).toMatchObject({ kind: "accepted", ids: lone.ids });
    expect(acceptance).not.toHaveProperty("recorded");
    expect((await findUnrouted(store, lone.ids[0])).failures).toBe(0);
  });

  test("hands out what is not routed, oldest first, a request whole also beyond what was asked for, over a restart", async (scene) => {
    const two = request({ ids: [scene.newId(), scene.newId()], body: Buffer.from("[1,2]") });
    const one = request({ receivedAt: noon + 1, contentType: undefined });
    for (const each of [request(), two, one]) await scene.store.acceptRequest(each);
    await scene.restart();
    const [, batch, last] = await scene.store.listUnrouted(10, noon);
    const items = [batch, last].map((each) => each?.alerts.map(({ id, item }) => [id, item]));
    expect(items).toEqual([two, one].map(({ ids }) => ids.map((id, item) => [id, item])));
    expect(batch).toMatchObject({ contentType: "application/json" });
    expect(Buffer.from(batch?.body ?? []).toString()).toBe("[1,2]");
    expect(last?.contentType).toBeUndefined();
    expect(last?.alerts[0]).toMatchObject({ receivedAt: noon + 1, failures: 0, origin: "hook" });
    const listed = await scene.store.listUnrouted(2, noon);
    expect(listed.map(({ alerts }) => alerts.length)).toEqual([1, 2]);
  });

  test("hands out bodies that stay as they are, each in memory of its own", async ({ store }) => {
    await store.acceptRequest(request({ body: Buffer.from("first") }));
    await store.acceptRequest(request({ body: Buffer.from("second") }));
    const bodies = (await store.listUnrouted(10, noon)).map(({ body }) => body);
    await Promise.all(Array.from({ length: 50 }, () => store.acceptRequest(request({ body: Buffer.alloc(5) }))));
    await store.listUnrouted(60, noon);
    expect(bodies.map((body) => Buffer.from(body).toString())).toEqual(["first", "second"]);
    expect(bodies.map((body) => body.buffer.byteLength)).toEqual([5, 6]);
  });

  test("hands out no more alerts than asked for, and no more bytes than a full list has, but one that has failed besides", async (scene) => {
    const { store } = scene;
    const body = Buffer.alloc(fullListBytes / 4, "x");
    for (let count = 0; count < 7; count += 1) await store.acceptRequest(request({ body }));
    expect(await store.listUnrouted(2, noon)).toHaveLength(2);
    const listed = await store.listUnrouted(100, noon);
    expect(listed).toHaveLength(4);
    await store.recordRoutingFailure([listed[0]?.alerts[0]?.seq ?? 0], "it took too long", noon);
    expect((await store.listUnrouted(100, noon)).map(({ alerts }) => alerts[0]?.failures)).toEqual([0, 0, 0, 0, 1]);
  });

  test("makes the deliveries and keeps the decisions in one step", async ({ store, route }) => {
    const fallback = { to: "mail", at: noon + 600_000 };
    const { id } = await route({ to: ["chat", planned("ops", { fallback, freshnessMs: 5000 })] });
    const detail = await store.getAlert(id);
    const decisions = ["chat", "ops"].map((destination) => ({ destination, result: "deliver" }));
    expect(detail).toMatchObject({ routedAt: noon + 5, unmatched: false, facts: factsOf(), decisions });
    expect(detail?.deliveries).toMatchObject([
      { destination: "chat", state: "queued", dueAt: noon, purpose: "alert", attempts: [] },
      { destination: "ops", state: "queued" },
    ]);
    expect(await store.listUnrouted(10, noon)).toEqual([]);
  });

  test("answers which deliveries it made, in the order in which they were asked for", async ({ store, newId, due }) => {
    await store.acceptRequest(request({ ids: [newId(), newId()] }));
    const [{ alerts = [] } = {}] = await store.listUnrouted(10, noon);
    const [first, second] = alerts.map(({ seq }) => seq);
    const muted = planned("chat", { state: "muted" });
    const recorded = await store.recordRouting([
      routed(first ?? 0, { deliveries: [planned("mail"), planned("chat")] }),
      routed(second ?? 0, { deliveries: [muted, planned("chat")] }),
    ]);
    expect(recorded.map(({ alertSeq }) => alertSeq)).toEqual([first, second]);
    expect(recorded.map(({ deliveries }) => deliveries.length)).toEqual([2, 2]);
    const madeIn = (one: number, place: number) => recorded[one]?.deliveries[place];
    const namesOf = (list: { seq: number; id: string }[]) => list.map(({ seq, id }) => ({ seq, id }));
    expect(namesOf(await due("mail"))).toEqual([madeIn(0, 0)]);
    expect(namesOf(await due("chat"))).toEqual([madeIn(0, 1), madeIn(1, 1)]);
  });

  test("routes an alert once, though it stands twice in a list and is routed again", async ({ store, states }) => {
    const incoming = request();
    await store.acceptRequest(incoming);
    const { seq, id } = await findUnrouted(store, incoming.ids[0]);
    const record = routed(seq, { deliveries: [planned("chat")] });
    expect(await store.recordRouting([record, record])).toHaveLength(1);
    const again = { facts: factsOf({ title: "again" }), deliveries: [planned("chat")], routedAt: noon + 9 };
    expect(await store.recordRouting([routed(seq, again)])).toEqual([]);
    expect(await states(id)).toEqual(["queued"]);
    expect((await store.getAlert(id))?.facts?.title).toBe(factsOf().title);
  });

  it.each<[string, string[], Decision[], ("unmatched" | "dropped")?]>([
    ["no route wanted is unmatched", [], [], "unmatched"],
    ["another alert's message shows is neither", [], [{ route: "(none)", result: "contained", reason: "shown" }]],
    ["a route has dropped on purpose is dropped", [], [dropping], "dropped"],
    ["another route sends than the one that drops it is neither", ["chat"], [dropping]],
  ])("an alert that %s", async (_fate, to, decisions, state) => {
    const { store, route } = await openScene(open);
    const { id } = await route({ to, decisions });
    const [unmatched, dropped] = [state === "unmatched", state === "dropped"];
    expect(await store.getAlert(id)).toMatchObject({ unmatched, dropped, decisions });
    for (const one of ["unmatched", "dropped"] as const)
      expect(await store.listAlerts({ limit: 10, state: one })).toHaveLength(Number(state === one));
  });

  test("ends a muted delivery at once, and never hands it out", async ({ store, route, due }) => {
    const muted = { state: "muted", reason: "muted until 14:00: maintenance" } as const;
    const { id } = await route({ to: [planned("chat", muted)] });
    expect((await store.getAlert(id))?.deliveries[0]).toMatchObject({ ...muted, finishedAt: noon + 5 });
    expect(await due("chat", Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  test("flags an alert whose routing failed, hands it out again after its wait, and counts the failures", async (scene) => {
    const { store } = scene;
    const incoming = request();
    await store.acceptRequest(incoming);
    const { seq, id } = await findUnrouted(store, incoming.ids[0]);
    await store.recordRoutingFailure([seq], "the rule could not be read", noon + 5000);
    expect(await store.listUnrouted(10, noon + 4999)).toEqual([]);
    const [again] = await store.listUnrouted(10, noon + 5000);
    expect(await store.listUnrouted(0, noon + 5000)).toEqual([again]);
    expect(again?.alerts[0]).toMatchObject({ seq, failures: 1 });
    expect(await store.getAlert(id)).toMatchObject({ routingError: "the rule could not be read", unmatched: false });
    await store.recordRouting([routed(seq)]);
    expect((await store.getAlert(id))?.routingError).toBeUndefined();
    // No failure is counted of what is routed.
    await store.recordRoutingFailure([seq], "late", noon);
    expect((await store.getAlert(id))?.routingError).toBeUndefined();
  });

  test("hands out only what was accepted behind a position, and what has failed wherever it stands", async (scene) => {
    const { store } = scene;
    for (let count = 0; count < 4; count += 1) await store.acceptRequest(request());
    const all = seqsOf(await store.listUnrouted(10, noon));
    const seqsBehind = async (after: number) => seqsOf(await store.listUnrouted(10, noon, after));
    expect(await seqsBehind(all[1] ?? 0)).toEqual(all.slice(2));
    expect(await seqsBehind(all[3] ?? 0)).toEqual([]);
    await store.recordRoutingFailure(all.slice(0, 1), "it took too long", noon);
    expect(await seqsBehind(all[2] ?? 0)).toEqual([all[3], all[0]]);
  });

  test("hands out what has failed behind all others, one request at a time, with why it failed", async (scene) => {
    const { store, newId } = scene;
    for (const ids of [[newId(), newId()], [newId()], [newId()]]) await store.acceptRequest(request({ ids }));
    const list = async (limit = 10) => (await store.listUnrouted(limit, noon)).map((one) => seqsOf([one]));
    const [batch = [], second = [], third = []] = await list();
    for (const seqs of [batch, second]) await store.recordRoutingFailure(seqs, "it took too long", noon);
    for (const limit of [10, 1]) expect(await list(limit)).toEqual([third, batch]);
    const failed = { failures: 1, error: "it took too long" };
    expect((await store.listUnrouted(10, noon))[1]?.alerts).toMatchObject([failed, failed]);
    await store.recordRoutingFailure(batch.slice(0, 1), "again", noon + 1);
    expect(await list()).toEqual([third, batch.slice(1)]);
  });

  test("keeps a notice of the relay itself as an alert without a request", async ({ store, due }) => {
    const notice = noticeOf({ facts: factsOf({ title: "chat is dead" }), deliveries: [planned("mail")] });
    const { id } = notice;
    await store.recordNotice(notice);
    const detail = await store.getAlert(id);
    expect(detail).toMatchObject({ origin: "notice", facts: { title: "chat is dead" } });
    expect(detail?.request).toBeUndefined();
    expect(await due("mail")).toMatchObject([{ alertId: id, purpose: "notice", origin: "notice" }]);
    expect(await store.listUnrouted(10, noon)).toEqual([]);
  });

  test("keeps a test that the relay writes as one, with deliveries that come before all others", async (scene) => {
    const { store, route } = scene;
    await route({ to: ["mail"] });
    const facts = factsOf({ title: "Test of mail" });
    const ofPerson = noticeOf({ facts, origin: "test" as const, deliveries: [planned("mail")] });
    await store.recordNotice(ofPerson);
    expect(await store.getAlert(ofPerson.id)).toMatchObject({ origin: "test", facts: { title: "Test of mail" } });
    const first = { alertId: ofPerson.id, purpose: "test", origin: "test" };
    expect(await store.listDue("mail", noon, 1)).toMatchObject([first]);
  });
});
