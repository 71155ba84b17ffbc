import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { Outcome } from "../../src/core/delivery.ts";
import type { Illustrate } from "../../src/core/ports/illustration.ts";
import type { KnownDestination } from "../support/known-vendors.ts";
import { pngOf } from "../support/png.ts";
import { later, type Step, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, minute } from "./outcomes.ts";
import { onChannel, tellScenesOf } from "./tell-scene.ts";

const png = pngOf(800, 400);
const drawn: Illustrate = async () => ({ png, alt: "TVL of USDC" });
const ofAlert: Illustrate = async (alertId) => ({ png, alt: alertId });
const sent: Outcome = { kind: "sent", ref: "1" };
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

  const each = (count: number, ms: number): Step[] => Array.from({ length: count }, (): Step[] => [{}, ms]).flat();
  const heard =
    (isTold: boolean): Step =>
    (fixture) => {
      fixture.hears = isTold;
      if (isTold) fixture.engine.wake(["desk"]);
    };
  tellScenesOf(
    [telegramTo("desk", { chart: true, pace: {}, digestOver: 3 })],
    undefined,
    drawn,
  )([
    ["is not for a digest", [heard(false), {}, {}, {}, {}, heard(true), 5_000]],
    ["is not for more than five messages a minute", [...each(7, 500), minute, {}, 500]],
  ]);

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

  const refusesPictures = onChannel("desk", (desk) => {
    desk.always = ({ action }) =>
      action === "illustrate" ? refused : { kind: "sent", ref: String(desk.calls.length) };
  });
  tellScenesOf(
    [telegramTo("desk", { chart: true, ...unpaced })],
    undefined,
    drawn,
  )([
    ["keeps no text waiting that comes during its call", [sent, "hang", {}, 200, {}, 0, "answer", 1_000]],
    ["is a call that ends: one that hangs is given up", [sent, "hang", {}, 11_000]],
    [
      "is tried no more for ten minutes when three were refused, and texts go on",
      [refusesPictures, ...each(4, 30_000), ({ clock }) => clock.jump(10 * minute), {}, 500],
    ],
    ["tells the chat's texts how long they are to wait", [sent, flood(7_000), {}, 500, {}, 8_000]],
  ]);
  tellScenesOf(
    [telegramTo("desk", { chart: true })],
    undefined,
    drawn,
  )([["is not waited for at a stop", [{}, 0, "restart"]]]);
});

describe("a message that changes while it gets its picture", () => {
  const firing = { alertKey: "tvl", title: "TVL fell" };
  const over = { ...firing, status: "resolved" as const };
  const [first, second] = [
    { ...firing, value: "9" },
    { ...firing, value: "7" },
  ];
  const tight = onChannel("desk", (desk) => {
    desk.holdsPicture = () => false;
  });
  tellScenesOf(
    [telegramTo("desk", { chart: true, ...unpaced })],
    undefined,
    ofAlert,
  )([
    [
      "gets the picture of the alert that it comes to show, in place of the one before, and none when it is over",
      [first, 200, second, 200, over, 5_000],
    ],
    [
      "gets it as well when it was changed while the one before was being added, and says the newest in the end",
      [sent, "hang", first, 100, second, 100, over, 100, "answer", 3_000],
    ],
    [
      "has its newest text written once more when the two calls have crossed",
      [sent, "hang", first, 100, over, 100, "answer", 1_000],
    ],
    [
      "is answered where a picture on its way could not stand under the new text",
      [sent, "hang", first, 100, tight, over, 100, "answer", 1_000],
    ],
  ]);

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
});
