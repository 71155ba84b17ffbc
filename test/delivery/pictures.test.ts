import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { Outcome } from "../../src/core/delivery.ts";
import type { Illustrate } from "../../src/core/ports/illustration.ts";
import type { KnownDestination } from "../support/known-vendors.ts";
import { pngOf } from "../support/png.ts";
import { type Call, channelOf, type EngineFixture, startFixture, telegramTo } from "./engine-fixture.ts";

const png = pngOf(800, 400);
const drawn: Illustrate = async () => ({ png, alt: "TVL of USDC" });
const desk = (changes: Partial<KnownDestination> = {}) => telegramTo("desk", { chart: true, ...changes });
const unpaced = { pace: {}, digestOver: 1_000 };
const refused: Outcome = { kind: "rejected", scope: "message", reason: "message_refused", detail: "no pictures here" };

const actionsOf = (fixture: EngineFixture, name = "desk") =>
  channelOf(fixture, name).calls.map(({ action, ref }) => (ref === undefined ? action : `${action} ${ref}`));

async function outcomeOf(fixture: EngineFixture, id: string) {
  const { deliveries } = await fixture.detail(id);
  return fixture.pictures.get(deliveries[0]?.id ?? "");
}

/** A promise that the test ends. */
function later<T>(): { promise: Promise<T>; settle(value: T): void } {
  let settle: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

describe("the picture of a message", () => {
  it("joins it once it was sent, when its chat could take another text", async () => {
    const fixture = await startFixture([desk()], undefined, async () => ({ png, alt: "TVL", line: "24 h −3.2 %" }));
    const id = await fixture.accept({ title: "TVL fell" });
    await fixture.clock.advance(1_000);
    expect(actionsOf(fixture)).toEqual(["send"]);
    expect(await fixture.states(id)).toEqual({ desk: "sent" });
    await fixture.clock.advance(300);
    const [text, picture] = channelOf(fixture, "desk").calls as [Call, Call];
    expect(picture).toMatchObject({
      action: "illustrate",
      ref: "1",
      text: text.text,
      illustration: { png, line: "24 h −3.2 %" },
      context: { recipient: text.context.recipient, alertId: id },
    });
    expect(await outcomeOf(fixture, id)).toMatchObject({ result: "joined" });
    expect((await outcomeOf(fixture, id))?.afterMs).toBeLessThan(3_000);
  });

  it("is drawn once for all chats of a zone", async () => {
    const asked: string[] = [];
    const destinations = ["desk", "night"].map((name) => telegramTo(name, { chart: true, ...unpaced }));
    const fixture = await startFixture(destinations, undefined, async (alertId, { timeZone }) => {
      asked.push(`${alertId} ${timeZone}`);
      return { png, alt: "" };
    });
    const id = await fixture.accept();
    await fixture.clock.advance(500);
    expect(asked).toEqual([`${id} UTC`]);
    expect([actionsOf(fixture), actionsOf(fixture, "night")]).toEqual([
      ["send", "illustrate 1"],
      ["send", "illustrate 1"],
    ]);
  });

  it("comes where it is wanted alone", async () => {
    const fixture = await startFixture([desk({ chart: false, ...unpaced })], undefined, drawn);
    const id = await fixture.accept();
    await fixture.clock.advance(5_000);
    expect(actionsOf(fixture)).toEqual(["send"]);
    expect(await outcomeOf(fixture, id)).toBeUndefined();
  });

  it.each<[string, Partial<AlertFacts>, "alert" | "notice" | "test"]>([
    ["an alert that is over", { status: "resolved" }, "alert"],
    ["a notice", {}, "notice"],
    ["a test", {}, "test"],
  ])("is not for %s", async (_what, facts, purpose) => {
    const fixture = await startFixture([desk(unpaced)], undefined, drawn);
    const id = await fixture.accept(facts, { purpose });
    await fixture.clock.advance(5_000);
    expect(actionsOf(fixture)).toEqual(["send"]);
    expect(await outcomeOf(fixture, id)).toBeUndefined();
  });

  it("is not for a digest, nor while a chat gets many messages", async () => {
    const fixture = await startFixture([desk({ pace: {}, digestOver: 3 })], undefined, drawn);
    fixture.hears = false;
    for (let number = 0; number < 4; number += 1) await fixture.accept();
    fixture.engine.wake(["desk"]);
    await fixture.clock.advance(5_000);
    expect(actionsOf(fixture)).toEqual(["send"]);
    fixture.hears = true;
    let last = "";
    for (let number = 0; number < 6; number += 1) {
      last = await fixture.accept();
      await fixture.clock.advance(500);
    }
    expect(actionsOf(fixture).filter((action) => action !== "send")).toHaveLength(4);
    expect(await outcomeOf(fixture, last)).toEqual({
      result: "many",
      reason: "more than 5 messages went there within a minute",
    });
    await fixture.clock.advance(60_000);
    await fixture.accept();
    await fixture.clock.advance(500);
    expect(actionsOf(fixture).filter((action) => action !== "send")).toHaveLength(5);
  });

  it("is not for a text that it would shorten", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, drawn);
    channelOf(fixture, "desk").holdsPicture = () => false;
    const id = await fixture.accept();
    await fixture.clock.advance(5_000);
    expect(actionsOf(fixture)).toEqual(["send"]);
    expect(await outcomeOf(fixture, id)).toMatchObject({ result: "too_long" });
  });

  it.each<[string, Illustrate, object]>([
    ["there is nothing to draw", async () => ({ none: "one value is known" }), { reason: "one value is known" }],
    [
      "drawing fails",
      async () => {
        throw new Error("out of paint");
      },
      { reason: "it could not be drawn; the log says more" },
    ],
    ["the service hangs", () => new Promise(() => {}), { result: "late", reason: "it was not drawn within 2 s" }],
  ])("leaves the text alone when %s", async (_why, illustrate, outcome) => {
    const fixture = await startFixture([desk(unpaced)], undefined, illustrate);
    const id = await fixture.accept();
    await fixture.clock.settle();
    expect(await fixture.states(id)).toEqual({ desk: "sent" });
    await fixture.clock.advance(10_000);
    expect(actionsOf(fixture)).toEqual(["send"]);
    expect(await outcomeOf(fixture, id)).toMatchObject({ result: "not_drawn", ...outcome });
  });

  it("gives way to texts, and is given up when there is no room within three seconds", async () => {
    const fixture = await startFixture([desk({ pace: { perSecond: 0.2 } })], undefined, drawn);
    const id = await fixture.accept();
    await fixture.clock.advance(4_000);
    expect(actionsOf(fixture)).toEqual(["send"]);
    expect(await outcomeOf(fixture, id)).toMatchObject({ result: "late" });
  });

  it("keeps no text waiting: one that comes during its call goes at once", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, drawn);
    const adding = later<Outcome>();
    channelOf(fixture, "desk").script = [{ kind: "sent", ref: "1" }, adding.promise];
    await fixture.accept();
    await fixture.clock.advance(200);
    expect(actionsOf(fixture)).toEqual(["send", "illustrate 1"]);
    const second = await fixture.accept();
    await fixture.clock.settle();
    expect(await fixture.states(second)).toEqual({ desk: "sent" });
    adding.settle(refused);
    await fixture.clock.advance(1_000);
    expect(actionsOf(fixture).slice(0, 3)).toEqual(["send", "illustrate 1", "send"]);
  });

  it("is a call that ends: one that hangs is given up", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, drawn);
    channelOf(fixture, "desk").script = [{ kind: "sent", ref: "1" }, new Promise<Outcome>(() => {})];
    const id = await fixture.accept();
    await fixture.clock.advance(11_000);
    expect(await outcomeOf(fixture, id)).toEqual({ result: "refused", reason: "no answer within 5 s" });
  });

  it("is tried no more for ten minutes when three were refused, and texts go on", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, drawn);
    channelOf(fixture, "desk").always = ({ action }) =>
      action === "illustrate" ? refused : { kind: "sent", ref: String(channelOf(fixture, "desk").calls.length) };
    const ids: string[] = [];
    for (let number = 0; number < 4; number += 1) {
      ids.push(await fixture.accept());
      await fixture.clock.advance(30_000);
    }
    expect(actionsOf(fixture).filter((action) => action !== "send")).toHaveLength(3);
    expect(await outcomeOf(fixture, ids[0] ?? "")).toEqual({ result: "refused", reason: "no pictures here" });
    expect(await outcomeOf(fixture, ids[3] ?? "")).toMatchObject({ result: "refused" });
    for (const id of ids) expect(await fixture.states(id)).toEqual({ desk: "sent" });
    await fixture.clock.advance(10 * 60_000);
    await fixture.accept();
    await fixture.clock.advance(500);
    expect(actionsOf(fixture).filter((action) => action !== "send")).toHaveLength(4);
  });

  it("tells the chat's texts how long they are to wait", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, drawn);
    channelOf(fixture, "desk").script = [
      { kind: "sent", ref: "1" },
      { kind: "retry", reason: "rate_limited", detail: "flood", waitMs: 7_000, countsAsAttempt: false },
    ];
    await fixture.accept();
    await fixture.clock.advance(500);
    const second = await fixture.accept();
    await fixture.clock.advance(5_000);
    expect(await fixture.states(second)).toEqual({ desk: "queued" });
    await fixture.clock.advance(3_000);
    expect(await fixture.states(second)).toEqual({ desk: "sent" });
    expect(actionsOf(fixture)).toEqual(["send", "illustrate 1", "send"]);
  });

  it("costs a storm of a thousand no text, though every picture is refused", async () => {
    let asked = 0;
    const fixture = await startFixture([desk(unpaced)], undefined, async () => {
      asked += 1;
      return { png, alt: "" };
    });
    channelOf(fixture, "desk").always = ({ action, context }) =>
      action === "illustrate" ? refused : { kind: "sent", ref: context.deliveryId };
    fixture.routesByEngine = true;
    const ids: string[] = [];
    for (let number = 0; number < 1_000; number += 1) ids.push(await fixture.accept());
    const countSent = async () => (await fixture.store.countByDestination())[0]?.counts.sent ?? 0;
    for (let turn = 0; turn < 1_000 && (await countSent()) < ids.length; turn += 1) await fixture.clock.advance(100);
    const sent = channelOf(fixture, "desk").calls.filter(({ action }) => action === "send");
    expect(sent.map(({ context }) => context.alertId).sort()).toEqual([...ids].sort());
    expect(asked).toBeLessThanOrEqual(20);
    expect(actionsOf(fixture).filter((action) => action !== "send").length).toBeLessThanOrEqual(5);
  });

  it("is lost by a kill, and the text is not sent again", async () => {
    const drawing = later<{ none: string }>();
    const fixture = await startFixture([desk(unpaced)], undefined, () => drawing.promise);
    const id = await fixture.accept();
    await fixture.clock.settle();
    await fixture.kill();
    drawing.settle({ none: "too late" });
    await fixture.clock.advance(200_000);
    expect(actionsOf(fixture)).toEqual(["send"]);
    expect(await fixture.states(id)).toEqual({ desk: "sent" });
  });

  it("is not waited for at a stop", async () => {
    const fixture = await startFixture([desk()], undefined, drawn);
    const id = await fixture.accept();
    await fixture.clock.settle();
    await fixture.restart();
    expect(actionsOf(fixture)).toEqual(["send"]);
    expect(await fixture.states(id)).toEqual({ desk: "sent" });
  });
});

describe("a message that changes while it gets its picture", () => {
  const firing = { alertKey: "tvl", title: "TVL fell" };
  const over = { ...firing, status: "resolved" as const };

  it("is given it with the text that it has by then", async () => {
    const drawing = later<void>();
    const fixture = await startFixture([desk(unpaced)], undefined, async (alertId) => {
      await drawing.promise;
      return { png, alt: alertId };
    });
    await fixture.accept(firing);
    await fixture.clock.settle();
    const second = await fixture.accept({ ...firing, value: "7" } as Partial<AlertFacts>);
    await fixture.clock.advance(100);
    drawing.settle();
    await fixture.clock.advance(200);
    const { calls } = channelOf(fixture, "desk");
    expect(actionsOf(fixture)).toEqual(["send", "edit 1", "illustrate 1"]);
    expect(calls[2]?.text).toBe(calls[1]?.text);
    expect(calls[2]?.text).not.toBe(calls[0]?.text);
    // The one of the alert that the text is about.
    expect(calls[2]?.illustration?.alt).toBe(second);
  });

  it("gets the picture of the alert that it comes to show, in place of the one before", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, async (alertId) => ({ png, alt: alertId }));
    const first = await fixture.accept({ ...firing, value: "9" } as Partial<AlertFacts>);
    await fixture.clock.advance(200);
    const second = await fixture.accept({ ...firing, value: "7" } as Partial<AlertFacts>);
    await fixture.clock.advance(200);
    const { calls } = channelOf(fixture, "desk");
    expect(actionsOf(fixture)).toEqual(["send", "illustrate 1", "edit 1", "illustrate 1"]);
    expect([calls[1], calls[3]].map((call) => call?.illustration?.alt)).toEqual([first, second]);
    expect(calls[3]?.text).toBe(calls[2]?.text);
    expect(await outcomeOf(fixture, second)).toMatchObject({ result: "joined" });
    await fixture.accept(over);
    await fixture.clock.advance(5_000);
    expect(actionsOf(fixture).slice(4)).toEqual(["edit 1", "send"]);
  });

  it("gets it as well when it was changed while the one before was being added, and says the newest in the end", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, async (alertId) => ({ png, alt: alertId }));
    const adding = later<Outcome>();
    const channel = channelOf(fixture, "desk");
    channel.script = [{ kind: "sent", ref: "1" }, adding.promise];
    await fixture.accept({ ...firing, value: "9" } as Partial<AlertFacts>);
    await fixture.clock.advance(100);
    const second = await fixture.accept({ ...firing, value: "7" } as Partial<AlertFacts>);
    await fixture.clock.advance(100);
    await fixture.accept(over);
    await fixture.clock.advance(100);
    adding.settle({ kind: "sent", ref: "1" });
    await fixture.clock.advance(3_000);
    const ofFirst = channel.calls.filter(({ ref }) => ref === "1");
    expect(ofFirst.map(({ action }) => action)).toEqual(["illustrate", "edit", "edit", "edit", "illustrate"]);
    expect(ofFirst.at(-1)?.illustration?.alt).toBe(second);
    // That it is over.
    expect(new Set([2, 3, 4].map((index) => ofFirst[index]?.text)).size).toBe(1);
    expect(ofFirst[1]?.text).not.toBe(ofFirst[2]?.text);
  });

  it("has its newest text written once more when the two calls have crossed", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, drawn);
    const adding = later<Outcome>();
    channelOf(fixture, "desk").script = [{ kind: "sent", ref: "1" }, adding.promise];
    await fixture.accept(firing);
    await fixture.clock.advance(100);
    await fixture.accept(over);
    await fixture.clock.advance(100);
    expect(actionsOf(fixture)).toEqual(["send", "illustrate 1", "edit 1", "send"]);
    adding.settle({ kind: "sent", ref: "1" });
    await fixture.clock.advance(1_000);
    const { calls } = channelOf(fixture, "desk");
    expect(actionsOf(fixture)).toEqual(["send", "illustrate 1", "edit 1", "send", "edit 1"]);
    expect(calls[4]?.text).toBe(calls[2]?.text);
  });

  it("is answered instead when a picture on its way could not stand under the new text", async () => {
    const fixture = await startFixture([desk(unpaced)], undefined, drawn);
    const adding = later<Outcome>();
    const channel = channelOf(fixture, "desk");
    channel.script = [{ kind: "sent", ref: "1" }, adding.promise];
    await fixture.accept(firing);
    await fixture.clock.advance(100);
    channel.holdsPicture = () => false;
    const id = await fixture.accept(over);
    await fixture.clock.advance(100);
    adding.settle({ kind: "sent", ref: "1" });
    await fixture.clock.advance(1_000);
    expect(actionsOf(fixture)).toEqual(["send", "illustrate 1", "send"]);
    expect(channel.calls[2]?.context.replyTo).toBe("1");
    expect(await fixture.states(id)).toEqual({ desk: "sent" });
  });
});
