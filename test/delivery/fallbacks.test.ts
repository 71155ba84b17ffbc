import { describe } from "vitest";
import { mailTo, ntfyTo, type Step, telegramTo } from "./engine-fixture.ts";
import { hour, kicked, lost, minute, refused, refusedRecipient } from "./outcomes.ts";
import { always, next, tellScenesOf } from "./tell-scene.ts";

/** Goes to the hook when the chat has not got it so long afterwards. */
const within = (ms: number): Step => [{}, { to: ["chat"], fallback: ["hook", ms] }];
const pool = { title: "Pool", alertKey: "pool" };
const firing: Step = [
  { ...pool, status: "unknown" },
  { to: ["chat"], fallback: ["hook", 2 * minute] },
];
const over: Step = [
  { ...pool, status: "resolved" },
  { to: ["chat"], fallback: ["hook", 2 * minute] },
];
const inGroup = ["Pool 1", "Pool 2", "Pool 3"].map((title): Step => {
  const planned = { groupName: '["group","all"]' };
  return [
    { title, alertKey: title },
    { to: ["chat"], heldForMs: 30_000, planned, fallback: ["hook", hour] },
  ];
});

describe("a fallback", () => {
  tellScenesOf([telegramTo("chat"), ntfyTo("hook")])([
    [
      "is used once when the first has been down for the set time, which gets it still",
      [always("chat", refused), within(2 * minute), 3 * minute, always("chat"), 20 * minute],
    ],
    [
      "is told the end of what it was told, once, and no end of what it was not told",
      [
        ...[always("chat", refused), firing, 3 * minute, always("chat"), 20 * minute, over, minute, over, minute],
        ...[firing, minute, over, minute],
      ],
    ],
    [
      "leaves both failed, with reasons, where it is dead as well, and goes round no further",
      [always("chat", kicked), always("hook", kicked), within(hour), minute, 2 * hour, 5_000],
    ],
    ["is called at once when the first fails for good", [next("chat", refusedRecipient), within(hour), 0]],
    ["gets what waited together in a group as one message as well", [always("chat", kicked), ...inGroup, minute]],
    [
      "is called once, by time, and not again when the first fails for good afterwards",
      [always("chat", refused), within(minute), 2 * minute, always("chat", refusedRecipient), 5 * minute],
    ],
  ]);
  tellScenesOf([telegramTo("chat", { onAmbiguous: "hold" }), ntfyTo("hook")])([
    ["takes over by time from what is held for a person", [lost, within(minute), 2 * minute]],
  ]);
  tellScenesOf([mailTo("chat", ["a@x.io", "b@x.io"]), ntfyTo("hook")])([
    ["gets it once, though two mailboxes of it are refused", [always("chat", refusedRecipient), within(hour), 5_000]],
  ]);
  const renamed: Step = [{}, { planned: { destination: "old" }, fallback: ["hook", hour] }];
  tellScenesOf([ntfyTo("hook")])([
    ["takes what waited for one that was renamed, with a notice", ["stop", renamed, "restart", 5_000]],
  ]);
});
