import { expect, it } from "vitest";
import type { AlertFacts } from "../../../../src/core/alert.ts";
import type { RoutingRecord } from "../../../../src/core/ports/routing-desk.ts";
import * as samples from "../scene.ts";
import { aboutScenes, type OpenStore, openScene } from "../scene.ts";

const { deciding, factsOf, findUnrouted, noon, planned, request, routed } = samples;

const minute = 60_000;
const startsAt = { name: "startsAt", value: "2026-11-21T11:00:00Z" };
const later = { name: "startsAt", value: "2026-11-21T12:30:00Z" };
const over = (fields = [startsAt], occurredAt = noon) => factsOf({ status: "resolved", fields, occurredAt });

/** Stores alerts of one key and routes each, or all in one step; gives what of each is sent, by destination. */
async function openKey(open: OpenStore) {
  const scene = await openScene(open);
  const { store, newId } = scene;

  async function accept(facts = factsOf(), changes: Partial<RoutingRecord> = {}) {
    const id = newId();
    await store.acceptRequest(request({ ids: [id] }));
    const { seq } = await findUnrouted(store, id);
    const deliveries = changes.deliveries ?? [planned("chat"), planned("mail", { channel: "email" })];
    const ends = facts.status === "resolved" ? { endEdits: ["chat"] } : {};
    return { id, ...routed(seq, { ...deciding(deliveries, { facts, ...ends }), ...changes }) };
  }

  const sentOf = async (id: string) =>
    (await store.getAlert(id))?.deliveries.map(({ destination }) => destination) ?? [];

  async function route(...asked: Parameters<typeof accept>) {
    const record = await accept(...asked);
    await store.recordRouting([record]);
    return { id: record.id, sent: await sentOf(record.id) };
  }

  return { ...scene, accept, route, sentOf };
}

export const describeToldEnds = aboutScenes("what is over", openKey, (test, open) => {
  test("is told once, whatever else differs in what says it again, and says so", async ({ store, route }) => {
    await route();
    const first = await route(over());
    expect(first.sent).toEqual(["chat", "mail"]);
    for (const title of ["once more", "and again"]) {
      const { id, sent } = await route({ ...over(), title });
      expect(sent).toEqual([]);
      expect(await store.getAlert(id)).toMatchObject({
        unmatched: false,
        facts: { title },
        decisions: ["chat", "mail"].map((destination) => ({
          destination,
          result: "contained",
          reason: `it takes every alert; not sent, as the message of alert ${first.id} says already that it is over`,
        })),
      });
    }
  });

  const all = "chat,mail";
  const untimed = { ...over([]), occurredAt: undefined };
  const starts = [
    { name: "startTime", value: "02:00" },
    { name: "service.startedAt", value: startsAt.value },
  ];
  const at = (minutes: number, fields: typeof starts) => over(fields, noon + minutes * minute);
  it.each<[string, AlertFacts[], string[]]>([
    ["told again when it fired between", [over(), factsOf(), over()], [all, all, all]],
    ["told again when it began at another time", [over(), over([later])], [all, all]],
    ["told again where nobody says when it began", [untimed, untimed], [all, all]],
    [
      "known by the time of its end where its beginning is not named",
      [at(0, []), at(0, []), at(1, [])],
      [all, "", all],
    ],
    [
      "told at each of its times where a field is no start of it",
      [at(0, starts), at(0, starts), at(1, starts)],
      [all, "", all],
    ],
    ["known by its start among others", [at(2, [...starts, startsAt]), at(3, [...starts, startsAt])], [all, "chat"]],
  ])("is %s", async (_behaviour, said, sent) => {
    const { route } = await openKey(open);
    const found: string[] = [];
    for (const facts of said) found.push((await route(facts)).sent.join());
    expect(found).toEqual(sent);
  });

  it.each([
    ["in the same step", 0],
    ["in a step before", 1],
  ])("is told again when it fired between, which was routed %s", async (_, before) => {
    const { store, accept, sentOf } = await openKey(open);
    const [first, fired, second] = [await accept(over()), await accept(), await accept(over())];
    await store.recordRouting([fired].slice(0, before));
    await store.recordRouting([first, fired, second]);
    expect(await sentOf(first.id)).toEqual(["chat", "mail"]);
    expect(await sentOf(second.id)).toEqual(["chat", "mail"]);
  });

  test("changes the messages that can be changed when a later end is named", async ({ store, route }) => {
    await route(over());
    const fallback = { to: "mail", at: noon + minute };
    const deliveries = [planned("chat", { fallback }), planned("mail", { channel: "email" })];
    const { id, sent } = await route(over([startsAt], noon + minute), { deliveries });
    expect(sent).toEqual(["chat"]);
    const due = await store.listDue("chat", noon, 9);
    expect(due.map(({ updates }) => updates)).toEqual(["auto", "later_end"]);
    // A fallback would tell it anew.
    expect(due[1]?.fallbackTo).toBeUndefined();
    expect((await store.getAlert(id))?.decisions.map(({ result }) => result)).toEqual(["deliver", "contained"]);
  });

  test("is told where it was not: at another destination, and where that failed or was muted", async (scene) => {
    const { finish, route, due } = scene;
    await route(over(), { deliveries: [planned("chat"), planned("ops", { state: "muted" })] });
    const [first] = await due("chat");
    const deliveries = [planned("chat"), planned("ops"), planned("desk")];
    expect((await route(over(), { deliveries })).sent).toEqual(["ops", "desk"]);
    await finish([first?.seq ?? 0], { state: "failed", reason: "refused" });
    expect((await route(over(), { deliveries })).sent).toEqual(["chat"]);
  });

  test("is told once when it is said twice in one step, each claim at the place of its delivery", async (scene) => {
    const { store, lane, accept, route, sentOf } = scene;
    await route(over(), { deliveries: [planned("chat")] });
    const first = await accept(over());
    const second = await accept({ ...over(), title: "again" });
    const claims = [null, { lane, token: "t", leaseMs: 1_000 }];
    const recorded = await store.recordRouting([{ ...first, claims }, second]);
    expect(await Promise.all([first.id, second.id].map(sentOf))).toEqual([["mail"], []]);
    expect(recorded[0]?.deliveries.map((made) => made?.claimed?.token)).toEqual([undefined, "t"]);
    expect(recorded[1]?.deliveries).toEqual([null, null]);
  });
});
