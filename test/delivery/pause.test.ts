import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/ports/store.ts";
import { later, ntfyTo, type Step, startFixture, telegramTo } from "./engine-fixture.ts";
import { kicked, minute, second } from "./outcomes.ts";
import { always, fails, many, next, pause, tellScenesOf } from "./tell-scene.ts";

const [pausedByPage, resumed] = [pause("chat", "page"), pause("chat")];
const askedFor: Step[] = [
  [{}, { purpose: "test" }],
  [{}, { purpose: "resend" }],
];

describe("a destination that a person has paused", () => {
  tellScenesOf([telegramTo("chat", { digestOver: 3 }), telegramTo("other")])([
    [
      "is sent nothing until it is resumed; then what waited goes, as one message when it is much",
      [pausedByPage, many(5), 2 * minute, ({ own }) => own().paused, resumed, 10_000],
    ],
  ]);
  tellScenesOf([telegramTo("chat")])([
    ["stays so over a restart and a kill", [pausedByPage, "kill", {}, 20_000, "restart", 20_000]],
    ["goes on after a restart once it was resumed", [pausedByPage, {}, 20_000, resumed, "restart", 20_000]],
    ["fails nothing while it is dead as well", [next("chat", kicked), {}, 5_000, pausedByPage, {}, 2 * minute]],
    ["takes a test, and the resend of one alert", [pausedByPage, {}, ...askedFor, 30_000]],
  ]);
  tellScenesOf([telegramTo("chat"), telegramTo("backup")])([
    ["leaves its fallback to go on", [pausedByPage, [{}, { to: ["chat"], fallback: ["backup", minute] }], 2 * minute]],
  ]);
  tellScenesOf([ntfyTo("hook")], (settings) => {
    settings.schedule.giveUpAfterMs = 5 * minute;
    settings.webhookSchedule.giveUpAfterMs = 5 * minute;
  })([
    [
      "gives nothing up, however long it lasts, and says afterwards why it is late",
      [
        ...[
          always("hook", { kind: "retry", reason: "server_error", detail: "500" }),
          {},
          second,
          pause("hook", "page"),
        ],
        ...[always("hook"), { alertKey: "other" }, ...Array(19).fill(minute), minute, pause("hook"), minute],
      ],
    ],
  ]);

  it("does not begin what was claimed ahead, nor what routing claims for it", async () => {
    const { fixture, accept, hook, clock, engine, store, play } = await startFixture([ntfyTo("hook")]);
    fixture.routesByEngine = true;
    await play({ alertKey: "first" }, 5 * second);
    const answer = hook.hang();
    for (const alertKey of ["a", "b", "c"]) await accept({ alertKey });
    await engine.setPause("hook", "page");
    await accept({ alertKey: "d" });
    const called = hook.calls.length;
    answer();
    await clock.advance(minute);
    expect(hook.calls).toHaveLength(called);
    await engine.setPause("hook", undefined);
    await clock.advance(minute);
    expect((await store.countByDestination())[0]?.counts).toMatchObject({ sent: 5 });
  });

  it.each([telegramTo("chat"), ntfyTo("chat")])(
    "gets nothing that was being claimed when it was paused ($type)",
    async (destination) => {
      const { fixture, chat, clock, store } = await startFixture([destination]);
      const { promise: answered, settle: answer } = later<void>();
      const slow = new Set<keyof Store>(["claimDeliveries", "claimRun"]);
      fixture.seen = new Proxy(store, {
        get: (target, name: keyof Store) =>
          !slow.has(name)
            ? target[name]
            : async (...args: never[]) => {
                const claimed = await (target[name] as (...args: never[]) => Promise<unknown>)(...args);
                await answered;
                return claimed;
              },
      });
      const [id = ""] = await fixture.play("restart", {});
      await clock.settle();
      await fixture.engine.setPause("chat", "page");
      answer();
      await clock.advance(minute);
      expect(chat.calls).toHaveLength(0);
      await fixture.engine.setPause("chat", undefined);
      await clock.advance(minute);
      expect(await fixture.states(id)).toEqual({ chat: "sent" });
      expect(chat.calls).toHaveLength(1);
    },
  );

  tellScenesOf([telegramTo("chat")])([
    [
      "is not paused when that cannot be put on record, and unknown names are nobody",
      [
        ...([fails("saveStatus"), ({ engine }) => engine.setPause("chat", "page").catch(String), fails()] as Step[]),
        ...[{}, 10_000, pause("nobody", "page")],
      ],
    ],
  ]);
});
