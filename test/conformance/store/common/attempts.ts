import { expect } from "vitest";
import { takeLane } from "../../../support/lane.ts";
import { aboutScenes, attemptOf, claimOf, kicked, noon, openScene, planned, thread } from "../scene.ts";

export const describeAttempts = aboutScenes("attempts", openScene, (test) => {
  test("ends a delivery as sent, with the attempt on the record", async ({ store, route, claim, attempt }) => {
    const { id } = await route();
    await claim("chat", "t1");
    const detail = "topic gone, sent to the group";
    expect(await attempt({ token: "t1", detail })).toBe("recorded");
    const attempts = [{ at: noon + 100, durationMs: 50, action: "send", part: 1, parts: 1, outcome: "sent", detail }];
    const sent = { state: "sent", finishedAt: noon + 150, attempts };
    expect((await store.getAlert(id))?.deliveries[0]).toMatchObject(sent);
    // The second of one claim comes late.
    expect(await attempt({ token: "t1" })).toBe("late");
    expect(await store.listAbandoned({ chat: (await takeLane(store)).fence }, 9)).toEqual([]);
  });

  test("records several that are asked for at once, each by its own claim", async (scene) => {
    const { store, lane, route, due, states } = scene;
    const routed = [await route(), await route(), await route()];
    const seqs = (await due("chat")).map(({ seq }) => seq);
    const claims = seqs.map((seq, index) => claimOf(`t${index}`, seq));
    await store.claimRun(lane, claims);
    const [first = 0, second = 0, third = 0] = seqs;
    const waits = { state: "waiting", reason: "", dueAt: noon + 9 } as const;
    const records = [
      attemptOf("t0", [first]),
      attemptOf("another's", [second]),
      attemptOf("t2", [third], { next: waits }),
    ];
    const answer = await Promise.all(records.map((record) => store.recordAttempt(lane, record, [])));
    expect(answer).toEqual(["recorded", "late", "recorded"]);
    expect(await Promise.all(routed.map(({ id }) => states(id)))).toEqual([["sent"], ["sending"], ["waiting"]]);
  });

  test("records two attempts of one delivery, and the threads of one key, in the order asked", async (scene) => {
    const { store, lane, route, due, claim, states } = scene;
    const { id } = await route();
    await route();
    const seqs = (await due("chat")).map(({ seq }) => seq) as [number, number];
    await claim("chat", "t");
    const records = [
      // PostgreSQL makes the first call alone, and the others together.
      attemptOf("another's", [seqs[1]]),
      attemptOf("t", [seqs[0]], { outcome: "retry", next: undefined, leaseMs: 1000 }),
      attemptOf("t", [seqs[0]], { thread: { ...thread, count: 1 } }),
      attemptOf("t", [seqs[1]], { thread: { ...thread, count: 2 } }),
    ];
    const answer = await Promise.all(records.map((record) => store.recordAttempt(lane, record, [])));
    expect(answer).toEqual(["late", "recorded", "recorded", "recorded"]);
    expect(await states(id)).toEqual(["sent"]);
    expect(await store.findThread("chat", "-1004", "tvl:usdc")).toMatchObject({ count: 2 });
  });

  test("lets a delivery wait, in the form and with the progress it has by then, over a restart", async (scene) => {
    await scene.route();
    await scene.claim("chat", "t1");
    const [progress, detail] = [{ refs: ["11", null], madeAt: noon }, "no answer within 30 s"];
    const waits = { state: "waiting", reason: "nobody knows", form: "plain" } as const;
    const outcome = { outcome: "ambiguous", reason: "no_answer", detail, progress } as const;
    await scene.attempt({ token: "t1", ...outcome, next: { ...waits, dueAt: noon + 30_000 } });
    await scene.restart();
    expect(await scene.due("chat", noon + 29_999)).toEqual([]);
    const last = { lastDetail: detail, lastReason: "no_answer", attempts: 1, ambiguous: 1 };
    expect(await scene.due("chat", noon + 30_000)).toMatchObject([{ ...waits, progress, ...last }]);
    // An attempt that was only asked to wait does not count.
    await scene.claim("chat", "t2", { now: noon + 30_000 });
    const asked = { outcome: "retry", reason: "rate_limited", countsAsAttempt: false } as const;
    await scene.attempt({ token: "t2", ...asked, next: { ...waits, dueAt: noon + 47_500 } });
    expect(await scene.due("chat", noon + 47_500)).toMatchObject([{ attempts: 1, ambiguous: 1 }]);
  });

  test("keeps the claim, and a longer lease, while more parts follow", async (scene) => {
    const { store, lane, route, claim, attempt } = scene;
    const { id } = await route();
    await claim("chat", "t1");
    const refs = ["1", "2", "3"];
    const part = (number: number) => ({
      token: "t1",
      part: number,
      parts: 3,
      progress: { refs: refs.slice(0, number) },
    });
    await attempt({ ...part(1), next: undefined, leaseMs: 0 });
    expect(await store.listAbandoned({ chat: lane.fence }, 9)).toMatchObject([
      { token: "t1", progress: { refs: ["1"] }, attempts: 0 },
    ]);
    await attempt({ ...part(2), next: undefined, leaseMs: 60_000 });
    expect(await store.listAbandoned({ chat: lane.fence }, 9)).toEqual([]);
    await attempt(part(3));
    const sent = (await store.getAlert(id))?.deliveries[0];
    expect(sent?.state).toBe("sent");
    expect(sent?.attempts.map(({ part, parts }) => `${part}/${parts}`)).toEqual(["1/3", "2/3", "3/3"]);
  });

  test("keeps an attempt under a lost claim on the record, and lets it change nothing", async (scene) => {
    const { store, lane, route, claim, attempt } = scene;
    const fallback = { to: "mail", at: noon + 600_000 };
    const { id } = await route({ to: [planned("chat", { fallback })] });
    const [delivery] = await claim("chat", "t1");
    const deliverySeqs = [delivery?.seq ?? 0];
    await store.releaseClaim(lane, "t1", noon);
    await claim("chat", "t2");
    const fallbacks = [{ deliverySeq: deliverySeqs[0] ?? 0, planned: [planned("mail")] }];
    expect(await attempt({ ...kicked, token: "t1", deliverySeqs, fallbacks, thread })).toBe("late");
    const detail = await store.getAlert(id);
    expect(detail?.deliveries).toMatchObject([{ destination: "chat", state: "sending" }]);
    expect(detail?.deliveries[0]?.attempts).toMatchObject([{ outcome: "rejected", reason: "kicked" }]);
    expect(await store.findThread("chat", "-1004", "tvl:usdc")).toBeUndefined();
    expect(await attempt({ token: "t2", deliverySeqs })).toBe("recorded");
  });

  test("records one attempt of a digest for each of its deliveries", async ({ store, route, claim, attempt }) => {
    const alerts = [await route(), await route(), await route()];
    await claim("chat", "t1", { digestId: "digest-1" });
    await attempt({ token: "t1", next: { state: "digested", reason: "sent with 2 others" } });
    for (const { id } of alerts) {
      const delivery = (await store.getAlert(id))?.deliveries[0];
      expect(delivery).toMatchObject({ state: "digested", digestId: "digest-1" });
      expect(delivery?.attempts).toHaveLength(1);
    }
  });

  test("ends what waits without an attempt, and leaves alone what is being sent", async (scene) => {
    const { store, lane, route, claim, due, states, finish } = scene;
    const waiting = await route();
    const [{ seq } = { seq: 0 }] = await due("chat");
    await claim("chat", "t1");
    const expired = { state: "expired", reason: "too old" } as const;
    await finish([seq], expired);
    expect(await states(waiting.id)).toEqual(["sending"]);
    await store.releaseClaim(lane, "t1", noon);
    await finish([seq], expired, noon + 9);
    const [ended] = (await store.getAlert(waiting.id))?.deliveries ?? [];
    expect(ended).toMatchObject({ ...expired, finishedAt: noon + 9 });
    expect(await due("chat")).toEqual([]);
  });
});
