import { expect } from "vitest";
import { anyDestination } from "../../../../src/core/rules.ts";
import { aboutScenes, kicked, noon, noticeOf, openScene, planned } from "../scene.ts";

const fallback = { to: "mail", at: noon + 600_000 };

export const describeFallbacks = aboutScenes("fallbacks", openScene, (test) => {
  test("lists what has not succeeded by its time, held or being sent alike", async (scene) => {
    const { store, route, claim, send } = scene;
    for (const destination of ["one", "two", "three"]) await route({ to: [planned(destination, { fallback })] });
    await route({ to: ["no-fallback"] });
    await send("two", { outcome: "ambiguous", next: { state: "held", reason: "" } });
    await claim("three", "t3");
    expect(await store.listFallbacksDue(fallback.at - 1)).toEqual([]);
    const due = await store.listFallbacksDue(fallback.at);
    const listed = due.map(({ destination, state }) => `${destination} ${state}`);
    expect(listed).toEqual(["one queued", "two held", "three sending"]);
    expect(due.every(({ fallbackTo }) => fallbackTo === "mail")).toBe(true);
  });

  test("does not call upon one for what was sent or muted", async ({ store, route, send }) => {
    await route({ to: [planned("chat", { fallback }), planned("ops", { fallback, state: "muted" })] });
    await send("chat");
    expect(await store.listFallbacksDue(Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  test("makes the deliveries once, whoever asks: time, failed attempt or end without one", async (scene) => {
    const { store, finish, route, claim, attempt, due } = scene;
    const { id } = await route({ to: [planned("chat", { fallback })] });
    const [delivery] = await claim("chat", "t1");
    const deliverySeq = delivery?.seq ?? 0;
    const mails = [{ insteadBecause: "chat refused it" }, { recipient: "b@example.com" }];
    const call = { deliverySeq, planned: mails.map((changes) => planned("mail", changes)) };
    await store.callFallbacks([call], noon + 600_000);
    await store.callFallbacks([call], noon + 600_000);
    // Its addresses may have changed meanwhile.
    await store.callFallbacks([{ deliverySeq, planned: [planned("mail", { recipient: "new@example.com" })] }], noon);
    await attempt({ ...kicked, token: "t1", deliverySeqs: [deliverySeq], fallbacks: [call] });
    await finish([deliverySeq], { state: "failed", reason: "" }, noon, [call]);
    expect((await store.getAlert(id))?.deliveries.slice(1)).toMatchObject([
      { destination: "mail", purpose: "fallback", insteadOf: "chat", state: "queued" },
      { destination: "mail", recipient: "b@example.com", purpose: "fallback", insteadOf: "chat" },
    ]);
    expect(await due("mail")).toMatchObject([
      { insteadOf: "chat", insteadBecause: "chat refused it" },
      { insteadOf: "chat" },
    ]);
    expect(await store.listFallbacksDue(Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  test("makes them once for all mailboxes of one destination", async ({ store, route, due }) => {
    const mailbox = (recipient: string) => planned("mail", { recipient, fallback: { ...fallback, to: "chat" } });
    const { id } = await route({ to: [mailbox("a@example.com"), mailbox("b@example.com")] });
    const calls = (await due("mail")).map(({ seq }) => ({ deliverySeq: seq, planned: [planned("chat")] }));
    await store.callFallbacks(calls, noon);
    const made = (await store.getAlert(id))?.deliveries.map(({ destination }) => destination);
    expect(made).toEqual(["mail", "mail", "chat"]);
  });

  test("makes those of a notice as notices, and is called upon again where it is to be, though the delivery has ended", async (scene) => {
    const { store, claim, attempt } = scene;
    const any = { to: anyDestination, at: noon + 30_000 };
    const notice = noticeOf({ deliveries: [planned("chat", { fallback: any })] });
    await store.recordNotice(notice);
    const [delivery] = await claim("chat", "t1");
    const deliverySeq = delivery?.seq ?? 0;
    await attempt({ ...kicked, token: "t1", fallbacks: [{ deliverySeq, planned: [], againAt: noon + 5 }] });
    expect(await store.listFallbacksDue(noon + 4)).toEqual([]);
    expect(await store.listFallbacksDue(noon + 5)).toMatchObject([{ seq: deliverySeq, fallbackTo: anyDestination }]);
    expect(await store.countNotices("chat")).toEqual({ waiting: 0, failed: 1 });
    const call = { deliverySeq, planned: [planned("mail", { fallback: any })], againAt: noon + 9 };
    for (let relay = 0; relay < 2; relay += 1) await store.callFallbacks([call], noon + 5);
    expect((await store.getAlert(notice.id))?.deliveries.slice(1)).toMatchObject([
      { destination: "mail", purpose: "notice", insteadOf: "chat", state: "queued" },
    ]);
    expect(await store.countNotices("mail")).toEqual({ waiting: 1, failed: 0 });
    await store.callFallbacks([{ deliverySeq, planned: [] }], noon + 9);
    expect((await store.listFallbacksDue(noon + 30_000)).map(({ destination }) => destination)).toEqual(["mail"]);
  });

  test("puts off what waits without an attempt, and calls upon its fallback in the same step", async (scene) => {
    const { store, finish, route, due, states } = scene;
    const { id } = await route({ to: [planned("chat", { fallback })] });
    const [{ seq } = { seq: 0 }] = await due("chat");
    const waiting = { state: "waiting" as const, reason: "chat is dead", dueAt: noon + 60_000 };
    await finish([seq], waiting, noon, [{ deliverySeq: seq, planned: [planned("mail")] }]);
    expect(await states(id)).toEqual(["waiting", "queued"]);
    expect((await store.getAlert(id))?.deliveries[0]).toMatchObject({ reason: "chat is dead", dueAt: noon + 60_000 });
    expect(await store.listDue("chat", noon + 59_999, 10)).toEqual([]);
    expect(await store.listDue("chat", noon + 60_000, 10)).toMatchObject([{ seq, attempts: 0 }]);
    expect(await store.listFallbacksDue(Number.MAX_SAFE_INTEGER)).toEqual([]);
  });
});
