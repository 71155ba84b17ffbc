import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { Outcome } from "../../src/core/delivery.ts";
import type { Illustrate } from "../../src/core/ports/illustration.ts";
import type { KnownDestination } from "../support/known-vendors.ts";
import { pngOf } from "../support/png.ts";
import { later, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, minute } from "./outcomes.ts";

const png = pngOf(800, 400);
const drawn: Illustrate = async () => ({ png, alt: "TVL of USDC" });
const ofAlert: Illustrate = async (alertId) => ({ png, alt: alertId });
const unpaced = { pace: {}, digestOver: 1_000 };
const refused: Outcome = { kind: "rejected", scope: "message", reason: "message_refused", detail: "no pictures here" };

/** One chat with pictures, which bears any pace unless it is said otherwise. */
async function start(illustrate = drawn, changes: Partial<KnownDestination> = unpaced) {
  const fixture = await startFixture([telegramTo("desk", { chart: true, ...changes })], undefined, illustrate);
  const { desk, clock } = fixture;
  return {
    ...fixture,
    fixture,
    /** What it was asked for, with the message that is changed. */
    actions: () => desk.calls.map(({ action, ref }) => (ref === undefined ? action : `${action} ${ref}`)),
    illustrated: () => desk.calls.filter(({ action }) => action === "illustrate"),
    async outcomeOf(id: string) {
      const { deliveries } = await fixture.detail(id);
      return fixture.pictures.get(deliveries[0]?.id ?? "");
    },
    async acceptAnd(waitMs: number, facts: Partial<AlertFacts> = {}, options = {}) {
      const id = await fixture.accept(facts, options);
      await clock.advance(waitMs);
      return id;
    },
  };
}

describe("the picture of a message", () => {
  it("joins it once it was sent, when its chat could take another text", async () => {
    const line = "24 h −3.2 %";
    const scene = await start(async () => ({ png, alt: "TVL", line }), {});
    const { desk, actions, outcomeOf, states } = scene;
    const id = await scene.acceptAnd(1_000, { title: "TVL fell" });
    expect(actions()).toEqual(["send"]);
    expect(await states(id)).toEqual({ desk: "sent" });
    await scene.clock.advance(300);
    const [text, picture] = desk.calls;
    expect(picture).toMatchObject({
      action: "illustrate",
      ref: "1",
      text: text?.text,
      illustration: { png, line },
      context: { recipient: text?.context.recipient, alertId: id },
    });
    expect(await outcomeOf(id)).toMatchObject({ result: "joined" });
    expect((await outcomeOf(id))?.afterMs).toBeLessThan(3_000);
  });

  it.each<[string, object, Partial<AlertFacts>, "alert" | "notice" | "test"]>([
    ["a chat without pictures", { chart: false }, {}, "alert"],
    ["an alert that is over", {}, { status: "resolved" }, "alert"],
    ["a notice", {}, {}, "notice"],
    ["a test", {}, {}, "test"],
  ])("is not for %s", async (_what, changes, facts, purpose) => {
    const { acceptAnd, actions, outcomeOf } = await start(drawn, { ...unpaced, ...changes });
    const id = await acceptAnd(5_000, facts, { purpose });
    expect(actions()).toEqual(["send"]);
    expect(await outcomeOf(id)).toBeUndefined();
  });

  it("is not for a digest, nor while a chat gets many messages", async () => {
    const scene = await start(drawn, { pace: {}, digestOver: 3 });
    const { fixture, acceptAnd, actions, illustrated, outcomeOf } = scene;
    fixture.hears = false;
    for (let number = 0; number < 4; number += 1) await scene.accept();
    scene.engine.wake(["desk"]);
    await scene.clock.advance(5_000);
    expect(actions()).toEqual(["send"]);
    fixture.hears = true;
    let last = "";
    for (let number = 0; number < 6; number += 1) last = await acceptAnd(500);
    expect(illustrated()).toHaveLength(4);
    const reason = "more than 5 messages went there within a minute";
    expect(await outcomeOf(last)).toEqual({ result: "many", reason });
    await scene.clock.advance(minute);
    await acceptAnd(500);
    expect(illustrated()).toHaveLength(5);
  });

  const soon: Partial<KnownDestination> = unpaced;
  const nothing = "one value is known";
  const broken = "it could not be drawn; the log says more";
  it.each<[string, Illustrate, Partial<KnownDestination>, object, { holdsPicture?: false }?]>([
    ["it would shorten the text", drawn, soon, { result: "too_long" }, { holdsPicture: false }],
    ["there is nothing to draw", async () => ({ none: nothing }), soon, { result: "not_drawn", reason: nothing }],
    ["drawing fails", () => Promise.reject(new Error("out of paint")), soon, { result: "not_drawn", reason: broken }],
    ["the service hangs", () => new Promise(() => {}), soon, { result: "late", reason: "it was not drawn within 2 s" }],
    ["there is no room within three seconds", drawn, { pace: { perSecond: 0.2 } }, { result: "late" }],
  ])("leaves the text alone when %s", async (_why, illustrate, changes, outcome, { holdsPicture } = {}) => {
    const { accept, desk, clock, actions, outcomeOf, states } = await start(illustrate, changes);
    if (holdsPicture !== undefined) desk.holdsPicture = () => holdsPicture;
    const id = await accept();
    await clock.settle();
    expect(await states(id)).toEqual({ desk: "sent" });
    await clock.advance(10_000);
    expect(actions()).toEqual(["send"]);
    expect(await outcomeOf(id)).toMatchObject(outcome);
  });

  it("keeps no text waiting: one that comes during its call goes at once", async () => {
    const { accept, acceptAnd, desk, clock, actions, states } = await start();
    desk.script.push({ kind: "sent", ref: "1" });
    const added = desk.hang();
    await acceptAnd(200);
    expect(actions()).toEqual(["send", "illustrate 1"]);
    const second = await accept();
    await clock.settle();
    expect(await states(second)).toEqual({ desk: "sent" });
    added(refused);
    await clock.advance(1_000);
    expect(actions().slice(0, 3)).toEqual(["send", "illustrate 1", "send"]);
  });

  it("is a call that ends: one that hangs is given up", async () => {
    const { desk, acceptAnd, outcomeOf } = await start();
    desk.script.push({ kind: "sent", ref: "1" });
    desk.hang();
    const id = await acceptAnd(11_000);
    expect(await outcomeOf(id)).toEqual({ result: "refused", reason: "no answer within 5 s" });
  });

  it("is tried no more for ten minutes when three were refused, and texts go on", async () => {
    const { desk, clock, acceptAnd, illustrated, outcomeOf, states } = await start();
    desk.always = ({ action }) =>
      action === "illustrate" ? refused : { kind: "sent", ref: String(desk.calls.length) };
    const ids: string[] = [];
    for (let number = 0; number < 4; number += 1) ids.push(await acceptAnd(30_000));
    expect(illustrated()).toHaveLength(3);
    expect(await outcomeOf(ids[0] ?? "")).toEqual({ result: "refused", reason: "no pictures here" });
    expect(await outcomeOf(ids[3] ?? "")).toMatchObject({ result: "refused" });
    for (const id of ids) expect(await states(id)).toEqual({ desk: "sent" });
    await clock.jump(10 * minute);
    await acceptAnd(500);
    expect(illustrated()).toHaveLength(4);
  });

  it("tells the chat's texts how long they are to wait", async () => {
    const { desk, clock, acceptAnd, actions, states } = await start();
    desk.script.push({ kind: "sent", ref: "1" }, flood(7_000));
    await acceptAnd(500);
    const second = await acceptAnd(5_000);
    expect(await states(second)).toEqual({ desk: "queued" });
    await clock.advance(3_000);
    expect(await states(second)).toEqual({ desk: "sent" });
    expect(actions()).toEqual(["send", "illustrate 1", "send"]);
  });

  it("is not waited for at a stop", async () => {
    const { fixture, accept, clock, actions, states } = await start(drawn, {});
    const id = await accept();
    await clock.settle();
    await fixture.restart();
    expect(actions()).toEqual(["send"]);
    expect(await states(id)).toEqual({ desk: "sent" });
  });
});

describe("a message that changes while it gets its picture", () => {
  const firing = { alertKey: "tvl", title: "TVL fell" };
  const over = { ...firing, status: "resolved" as const };

  /** The picture of a first message is being added, and a second call with it is still to be answered. */
  async function startAdding(illustrate = drawn) {
    const scene = await start(illustrate);
    scene.desk.script.push({ kind: "sent", ref: "1" });
    const added = scene.desk.hang();
    await scene.acceptAnd(100, { ...firing, value: "9" });
    return { ...scene, added };
  }

  it("is given it with the text that it has by then", async () => {
    const drawing = later<void>();
    const { accept, acceptAnd, clock, desk, actions } = await start(async (alertId) => {
      await drawing.promise;
      return { png, alt: alertId };
    });
    await accept(firing);
    await clock.settle();
    const second = await acceptAnd(100, { ...firing, value: "7" });
    drawing.settle();
    await clock.advance(200);
    expect(actions()).toEqual(["send", "edit 1", "illustrate 1"]);
    expect(desk.texts[2]).toBe(desk.texts[1]);
    expect(desk.texts[2]).not.toBe(desk.texts[0]);
    // The one of the alert that the text is about.
    expect(desk.calls[2]?.illustration?.alt).toBe(second);
  });

  it("gets the picture of the alert that it comes to show, in place of the one before", async () => {
    const { acceptAnd, desk, actions, illustrated, outcomeOf } = await start(ofAlert);
    const first = await acceptAnd(200, { ...firing, value: "9" });
    const second = await acceptAnd(200, { ...firing, value: "7" });
    expect(actions()).toEqual(["send", "illustrate 1", "edit 1", "illustrate 1"]);
    expect(illustrated().map(({ illustration }) => illustration?.alt)).toEqual([first, second]);
    expect(desk.texts[3]).toBe(desk.texts[2]);
    expect(await outcomeOf(second)).toMatchObject({ result: "joined" });
    await acceptAnd(5_000, over);
    expect(actions().slice(4)).toEqual(["edit 1", "send"]);
  });

  it("gets it as well when it was changed while the one before was being added, and says the newest in the end", async () => {
    const { acceptAnd, clock, desk, added } = await startAdding(ofAlert);
    const second = await acceptAnd(100, { ...firing, value: "7" });
    await acceptAnd(100, over);
    added();
    await clock.advance(3_000);
    const ofFirst = desk.calls.filter(({ ref }) => ref === "1");
    expect(ofFirst.map(({ action }) => action)).toEqual(["illustrate", "edit", "edit", "edit", "illustrate"]);
    expect(ofFirst.at(-1)?.illustration?.alt).toBe(second);
    // That it is over.
    expect(new Set([2, 3, 4].map((index) => ofFirst[index]?.text)).size).toBe(1);
    expect(ofFirst[1]?.text).not.toBe(ofFirst[2]?.text);
  });

  it("has its newest text written once more when the two calls have crossed", async () => {
    const { acceptAnd, clock, desk, actions, added } = await startAdding();
    await acceptAnd(100, over);
    expect(actions()).toEqual(["send", "illustrate 1", "edit 1", "send"]);
    added();
    await clock.advance(1_000);
    expect(actions()).toEqual(["send", "illustrate 1", "edit 1", "send", "edit 1"]);
    expect(desk.texts[4]).toBe(desk.texts[2]);
  });

  it("is answered instead when a picture on its way could not stand under the new text", async () => {
    const { acceptAnd, clock, desk, actions, states, added } = await startAdding();
    desk.holdsPicture = () => false;
    const id = await acceptAnd(100, over);
    added();
    await clock.advance(1_000);
    expect(actions()).toEqual(["send", "illustrate 1", "send"]);
    expect(desk.calls[2]?.context.replyTo).toBe("1");
    expect(await states(id)).toEqual({ desk: "sent" });
  });
});
