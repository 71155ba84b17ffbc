import { describe } from "vitest";
import { later, ntfyTo, type Step, telegramTo } from "./engine-fixture.ts";
import { kicked, minute, second } from "./outcomes.ts";
import { always, claims, doing, fails, many, next, pause, states, tellScenesOf } from "./tell-scene.ts";

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

  const counts: Step = async ({ store }) => (await store.countByDestination())[0]?.counts;
  tellScenesOf([ntfyTo("hook")])([
    [
      "does not begin what was claimed ahead, nor what routing claims for it",
      [
        ...[
          claims,
          { alertKey: "first" },
          5 * second,
          "hang" as const,
          ...["a", "b", "c"].map((alertKey) => ({ alertKey })),
        ],
        ...[pause("hook", "page"), { alertKey: "d" }, "answer" as const, minute, counts, pause("hook"), minute, counts],
      ],
    ],
  ]);

  for (const destination of [telegramTo("chat"), ntfyTo("chat")]) {
    const answered = later<void>();
    const answersLater = (["claimDeliveries", "claimRun"] as const).map((name) =>
      doing(name, (real) => async (...asked: never[]) => {
        const claimed = await (real as (...asked: never[]) => Promise<never>)(...asked);
        await answered.promise;
        return claimed;
      }),
    );
    tellScenesOf([destination])([
      [
        `gets nothing that was being claimed when it was paused: ${destination.type}`,
        [
          ...[...answersLater, "restart" as const, {}, 0, pausedByPage, () => answered.settle(), minute, states],
          ...[resumed, minute],
        ],
      ],
    ]);
  }

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
