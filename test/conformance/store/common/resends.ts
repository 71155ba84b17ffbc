import { expect } from "vitest";
import type { FailedQuery } from "../../../../src/core/ports/alert-log.ts";
import type { Store } from "../../../../src/core/ports/store.ts";
import { aboutScenes, claimOf, noon, openScene, planned, type Scene } from "../scene.ts";

/** Ends the only delivery of each of these alerts at `chat` as failed, `at` later than noon. */
async function fail({ route, store, finish }: Scene, count: number, at = 0): Promise<string[]> {
  const ids: string[] = [];
  for (let alert = 0; alert < count; alert += 1) ids.push((await route()).id);
  const due = await store.listDue("chat", noon, 100);
  const seqs = due.filter(({ alertId }) => ids.includes(alertId)).map(({ seq }) => seq);
  await finish(seqs, { state: "failed", reason: "kicked" }, noon + at);
  return ids;
}

const everything: FailedQuery = { states: ["failed"], failedUntil: Number.MAX_SAFE_INTEGER };

const resendAll = async (store: Store, query = everything, limit = 100) =>
  store.resendFailed(callsFor(await store.listFailed(query, { limit })), noon + 50);

const callsFor = (failed: { deliverySeq: number }[]) =>
  failed.map(({ deliverySeq }) => ({ deliverySeq, planned: [planned("chat")], onlyNew: false }));

const toMail = (recipient: string) => planned("mail", { channel: "email", recipient });

/** What failed, and what stands for it since it was resent. */
export const describeResends = aboutScenes("resends", openScene, (test) => {
  test("stand for what failed at once, in counts and in the log, over a restart", async (scene) => {
    const [id = ""] = await fail(scene, 2);
    expect(await resendAll(scene.store)).toEqual({ made: 2, resent: 2, noRecipient: 0 });
    await scene.restart();
    const { store } = scene;
    expect(await store.countByDestination()).toMatchObject([{ counts: { queued: 2 } }]);
    expect(await store.listAlerts({ limit: 10, state: "failed" })).toEqual([]);
    expect(await store.listAlerts({ limit: 10, state: "failed", destination: "chat" })).toEqual([]);
    const [failed, resend] = (await store.getAlert(id))?.deliveries ?? [];
    expect(failed).toMatchObject({ state: "failed", resentBy: resend?.id });
    expect(resend).toMatchObject({ state: "queued", purpose: "bulk_resend", createdAt: noon + 50 });
  });

  test("are made once, however many ask with what they have read before", async (scene) => {
    await fail(scene, 3);
    const { store } = scene;
    const calls = callsFor(await store.listFailed(everything, { limit: 100 }));
    const counts = await Promise.all([1, 2, 3].map(() => store.resendFailed(calls, noon)));
    expect(counts.reduce((sum, { made }) => sum + made, 0)).toBe(3);
  });

  test("stand for a second mailbox that the destination no longer has, also when that is resent later", async (scene) => {
    const { store, finish, route } = scene;
    await route({ to: [toMail("one@x.example"), toMail("two@x.example")] });
    const seqs = (await store.listDue("mail", noon, 10)).map(({ seq }) => seq);
    await finish(seqs, { state: "failed", reason: "refused" });
    const resend = (deliverySeq: number) =>
      store.resendFailed([{ deliverySeq, planned: [toMail("new@x.example")], onlyNew: false }], noon);
    expect(await resend(seqs[0] ?? 0)).toEqual({ made: 1, resent: 1, noRecipient: 0 });
    expect(await resend(seqs[1] ?? 0)).toEqual({ made: 0, resent: 1, noRecipient: 0 });
  });

  test("change the version of their alerts, so that whoever looks at them hears of it", async (scene) => {
    const [id] = await fail(scene, 1);
    const before = await scene.store.latestChange();
    await resendAll(scene.store);
    expect((await scene.store.listChanges(before, 10)).map((alert) => alert.id)).toEqual([id]);
  });

  test("of one alert are returned as they were made, and stand for a mailbox each", async (scene) => {
    const { store, finish, route } = scene;
    const { id } = await route({ to: [toMail("a@x.example"), toMail("gone@x.example")] });
    const seqs = (await store.listDue("mail", noon, 10)).map(({ seq }) => seq);
    await finish(seqs, { state: "expired", reason: "too old" });
    const made = await store.addDeliveries(id, [toMail("b@x.example"), toMail("a@x.example")], "resend", noon + 9);
    expect(made).toMatchObject([{ recipient: "b@x.example" }, { recipient: "a@x.example" }]);
    const each = { purpose: "resend", createdAt: noon + 9 };
    expect(await store.listDue("mail", noon + 9, 9)).toMatchObject([each, each]);
    expect((await store.getAlert(id))?.deliveries).toMatchObject([
      { recipient: "a@x.example", resentBy: made[1]?.id },
      { recipient: "gone@x.example", resentBy: made[0]?.id },
      { id: made[0]?.id, state: "queued" },
      { id: made[1]?.id, state: "queued" },
    ]);
  });

  test("of one alert stand also for what is held since nobody knows whether it arrived", async (scene) => {
    const { store } = scene;
    const { id } = await scene.route();
    const [claimed] = await scene.claim("chat", "t1");
    const next = { state: "held", reason: "may or may not have arrived" } as const;
    await scene.attempt({ token: "t1", deliverySeqs: [claimed?.seq ?? 0], outcome: "ambiguous", next });
    const [resend] = await store.addDeliveries(id, [planned("chat")], "resend", noon + 200);
    expect((await store.getAlert(id))?.deliveries[0]).toMatchObject({ state: "held", resentBy: resend?.id });
    expect(await store.countByDestination()).toMatchObject([{ counts: { queued: 1 } }]);
    const deliveryIds = [claimed?.id ?? ""];
    const change = { destination: "chat", deliveryIds, now: noon, dueAt: noon, why: "released" };
    expect(await store.rescheduleHeld({ ...change, isNamed: true })).toBe(0);
  });

  test("leave alone what waits, and what arrived", async ({ store, route, send }) => {
    const { id } = await route({ to: ["chat"] });
    await send("chat");
    await store.addDeliveries(id, [planned("chat")], "alert", noon);
    await store.addDeliveries(id, [planned("chat")], "resend", noon);
    const stands = (await store.getAlert(id))?.deliveries.map(({ resentBy }) => resentBy);
    expect(stands).toEqual([undefined, undefined, undefined]);
  });

  test("of many are due behind everything else, and where it is their turn behind what a person asked for alone", async (scene) => {
    const { store } = scene;
    await fail(scene, 3);
    await resendAll(store);
    const { id } = await scene.route({ to: [planned("chat", { dueAt: noon + 100 })] });
    const purposes = async (limit: number, isTheirTurn = false) =>
      (await store.listDue("chat", noon + 100, limit, isTheirTurn)).map(({ purpose }) => purpose);
    const resent = ["bulk_resend", "bulk_resend", "bulk_resend"];
    expect(await purposes(1)).toEqual(["alert"]);
    expect(await purposes(2)).toEqual(["alert", "bulk_resend"]);
    expect(await purposes(10)).toEqual(["alert", ...resent]);
    expect(await store.nextDueAt("chat")).toBe(noon);
    await store.addDeliveries(id, [planned("chat")], "resend", noon);
    expect(await purposes(1, true)).toEqual(["resend"]);
    expect(await purposes(3, true)).toEqual(["resend", "bulk_resend", "bulk_resend"]);
    expect((await purposes(5, true)).sort()).toEqual(["alert", ...resent, "resend"]);
  });

  test("of many are counted, with those that have arrived, until none waits", async (scene) => {
    const { store, lane, finish } = scene;
    const counted = async () => (await store.countByDestination())[0]?.resending;
    await fail(scene, 4);
    expect(await counted()).toBeUndefined();
    await resendAll(store);
    expect(await counted()).toEqual({ made: 4, arrived: 0, since: noon + 50 });
    const [one, two, ...rest] = await store.listDue("chat", noon + 50, 9);
    await store.claimDeliveries(lane, claimOf("t1", one?.seq ?? 0), []);
    await scene.attempt({ token: "t1", deliverySeqs: [one?.seq ?? 0] });
    expect(await counted()).toEqual({ made: 4, arrived: 1, since: noon + 50 });
    await finish([two?.seq ?? 0], { state: "failed", reason: "kicked" }, noon + 60);
    expect(await counted()).toEqual({ made: 4, arrived: 1, since: noon + 50 });
    // The one that failed once more counts as its resend does.
    await resendAll(store);
    expect(await counted()).toEqual({ made: 4, arrived: 1, since: noon + 50 });
    const seqs = (await store.listDue("chat", noon + 50, 9)).map(({ seq }) => seq);
    expect(seqs).toHaveLength(rest.length + 1);
    await store.claimDeliveries(lane, claimOf("t2", ...seqs), []);
    expect(await counted()).toMatchObject({ made: 4, arrived: 1 });
    await scene.attempt({ token: "t2", deliverySeqs: seqs, next: { state: "digested", reason: "" } });
    expect(await counted()).toBeUndefined();
  });
});

export const describeFailed = aboutScenes("what failed", openScene, (test) => {
  test("is listed newest first in pages, and counted with its ages, up to an instant", async (scene) => {
    const { store } = scene;
    const older = await fail(scene, 3);
    const newer = await fail(scene, 2, 1000);
    const all = await store.listFailed(everything, { limit: 10 });
    expect(all).toHaveLength(5);
    const first = await store.listFailed(everything, { limit: 2 });
    const rest = await store.listFailed(everything, { limit: 10, after: first[1]?.position });
    expect([...first, ...rest]).toEqual(all);
    await resendAll(store, everything, 2);
    const resent = await Promise.all([...older, ...newer].map((id) => store.getAlert(id)));
    expect(resent.map((alert) => alert?.deliveries.length)).toEqual([1, 1, 1, 2, 2]);
    const early = { ...everything, failedUntil: noon + 999 };
    const counted = { destination: "chat", deliveries: 3, alerts: 3, oldestAt: noon, newestAt: noon };
    expect(await store.countFailed(early)).toEqual([counted]);
    expect(await store.countFailed({ ...everything, states: ["expired"] })).toEqual([]);
    expect(await store.countFailed({ ...everything, destination: "mail" })).toEqual([]);
  });
});
