import { expect } from "vitest";
import type { AlertFacts } from "../../../../src/core/alert.ts";
import type { FailedQuery } from "../../../../src/core/ports/alert-log.ts";
import { aboutScenes, noon, openScene, planned, type Scene } from "../scene.ts";

const byMute = (changes: Partial<FailedQuery> = {}): FailedQuery => ({
  states: ["failed"],
  failedUntil: Number.MAX_SAFE_INTEGER,
  mute: "m1",
  ...changes,
});

const muted = (destination: string, mutedBy = "m1") => planned(destination, { state: "muted", mutedBy });

/** What a mute holds back of these keys, one alert each. */
async function silence({ route }: Scene, facts: Partial<AlertFacts>[], to = ["chat"]): Promise<string[]> {
  const ids: string[] = [];
  for (const one of facts) ids.push((await route({ facts: one, to: to.map((name) => muted(name)) })).id);
  return ids;
}

type Fires = { alertKey: string };
const end = (alertKey: string) => ({ alertKey, status: "resolved" as const, severity: "info" as const });

async function release({ store }: Scene, query: FailedQuery = byMute()) {
  const found = await store.listFailed(query, { limit: 100 });
  const calls = found.map(({ deliverySeq, destination }) => ({
    deliverySeq,
    planned: [planned(destination, { updates: "new", extras: { late: "muted until 14:00 UTC" } })],
    onlyNew: false,
  }));
  return store.resendFailed(calls, noon + 100);
}

/** What mutes have held back, for their receipts and their release. */
export const describeSilenced = aboutScenes("what a mute has held back", openScene, (test) => {
  test("is told by destination, what still fires first, the worst first, over a restart", async (scene) => {
    await silence(scene, [
      { alertKey: "a", severity: "critical" },
      { alertKey: "a", severity: "warning" },
      { alertKey: "b", severity: "info" },
      { alertKey: "c", severity: "critical" },
      end("c"),
      { alertKey: "d", severity: "warning" },
    ]);
    await silence(scene, [{ alertKey: "a", severity: "warning" }], ["mail"]);
    // The end of this one was sent.
    await scene.route({ facts: end("b") });
    await scene.route({ facts: { alertKey: "e" }, to: [muted("chat", "m2")] });
    await scene.restart();
    const found = await scene.store.listSilenced("m1", 3);
    expect([...found.keys()]).toEqual(["chat", "mail"]);
    const { latest = [], worst, ...held } = found.get("chat") ?? {};
    expect(worst?.facts).toMatchObject({ alertKey: "c", severity: "critical" });
    expect(held).toEqual({ alerts: 6, keys: 4, firing: { critical: 1, warning: 1 } });
    const told = latest.map(({ facts }) => `${facts.alertKey} ${facts.severity}`);
    expect(told).toEqual(["a critical", "d warning", "c info"]);
    expect(found.get("mail")).toMatchObject({ alerts: 1, keys: 1, firing: { warning: 1 } });
    const counted = await scene.store.countSilenced(["m1", "m2", "m3"]);
    expect(Object.fromEntries(counted.map(({ mutedBy, alerts }) => [mutedBy, alerts]))).toEqual({ m1: 7, m2: 1 });
    expect(await scene.store.listSilenced("m3", 3)).toEqual(new Map());
  });

  test("is listed newest first, page by page, without what is over unless that is asked for", async (scene) => {
    const [a, b, c] = ["a", "b", "c"].map((alertKey) => ({ alertKey })) as [Fires, Fires, Fires];
    const [, over, second] = await silence(scene, [a, end("a"), a, b, end("b"), c]);
    const { store } = scene;
    const ids = async (query: FailedQuery) => {
      const found: string[] = [];
      for (let after: Awaited<ReturnType<typeof store.listFailed>>[number]["position"] | undefined; ; ) {
        const [one] = await store.listFailed(query, { limit: 1, after });
        if (one === undefined) return found;
        after = one.position;
        const [alert] = await store.listAlerts({ limit: 1, before: after });
        found.push(alert?.id ?? "first");
      }
    };
    // Each by the alert before it.
    const [first, ...left] = await ids(byMute());
    expect(first).not.toBe(second);
    expect(left).toEqual([over, expect.any(String), "first"]);
    expect(await ids(byMute({ over: true }))).toHaveLength(6);
    expect(await ids(byMute({ destination: "mail" }))).toEqual([]);
    const counted = { destination: "chat", alerts: 2, heldBack: 4, deliveries: 2 };
    expect(await store.countFailed(byMute())).toMatchObject([counted]);
    const all = await store.countFailed(byMute({ over: true, destination: "chat" }));
    expect(all).toMatchObject([{ alerts: 3, heldBack: 6 }]);
    expect(await store.countFailed(byMute({ failedUntil: noon - 1 }))).toEqual([]);
  });

  test("is released once, however many ask, unless a person has resent it by hand, and counts as its release does", async (scene) => {
    const [id = "", , byHand = ""] = await silence(scene, [{ alertKey: "a" }, { alertKey: "b" }, { alertKey: "c" }]);
    await scene.store.addDeliveries(byHand, [planned("chat")], "resend", noon + 10);
    const counts = await Promise.all([release(scene), release(scene)]);
    expect(counts.reduce((sum, { made }) => sum + made, 0)).toBe(2);
    expect(await release(scene)).toEqual({ made: 0, resent: 0, noRecipient: 0 });
    const [first, second] = (await scene.store.getAlert(id))?.deliveries ?? [];
    expect(first).toMatchObject({ state: "muted", resentBy: second?.id });
    expect(second).toMatchObject({ purpose: "bulk_resend", extras: { late: "muted until 14:00 UTC" } });
    expect(await scene.store.listSilenced("m1", 3)).toEqual(new Map());
    expect(await scene.store.countSilenced(["m1"])).toEqual([]);
    expect(await scene.store.countByDestination()).toMatchObject([{ counts: { queued: 3 } }]);
  });

  test("is told by the release of another, in the same step or a later one", async (scene) => {
    const [id = ""] = await silence(scene, [{ alertKey: "a" }, { alertKey: "a" }, { alertKey: "a" }]);
    const [latest, ...others] = (await scene.store.listFailed(byMute(), { limit: 100 })).map((one) => one.deliverySeq);
    const told = others.map((deliverySeq) => ({ deliverySeq, planned: [], onlyNew: false, toldBy: latest }));
    const first = { deliverySeq: latest ?? 0, planned: [planned("chat", { updates: "new" })], onlyNew: false };
    const none = { made: 0, resent: 0, noRecipient: 0 };
    expect(await scene.store.resendFailed(told.slice(0, 1), noon + 90)).toEqual(none);
    expect(await scene.store.countSilenced(["m1"])).toEqual([{ mutedBy: "m1", alerts: 2 }]);
    expect(await scene.store.resendFailed([...told, first], noon + 100)).toEqual({ ...none, made: 1, resent: 1 });
    expect(await scene.store.countSilenced(["m1"])).toEqual([]);
    const released = { state: "muted", resentBy: expect.any(String) };
    expect((await scene.store.getAlert(id))?.deliveries).toMatchObject([released]);
    expect(await scene.store.countByDestination()).toMatchObject([{ counts: { queued: 1 } }]);
  });

  test("counts what waited to be told when the mute began", async (scene) => {
    const { store, finish } = scene;
    const waits = planned("chat", { state: "held", updates: "summary", dueAt: noon + 10 });
    await scene.route({ facts: { alertKey: "a" }, to: [waits] });
    const [due] = await scene.due("chat", noon + 10);
    const next = { state: "muted", reason: "muted", mutedBy: "m1" } as const;
    await finish([due?.seq ?? 0], next, noon + 10);
    expect(await store.countSilenced(["m1"])).toEqual([{ mutedBy: "m1", alerts: 1 }]);
    expect(await scene.due("chat", noon + 10)).toEqual([]);
    expect(await store.countFailed(byMute())).toMatchObject([{ destination: "chat", deliveries: 1 }]);
  });
});
