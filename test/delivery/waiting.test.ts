import { describe, expect, it } from "vitest";
import { channelOf, mailTo, ntfyTo, type Step, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, minute, refused, second, unauthorized } from "./outcomes.ts";
import { always, everyProbe, many, next, onChannel, probes, tellScenesOf } from "./tell-scene.ts";

const [chat, other, hook] = [telegramTo("chat"), telegramTo("other"), ntfyTo("hook")];
const sent = { kind: "sent" } as const;
const busy = { kind: "retry", reason: "server_error", detail: "busy", waitMs: 10 * minute } as const;
const slowMailbox = onChannel("mail", (mail) => {
  mail.always = ({ context }) => (context.recipient === "slow@x.io" ? { ...refused, waitMs: 10 * minute } : sent);
});
const toChat: Step = [{}, { to: ["chat"] }];
const toOther: Step = [{}, { to: ["other"] }];

describe("time", () => {
  tellScenesOf([mailTo("mail")])([
    ["asks a paused mail account with a mailbox, and goes on", [probes("mail", sent), unauthorized, {}, 11 * minute]],
  ]);
  tellScenesOf([mailTo("mail", ["slow@x.io", "b@x.io"])])([
    ["lets one mailbox that has to wait hold up no other", [slowMailbox, {}, second, {}, second]],
  ]);
  tellScenesOf([hook])([
    ["keeps a Retry-After, also when it looks ahead after an outage", [always("hook", busy), many(6), 9 * minute]],
  ]);
  tellScenesOf([chat])([
    ["tries what was never tried after a stop of more than a day, late", ["stop", {}, 30 * hour, "restart", 5_000]],
    ["says why when it gives up", [always("chat", unauthorized), {}, 5_000, 25 * hour, 10_000]],
  ]);

  it("lets fifty destinations that hang delay no other by a second", async () => {
    const hanging = Array.from({ length: 49 }, (_, index) => ntfyTo(`hangs-${index}`));
    const { fixture, play } = await startFixture<string>([...hanging, ntfyTo("hook")]);
    for (const { name } of hanging) channelOf(fixture, name).always = () => new Promise(() => {});
    const { calls } = channelOf(fixture, "hook");
    await play({}, 10 * second);
    const before = calls.length;
    await play({}, 999);
    expect(calls).toHaveLength(before + 1);
  });
});

describe("what comes for a dead destination", () => {
  tellScenesOf([chat])([
    [
      "waits, is asked for more and more seldom, and goes out as one message when it works again",
      [
        everyProbe("chat", kicked),
        kicked,
        {},
        10 * minute,
        {},
        10 * minute,
        {},
        10 * minute,
        everyProbe("chat", sent),
        9 * minute,
      ],
    ],
    [
      "has it asked within a minute when nothing had come for hours",
      [everyProbe("chat", kicked), kicked, {}, ...Array(182).fill(minute), {}, 9 * minute],
    ],
    [
      "goes out as one message too when a relay that was killed starts again",
      [kicked, {}, {}, 30 * minute, probes("chat", sent), "kill", 10_000],
    ],
  ]);
  const withFallback: Step[] = [kicked, toChat, 5_000, [{}, { to: ["chat"], fallback: ["hook", hour] }], 2_000];
  tellScenesOf([chat, hook])([
    ["waits for nearly an hour, and its fallback had it at once", [...withFallback, 59 * minute]],
    ["fails when it has waited for an hour", [...withFallback, 59 * minute, 2 * minute]],
  ]);
  tellScenesOf([chat, other])([
    [
      "is looked at again only when a bot that has to be silent may be asked",
      [kicked, toChat, 5_000, next("other", flood(10 * minute, "account")), toOther, 2 * minute],
    ],
  ]);
  const gone = { ...kicked, reason: "gone" } as const;
  tellScenesOf([ntfyTo("chat")])([
    ["is tried itself afterwards where no probe says more", [everyProbe("chat", sent), gone, gone, {}, 4 * minute]],
  ]);
});
