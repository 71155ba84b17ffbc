import { describe, expect, it, onTestFinished } from "vitest";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { CommonStates } from "../../src/core/ports/watch.ts";
import { Wishes } from "../../src/delivery/wishes.ts";
import { createTestClock } from "../support/test-clock.ts";

/** Relays on one store: one leaves wishes, two others think that they run the destination. */
function openScene() {
  const clock = createTestClock();
  const newId = createIdSource(clock.now);
  const failing = new Set<"look" | "save" | "take" | "do">();
  let state: unknown;
  let saved: string | undefined;
  const done: string[] = [];
  const storeOf = (isHolder: boolean): CommonStates => {
    const answer = async <T>(given: () => T) => {
      if (isHolder ? failing.has("take") : failing.has("look")) throw new Error("the database does not answer");
      return given();
    };
    return {
      loadWatchState: () => answer(() => structuredClone(state)),
      changeWatchState: (watch, from) =>
        answer(() => {
          if (JSON.stringify(from) !== JSON.stringify(state)) return false;
          state = watch.state;
          return true;
        }),
    };
  };
  const open = (isHolder: boolean) => {
    const wishes = new Wishes({
      store: storeOf(isHolder),
      runs: () => isHolder,
      async fulfil({ by }) {
        if (failing.has("do")) throw new Error("The database is read-only.");
        done.push(by ?? "");
        while (failing.has("save")) await clock.sleep(1_000);
        saved = by ?? undefined;
      },
      clock,
      newId,
      log: silentLog,
    });
    const stop = new AbortController();
    const running = wishes.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await clock.advance(10_000);
      await running;
    });
    return wishes;
  };
  const [, , asker] = [open(true), open(true), open(false)];
  return {
    clock,
    failing,
    done,
    /** What came of a wish to pause it, and how long that took. */
    leave() {
      const leftAt = clock.now();
      const told: { seen?: string; error?: { code: string; message: string; hint?: string }; afterMs?: number } = {};
      const look = async () => {
        if (failing.has("look")) throw new Error("the database does not answer");
        return saved;
      };
      asker
        .leave({ destination: "chat", by: "page" }, look)
        .then(
          (seen) => Object.assign(told, { seen }),
          (error) => Object.assign(told, { error }),
        )
        .finally(() => Object.assign(told, { afterMs: clock.now() - leftAt }));
      return told;
    },
  };
}

describe("a wish for a destination that another relay runs", () => {
  it("is fulfilled once, within a second, and seen at once", async () => {
    const { clock, done, leave } = openScene();
    const told = leave();
    await clock.advance(5_000);
    expect([told.seen, done]).toEqual(["page", ["page"]]);
    expect(told.afterMs).toBeLessThanOrEqual(1_100);
  });

  it("is waited for 15 s at most when nothing is saved, and nobody is told that it was not done", async () => {
    const { clock, failing, leave } = openScene();
    failing.add("save");
    const told = leave();
    await clock.advance(14_000);
    expect(told).toEqual({});
    await clock.advance(2_000);
    expect(told.error).toMatchObject({
      code: "store_unavailable",
      message:
        "The relay that runs the destination chat has not answered within 15 s: it is unknown whether it has done it.",
      hint: expect.stringContaining("The page Destinations"),
    });
    expect(told.afterMs).toBeLessThanOrEqual(15_000);
  });

  it("is answered with why its holder could not do it, once, and that is no wish to another", async () => {
    const { clock, failing, done, leave } = openScene();
    failing.add("do");
    const told = leave();
    await clock.advance(3_000);
    expect(told.error).toMatchObject({
      code: "store_unavailable",
      message: "The relay that runs the destination chat could not do it: The database is read-only.",
    });
    expect(told.afterMs).toBeLessThanOrEqual(1_200);
    failing.clear();
    await clock.advance(100_000);
    expect(done).toEqual([]);
    const again = leave();
    await clock.advance(2_000);
    expect(again).toMatchObject({ seen: "page" });
  });

  it("is seen as soon as what came of it can be saved", async () => {
    const { clock, failing, leave } = openScene();
    failing.add("save");
    const told = leave();
    await clock.advance(7_000);
    failing.clear();
    await clock.advance(3_000);
    expect(told).toMatchObject({ seen: "page" });
  });

  it("is waited for while nobody can look, and is unknown when that lasts", async () => {
    const { clock, failing, leave } = openScene();
    failing.add("save");
    const first = leave();
    await clock.advance(1_000);
    failing.clear();
    failing.add("look");
    await clock.advance(7_000);
    failing.clear();
    await clock.advance(2_000);
    expect(first).toMatchObject({ seen: "page" });

    const scene = openScene();
    scene.failing.add("save");
    const second = scene.leave();
    await scene.clock.advance(1_000);
    scene.failing.add("look");
    await scene.clock.advance(16_000);
    expect(second.error?.message).toContain("it is unknown whether");
    expect(second.afterMs).toBeLessThanOrEqual(15_000);
  });

  it("is not fulfilled when nobody took it within ten seconds, then or later, and people are told so", async () => {
    const { clock, failing, done, leave } = openScene();
    failing.add("take");
    const told = leave();
    await clock.advance(12_000);
    expect(told.error).toMatchObject({
      code: "conflict",
      message: "No relay that runs the destination chat answers, so nothing was changed.",
    });
    failing.clear();
    await clock.advance(100_000);
    expect(done).toEqual([]);
  });

  it("is not fulfilled too late where nobody can take it back, and is gone after a while", async () => {
    const { clock, failing, done, leave } = openScene();
    failing.add("take");
    const told = leave();
    await clock.advance(2_000);
    failing.add("look");
    await clock.advance(14_000);
    expect(told.error?.code).toBe("store_unavailable");
    failing.clear();
    await clock.advance(100_000);
    expect(done).toEqual([]);
  });
});
