import { describe, expect, it, onTestFinished } from "vitest";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { RelayRequest, RelayRequests, RequestAnswer } from "../../src/core/ports/requests.ts";
import { HolderRequests } from "../../src/delivery/holder-requests.ts";
import { createTestClock, type TestClock } from "../support/test-clock.ts";

const lane = { group: "destination:chat", fence: 1 };
const howToSee = "The page shows it.";

/** The requests of a store, in memory, with what it fails at. */
function createDesk() {
  const rows = new Map<string, { request: RelayRequest; isTaken?: boolean; answer?: RequestAnswer }>();
  const desk = {
    failing: new Set<keyof RelayRequests>(),
    async putRequest(request: RelayRequest) {
      rows.set(request.id, { request });
    },
    async takeRequests() {
      const open = [...rows.values()].filter(({ isTaken }) => !isTaken);
      for (const row of open) row.isTaken = true;
      return open.map(({ request }) => request);
    },
    async answerRequest(id: string, answer: RequestAnswer) {
      Object.assign(rows.get(id) ?? {}, { answer });
    },
    async lookAtRequest(id: string) {
      const row = rows.get(id);
      return row?.answer ?? (row === undefined ? "lost" : row.isTaken ? "taken" : "waiting");
    },
    withdrawRequest: async (id: string) => !rows.get(id)?.isTaken && rows.delete(id),
  } satisfies RelayRequests & Record<string, unknown>;
  return new Proxy(desk, {
    get(target, name: keyof RelayRequests) {
      if (!target.failing.has(name)) return target[name];
      return async () => {
        throw new Error("the database does not answer");
      };
    },
  });
}

interface Scene {
  clock: TestClock;
  desk: ReturnType<typeof createDesk>;
  holder: HolderRequests;
  asker: HolderRequests;
}

function openScene(): Scene {
  const clock = createTestClock();
  const desk = createDesk();
  const [holder, asker] = [[lane], []].map((lanes) => {
    const deps = { store: desk, lanes: () => lanes, clock, newId: createIdSource(clock.now), log: silentLog };
    const requests = new HolderRequests(deps);
    const stop = new AbortController();
    const running = requests.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await clock.advance(10_000);
      await running;
    });
    return requests;
  }) as [HolderRequests, HolderRequests];
  return { clock, desk, holder, asker };
}

/** What came of asking the holder to do it, and how long that took. */
function ask({ asker, clock }: Scene) {
  const askedAt = clock.now();
  const told: { answer?: unknown; error?: { code: string; message: string; hint?: string }; afterMs?: number } = {};
  asker
    .ask(lane.group, "pause", {}, { subject: "the destination chat", howToSee })
    .then(
      (answer) => Object.assign(told, { answer }),
      (error) => Object.assign(told, { error }),
    )
    .finally(() => Object.assign(told, { afterMs: clock.now() - askedAt }));
  return told;
}

describe("a request to the relay that holds a lane", () => {
  it("is done once, and answered", async () => {
    const scene = openScene();
    let done = 0;
    scene.holder.answer("pause", async () => {
      done += 1;
      return "paused";
    });
    const told = ask(scene);
    await scene.clock.advance(5_000);
    expect([told.answer, done]).toEqual(["paused", 1]);
  });

  it("is waited for 15 s at most when its answer cannot be written, and nobody is told that it was not done", async () => {
    const scene = openScene();
    const { clock, desk, holder } = scene;
    holder.answer("pause", async () => "paused");
    desk.failing.add("answerRequest");
    const told = ask(scene);
    await clock.advance(14_000);
    expect(told).toEqual({});
    await clock.advance(2_000);
    expect(told.error).toMatchObject({
      code: "store_unavailable",
      message:
        "The relay that runs the destination chat has not answered within 15 s: it is unknown whether it has done it.",
      hint: howToSee,
    });
    expect(told.afterMs).toBeLessThanOrEqual(15_000);
  });

  it("is answered as soon as the answer can be written", async () => {
    const scene = openScene();
    const { clock, desk, holder } = scene;
    holder.answer("pause", async () => "paused");
    desk.failing.add("answerRequest");
    const told = ask(scene);
    await clock.advance(7_000);
    desk.failing.clear();
    await clock.advance(3_000);
    expect(told).toMatchObject({ answer: "paused" });
  });

  it("is waited for while the asker cannot look at it, and is unknown when that lasts", async () => {
    const scene = openScene();
    const { clock, desk, holder } = scene;
    holder.answer("pause", async () => "paused");
    desk.failing.add("lookAtRequest");
    const first = ask(scene);
    await clock.advance(7_000);
    desk.failing.clear();
    await clock.advance(2_000);
    expect(first).toMatchObject({ answer: "paused" });
    desk.failing.add("lookAtRequest").add("withdrawRequest");
    const second = ask(scene);
    await clock.advance(16_000);
    expect(second.error?.message).toContain("it is unknown whether");
    expect(second.afterMs).toBeLessThanOrEqual(15_000);
  });

  it("is not done when nobody took it within ten seconds, and its asker is told so", async () => {
    const scene = openScene();
    scene.desk.failing.add("takeRequests");
    const told = ask(scene);
    await scene.clock.advance(12_000);
    expect(told.error).toMatchObject({
      code: "conflict",
      message: "No relay that runs the destination chat answers, so nothing was changed.",
    });
  });
});
