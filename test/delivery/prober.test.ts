import { describe } from "vitest";
import { ntfyTo, type Step, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, minute, refused, unauthorized } from "./outcomes.ts";
import { always, many, next, probes, tellScenesOf, tryNow } from "./tell-scene.ts";

const sent = { kind: "sent" } as const;
const [test, resend]: Step[] = [
  [{}, { purpose: "test" }],
  [{ title: "once more" }, { purpose: "resend" }],
];
const moved = { kind: "retry", reason: "address_moved", detail: "upgraded", movedTo: "-100999" } as const;
const twice: Step = async ({ engine }) => await Promise.all([engine.tryNow("chat"), engine.tryNow("chat")]);
const again = { ...kicked, detail: "no right to write" };

describe("a destination that a person tries now", () => {
  tellScenesOf([telegramTo("chat")])([
    ["revives at once, without a message", [kicked, {}, 5_000, probes("chat", sent), tryNow("chat")]],
    [
      "says why it is still dead, and counts the time until the next try anew",
      [
        kicked,
        {},
        5_000,
        2 * hour,
        probes("chat", again),
        tryNow("chat"),
        ({ own, clock }) => (own().probeAt ?? 0) - clock.now(),
      ],
    ],
    ["sends what waited for a paused account", [unauthorized, {}, 5_000, probes("chat", sent), tryNow("chat"), 2_000]],
    ["is not called in a silence of its own", [flood(10 * minute), {}, 5_000, probes("chat", sent), tryNow("chat")]],
    [
      "keeps the silence that a probe was answered with, over a restart",
      [probes("chat", flood(10 * minute), sent), tryNow("chat"), "restart", tryNow("chat")],
    ],
    ["is called once for all who ask, none by no name", [probes("chat", sent, sent), twice, tryNow("nowhere")]],
    ["is followed where its group was upgraded meanwhile", [probes("chat", moved, sent), tryNow("chat"), {}, 5_000]],
  ]);
  tellScenesOf([ntfyTo("hook")])([
    [
      "has its next message tried at once where the breaker was open and it answers",
      [
        ...[always("hook", refused), many(8), 20_000, always("hook"), tryNow("hook"), 1_000],
        ...[probes("hook", sent), tryNow("hook"), 1_000],
      ],
    ],
  ]);
});

describe("what a person asks for", () => {
  tellScenesOf([telegramTo("chat")])([
    [
      "is tried once at a paused account, and fails with what the account says",
      [always("chat", unauthorized), {}, 5_000, test as Step, minute],
    ],
    ["is tried at a dead one, marked, and revives it for what waited", [kicked, {}, 5_000, resend as Step, 5_000]],
  ]);
  tellScenesOf([ntfyTo("hook")])([
    [
      "is tried with the breaker open",
      [next("hook", ...Array(5).fill(refused)), many(5), 10_000, resend as Step, 2_000],
    ],
  ]);
});
