import { describe, expect, it } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import type { Illustrate } from "../../src/core/ports/illustration.ts";
import { createPictureDesk } from "../../src/delivery/memory/picture-desk.ts";
import { pngOf } from "../support/png.ts";
import { createTestClock } from "../support/test-clock.ts";

const illustration = { png: pngOf(8, 4), alt: "TVL" };

function openDesk(illustrate: Illustrate = async () => illustration) {
  const clock = createTestClock();
  const asked: string[] = [];
  const desk = createPictureDesk({
    illustrate(alertId, options) {
      asked.push(alertId);
      return illustrate(alertId, options);
    },
    clock,
    log: silentLog,
  });
  return { desk, clock, asked };
}

describe("what is drawn for all chats together", () => {
  it("is 20 pictures a minute and 200 an hour at most", async () => {
    const { desk, clock, asked } = openDesk();
    const drawMany = async (count: number) => {
      for (let number = 0; number < count; number += 1) await desk.draw(`${clock.now()}-${number}`, "UTC");
    };
    await drawMany(60);
    expect(asked).toHaveLength(20);
    expect(await desk.draw("one more", "UTC")).toEqual({
      result: "many",
      reason: "20 pictures were drawn within the minute before",
    });
    for (let minute = 0; minute < 12; minute += 1) {
      await clock.jump(61_000);
      await drawMany(60);
    }
    expect(asked).toHaveLength(200);
    await clock.jump(61 * 60_000);
    expect(await desk.draw("one more", "UTC")).toEqual({ illustration });
  });

  it("goes on when the clock was set back by a day", async () => {
    const { desk, clock } = openDesk();
    for (let number = 0; number < 20; number += 1) await desk.draw(String(number), "UTC");
    await clock.set(-24 * 60 * 60_000);
    expect(await desk.draw("one more", "UTC")).toEqual({ illustration });
  });

  it("is each alert once for a zone, and once more when it is asked for later", async () => {
    const { desk, clock, asked } = openDesk();
    await Promise.all([desk.draw("a", "UTC"), desk.draw("a", "UTC"), desk.draw("a", "Europe/Zurich")]);
    expect(asked).toEqual(["a", "a"]);
    await clock.jump(11_000);
    await desk.draw("a", "UTC");
    expect(asked).toHaveLength(3);
  });

  it("is four at a time, each of which ends after two seconds and is told so", async () => {
    const signals: AbortSignal[] = [];
    const { desk, clock } = openDesk((_id, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    });
    const drawings = ["a", "b", "c", "d"].map((id) => desk.draw(id, "UTC"));
    expect(await desk.draw("e", "UTC")).toEqual({ result: "many", reason: "4 other pictures were being drawn" });
    await clock.advance(2_000);
    const late = { result: "late", reason: "it was not drawn within 2 s" };
    expect(await Promise.all(drawings)).toEqual([late, late, late, late]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true]);
    void desk.draw("f", "UTC");
    expect(signals).toHaveLength(5);
  });
});
