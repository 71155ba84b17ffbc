import { expect, it, onTestFinished } from "vitest";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { CommonStates } from "../../src/core/ports/watch.ts";
import { Wishes } from "../../src/delivery/wishes.ts";
import { createTestClock } from "../support/test-clock.ts";

/** Relays on one store: one leaves wishes, two others think that they run the destination. */
function openScene() {
  const clock = createTestClock();
  const newId = createIdSource(clock.now);
  const failing = new Set<Fault>();
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

type Fault = "look" | "save" | "take" | "do";
/** Seconds pass, this fails from now on, or (`well`) all is well again. */
type Step = number | Fault | "well";

const unknown = {
  code: "store_unavailable",
  message:
    "The relay that runs the destination chat has not answered within 15 s: it is unknown whether it has done it.",
  hint: expect.stringContaining("The page Destinations"),
};
const refused = {
  code: "store_unavailable",
  message: "The relay that runs the destination chat could not do it: The database is read-only.",
};
const nobody = {
  code: "conflict",
  message: "No relay that runs the destination chat answers, so nothing was changed.",
};

it.each<[string, Step[], object, { withinMs?: number; done?: string[] }]>([
  ["is fulfilled once, within a second, and seen at once", [5], { seen: "page" }, { withinMs: 1_100, done: ["page"] }],
  ["is waited for when nothing is saved, and nobody is told that it was not done", ["save", 14], {}, {}],
  ["is unknown when nothing is saved for 15 s", ["save", 16], { error: unknown }, { withinMs: 15_000 }],
  ["is answered with why its holder could not do it", ["do", 3], { error: refused }, { withinMs: 1_200 }],
  ["is no wish to another when one could not do it", ["do", 3, "well", 100], { error: refused }, { done: [] }],
  ["is seen as soon as what came of it can be saved", ["save", 7, "well", 3], { seen: "page" }, {}],
  ["is waited for while nobody can look", ["save", 1, "well", "look", 7, "well", 2], { seen: "page" }, {}],
  ["is unknown when nobody can look for long", ["save", 1, "look", 16], { error: unknown }, { withinMs: 15_000 }],
  [
    "is not fulfilled when nobody took it within ten seconds, then or later, and people are told so",
    ["take", 12, "well", 100],
    { error: nobody },
    { withinMs: 12_000, done: [] },
  ],
  [
    "is not fulfilled too late where nobody can take it back, and is gone after a while",
    ["take", 2, "look", 14, "well", 100],
    { error: { code: "store_unavailable" } },
    { withinMs: 16_000, done: [] },
  ],
])("a wish for a destination that another relay runs %s", async (_what, steps, expected, { withinMs, done: all }) => {
  const { clock, failing, done, leave } = openScene();
  const early = steps.findIndex((step) => typeof step === "number");
  const take = async (step: Step) => {
    if (typeof step === "number") await clock.advance(step * 1_000);
    else if (step === "well") failing.clear();
    else failing.add(step);
  };
  for (const step of steps.slice(0, early)) await take(step);
  const told = leave();
  for (const step of steps.slice(early)) await take(step);
  if (Object.keys(expected).length === 0) expect(told).toEqual({});
  else expect(told).toMatchObject(expected);
  if (withinMs !== undefined) expect(told.afterMs).toBeLessThanOrEqual(withinMs);
  if (all !== undefined) expect(done).toEqual(all);
});

it("a wish is fulfilled though its holder could not do the one before", async () => {
  const { clock, failing, leave } = openScene();
  failing.add("do");
  leave();
  await clock.advance(3_000);
  failing.clear();
  const again = leave();
  await clock.advance(2_000);
  expect(again).toMatchObject({ seen: "page" });
});
