import { expect, it } from "vitest";
import type { RoutingDraft } from "../../../../src/core/ports/routing-desk.ts";
import type { Mute } from "../../../../src/core/rules.ts";
import { aboutScenes, factsOf, noon, type OpenStore, openScene, planned, routeDrafts } from "../scene.ts";

const key = factsOf().alertKey;
const untilOver = mute("m1", { untilOver: key });
const plan = (result: "deliver" | "muted") => ({
  decisions: [{ route: "all", destination: "chat", result, reason: "" }],
  deliveries: [planned("chat", result === "muted" ? { state: "muted" } : { ring: { flapping: true } })],
});
/** As routing drafts what a mute until it is over holds back. */
const firing = (): RoutingDraft => ({
  ...{ facts: factsOf(), purpose: "alert", routedAt: noon + 60_000 },
  ...plan("muted"),
  ifOver: { ...plan("deliver"), countsIn: ["chat"] },
});
const end = (): RoutingDraft => ({
  ...firing(),
  ...plan("deliver"),
  ...{ facts: factsOf({ status: "resolved" }), ifOver: undefined, endEdits: ["chat"] },
});

/** Routes these under a mute until it is over. */
async function pass(open: OpenStore, way: "one" | "many" | "arriving", drafts: RoutingDraft[]) {
  const scene = await openScene(open);
  await scene.store.addMute(untilOver);
  const ids = await routeDrafts(scene, drafts, way);
  return { ...scene, ids, states: async () => (await Promise.all(ids.map(scene.states))).flat() };
}

export function mute(id: string, changes: Partial<Mute> = {}): Mute {
  const matchers = [{ field: "token", condition: { equals: ["USDC"], not: ["DAI"] } }];
  const given = { reason: "maintenance", startsAt: noon, endsAt: noon + 7_200_000, createdAt: noon, createdBy: "page" };
  return { id, matchers, ...given, ...changes };
}

export const describeMutes = aboutScenes("mutes", openScene, (test, open) => {
  test("lists active and coming ones as they were made, newest first, and past ones when asked, over a restart", async (scene) => {
    const past = mute("past", { endsAt: noon + 1 });
    const active = mute("active", { createdAt: noon + 1 });
    const coming = mute("coming", { createdAt: noon + 2, startsAt: noon + 3_600_000 });
    for (const one of [past, active, coming]) await scene.store.addMute(one);
    await scene.restart();
    expect(await scene.store.listMutes(noon, false)).toEqual([coming, active, past]);
    expect(await scene.store.listMutes(noon + 1, false)).toEqual([coming, active]);
    expect(await scene.store.listMutes(noon + 1, true)).toEqual([coming, active, past]);
  });

  test("ends one now, and says when there is none to end", async ({ store }) => {
    await store.addMute(mute("m1"));
    expect(await store.endMute("m1", noon + 10)).toBe(true);
    expect(await store.listMutes(noon + 10, false)).toEqual([]);
    expect(await store.listMutes(noon + 10, true)).toMatchObject([{ id: "m1", endsAt: noon + 10 }]);
    expect(await store.endMute("m1", noon + 11)).toBe(false);
    expect(await store.endMute("m2", noon + 11)).toBe(false);
  });

  it.each(["one", "many", "arriving"] as const)("until it is over end with the end, which is sent: %s", async (way) => {
    const { store, ids, states } = await pass(open, way, [firing(), end(), firing()]);
    expect(await states()).toEqual(["muted", "queued", "queued"]);
    const [mutedThen, , sentAfter] = await Promise.all(ids.map((id) => store.getAlert(id)));
    expect([mutedThen, sentAfter].map((one) => one?.decisions[0]?.result)).toEqual(["muted", "deliver"]);
    expect(await store.listMutes(noon + 60_000, true)).toEqual([{ ...untilOver, endsAt: noon + 60_000 }]);
  });

  it("until it is over hold what comes before the end, and no longer than their time", async () => {
    const { store, states } = await pass(open, "many", [
      firing(),
      { ...end(), facts: factsOf({ status: "resolved", alertKey: "another" }) },
      { ...firing(), routedAt: untilOver.endsAt },
    ]);
    expect(await states()).toEqual(["muted", "queued", "queued"]);
    expect(await store.listMutes(noon, false)).toEqual([untilOver]);
  });

  it("until it is over are not made when it is over already", async () => {
    const { store } = await pass(open, "many", [firing(), end()]);
    expect(await store.addMute({ ...untilOver, id: "late" })).toBe("over");
    expect(await store.addMute({ ...untilOver, id: "new", untilOver: "never seen" })).toBe("done");
    expect((await store.listMutes(noon, true)).map(({ id }) => id).sort()).toEqual(["m1", "new"]);
  });
});
