import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { channelOf, mailTo, ntfyTo, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, minute, refused, second, unauthorized } from "./outcomes.ts";

describe("time", () => {
  it("asks a mail account that was paused with a mailbox, and goes on when it is accepted", async () => {
    const { mail, clock, states, meet } = await startFixture([mailTo("mail")]);
    const asked: string[] = [];
    mail.probe = async (recipient) => {
      asked.push(recipient);
      return { kind: "sent" };
    };
    const id = await meet("mail", unauthorized);
    await clock.advance(11 * minute);
    expect(asked).toEqual(["a@x.io"]);
    expect(await states(id)).toEqual({ mail: "sent" });
  });

  it("lets one mailbox that has to wait hold up no other", async () => {
    const { play, mail } = await startFixture([mailTo("mail", ["slow@x.io", "b@x.io"])]);
    mail.always = ({ context }) =>
      context.recipient === "slow@x.io" ? { ...refused, waitMs: 10 * minute } : { kind: "sent" };
    await play({}, second, {}, second);
    expect(mail.calls.map((call) => call.context.recipient)).toEqual(["slow@x.io", "b@x.io", "b@x.io"]);
  });

  it("sends nothing before a Retry-After, also when it looks ahead after an outage", async () => {
    const { acceptMany, hook, clock } = await startFixture([ntfyTo("hook")]);
    hook.always = () => ({ kind: "retry", reason: "server_error", detail: "busy", waitMs: 10 * minute });
    await acceptMany(6);
    await clock.advance(9 * minute);
    expect(hook.calls).toHaveLength(1);
  });

  it("tries what was never tried after a stop of more than a day, and says how late it is", async () => {
    const { fixture, clock, chat, play } = await startFixture([telegramTo("chat")]);
    await stopEngine(fixture.engine, clock);
    const id = await fixture.accept();
    await play(30 * hour, "restart", 5 * second);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
    expect(chat.texts[0]).toMatch(/30 h.* late/);
  });

  it("says why when it gives up", async () => {
    const { chat, play, detail } = await startFixture([telegramTo("chat")]);
    chat.always = () => unauthorized;
    const [id = ""] = await play({}, 5 * second, 25 * hour, 10 * second);
    const reason = "could not be delivered within 24 h: token refused";
    expect((await detail(id)).deliveries).toMatchObject([{ state: "expired", reason }]);
  });

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
  const startChat = () => startFixture([telegramTo("chat")]);

  /** After how many minutes each probe came, which is answered so. */
  function probesOf({ clock, chat }: Awaited<ReturnType<typeof startChat>>, answer: () => Outcome): number[] {
    const start = clock.now();
    const at: number[] = [];
    chat.probe = async () => {
      at.push(Math.round((clock.now() - start) / minute));
      return answer();
    };
    return at;
  }

  it("waits, is asked for more and more seldom, and goes out as one message when it works again", async () => {
    const { fixture, accept, chat, clock, states } = await startChat();
    let answer: Outcome = kicked;
    const probedAt = probesOf(fixture, () => answer);
    chat.script.push(kicked);
    const ids: string[] = [];
    for (let alert = 0; alert < 3; alert += 1) {
      ids.push(await accept());
      await clock.advance(10 * minute);
    }
    expect(await Promise.all(ids.map(states))).toEqual(ids.map(() => ({ chat: "waiting" })));
    expect(chat.calls).toHaveLength(1);
    answer = { kind: "sent" };
    await clock.advance(9 * minute);
    expect(probedAt).toEqual([1, 3, 8, 23, 38]);
    expect(await Promise.all(ids.map(states))).toEqual(ids.map(() => ({ chat: "digested" })));
    expect(chat.calls).toHaveLength(2);
  });

  it("fails when it has waited for an hour, and its fallback had it at once", async () => {
    const { clock, states, meet, play } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    await meet("chat", kicked);
    const [id = ""] = await play([{}, { to: ["chat"], fallback: ["hook", hour] }], 2 * second);
    expect(await states(id)).toEqual({ chat: "waiting", hook: "sent" });
    await clock.jump(58 * minute);
    await clock.advance(minute);
    expect(await states(id)).toEqual({ chat: "waiting", hook: "sent" });
    await clock.advance(2 * minute);
    expect(await states(id)).toEqual({ chat: "failed", hook: "sent" });
  });

  it("has it asked within a minute when nothing had come for hours", async () => {
    const fixture = await startChat();
    const probedAt = probesOf(fixture, () => kicked);
    await fixture.meet("chat", kicked);
    await fixture.clock.advance(3 * hour + 2 * minute - 5 * second);
    const before = probedAt.length;
    await fixture.play({}, 9 * minute);
    expect(probedAt.slice(before)).toEqual([183, 185, 190]);
  });

  it("is looked at again only when a bot that has to be silent may be asked", async () => {
    const { clock, detail, meet } = await startFixture([telegramTo("chat"), telegramTo("other")]);
    const id = await meet("chat", kicked);
    await meet("other", flood(10 * minute, "account"));
    const silentUntil = clock.now() + 10 * minute - 6 * second;
    await clock.advance(2 * minute);
    expect((await detail(id)).deliveries[0]?.dueAt).toBeGreaterThan(silentUntil);
  });

  it("is tried itself after the pause where no probe says whether messages are taken", async () => {
    const { fixture, chat, states, play } = await startFixture([ntfyTo("chat")]);
    probesOf(fixture, () => ({ kind: "sent" }));
    chat.script.push({ ...kicked, reason: "gone" }, { ...kicked, reason: "gone" });
    const [id = ""] = await play({}, 4 * minute);
    expect(chat.calls.map(({ at }) => Math.round((at - (chat.calls[0]?.at ?? 0)) / minute))).toEqual([0, 1, 3]);
    expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("goes out as one message too when a relay that was killed starts again", async () => {
    const { accept, chat, clock, states, play } = await startChat();
    chat.script.push(kicked);
    const ids = [await accept(), await accept()];
    await clock.advance(30 * minute);
    chat.probes.push({ kind: "sent" });
    await play("kill", 10 * second);
    expect(await Promise.all(ids.map(states))).toEqual(ids.map(() => ({ chat: "digested" })));
    expect(chat.calls).toHaveLength(2);
  });
});
