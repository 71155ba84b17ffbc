import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import {
  channelOf,
  type EngineFixture,
  mailTo,
  ntfyTo,
  startFixture,
  stopEngine,
  telegramTo,
} from "./engine-fixture.ts";
import { flood, hour, kicked, minute, refused, second, unauthorized } from "./outcomes.ts";

describe("time", () => {
  it("asks a mail account that was paused with a mailbox, and goes on when it is accepted", async () => {
    const fixture = await startFixture([mailTo("mail", ["a@x.io"])]);
    const mail = channelOf(fixture, "mail");
    mail.script.push(unauthorized);
    const asked: string[] = [];
    mail.probe = async (recipient) => {
      asked.push(recipient);
      return { kind: "sent" };
    };
    const id = await fixture.accept();
    await fixture.clock.advance(11 * minute);
    expect(asked).toEqual(["a@x.io"]);
    expect(await fixture.states(id)).toEqual({ mail: "sent" });
  });

  it("lets one mailbox that has to wait hold up no other", async () => {
    const fixture = await startFixture([mailTo("mail", ["slow@x.io", "b@x.io"])]);
    const mail = channelOf(fixture, "mail");
    mail.always = ({ context }) =>
      context.recipient === "slow@x.io" ? { ...refused, waitMs: 10 * minute } : { kind: "sent" };
    await fixture.accept();
    await fixture.clock.advance(second);
    await fixture.accept();
    await fixture.clock.advance(second);
    expect(mail.calls.map((call) => call.context.recipient)).toEqual(["slow@x.io", "b@x.io", "b@x.io"]);
  });

  it("sends nothing before a Retry-After, also when it looks ahead after an outage", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    const hook = channelOf(fixture, "hook");
    hook.always = () => ({ kind: "retry", reason: "server_error", detail: "busy", waitMs: 10 * minute });
    for (let alert = 0; alert < 6; alert += 1) await fixture.accept();
    await fixture.clock.advance(9 * minute);
    expect(hook.calls).toHaveLength(1);
  });

  it("tries what was never tried after a stop of more than a day, and says how late it is", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await stopEngine(fixture.engine, fixture.clock);
    const id = await fixture.accept();
    await fixture.clock.jump(30 * hour);
    await fixture.restart();
    await fixture.clock.advance(5 * second);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
    expect(channelOf(fixture, "chat").calls[0]?.text).toMatch(/30 h.* late/);
  });

  it("says why when it gives up", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    channelOf(fixture, "chat").always = () => unauthorized;
    const id = await fixture.accept();
    await fixture.clock.jump(25 * hour);
    await fixture.clock.advance(10 * second);
    expect((await fixture.detail(id)).deliveries[0]).toMatchObject({
      state: "expired",
      reason: "could not be delivered within 24 h: token refused",
    });
  });

  it("lets fifty destinations that hang delay no other by a second", async () => {
    const hanging = Array.from({ length: 49 }, (_, index) => ntfyTo(`hangs-${index}`));
    const fixture = await startFixture([...hanging, ntfyTo("hook")]);
    for (const { name } of hanging) channelOf(fixture, name).always = () => new Promise<Outcome>(() => {});
    await fixture.accept();
    await fixture.clock.advance(10 * second);
    const before = channelOf(fixture, "hook").calls.length;
    await fixture.accept();
    await fixture.clock.advance(999);
    expect(channelOf(fixture, "hook").calls).toHaveLength(before + 1);
  });

  it.each([
    ["a chat that is asked to wait", () => flood(10 * minute)],
    ["a dead chat", () => kicked],
    ["a paused bot", () => unauthorized],
  ])("does not have the queue read again for each alert: %s", async (_name, answer) => {
    const fixture = await startFixture([telegramTo("chat")]);
    channelOf(fixture, "chat").script.push(answer());
    await fixture.accept();
    await fixture.clock.advance(3 * second);
    fixture.storeCalls.clear();
    for (let alert = 0; alert < 50; alert += 1) {
      await fixture.accept();
      await fixture.clock.advance(40);
    }
    expect(fixture.storeCalls.get("listDue") ?? 0).toBeLessThanOrEqual(3);
  });
});

describe("what comes for a dead destination", () => {
  const probesOf = (fixture: EngineFixture, answer: () => Outcome): number[] => {
    const start = fixture.clock.now();
    const at: number[] = [];
    channelOf(fixture, "chat").probe = async () => {
      at.push(Math.round((fixture.clock.now() - start) / minute));
      return answer();
    };
    return at;
  };

  it("waits, is asked for more and more seldom, and goes out as one message when it works again", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    let answer: Outcome = kicked;
    const probedAt = probesOf(fixture, () => answer);
    chat.script.push(kicked);
    const ids: string[] = [];
    for (let alert = 0; alert < 3; alert += 1) {
      ids.push(await fixture.accept());
      await fixture.clock.advance(10 * minute);
    }
    expect(await Promise.all(ids.map(fixture.states))).toEqual(ids.map(() => ({ chat: "waiting" })));
    expect(chat.calls).toHaveLength(1);
    answer = { kind: "sent" };
    await fixture.clock.advance(9 * minute);
    expect(probedAt).toEqual([1, 3, 8, 23, 38]);
    expect(await Promise.all(ids.map(fixture.states))).toEqual(ids.map(() => ({ chat: "digested" })));
    expect(chat.calls).toHaveLength(2);
  });

  it("fails when it has waited for an hour, and its fallback had it at once", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(kicked);
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(10 * second);
    const fallback = { to: "hook", at: fixture.clock.now() + hour };
    const id = await fixture.accept({}, { to: ["chat"], planned: { fallback } });
    await fixture.clock.advance(2 * second);
    expect(await fixture.states(id)).toEqual({ chat: "waiting", hook: "sent" });
    await fixture.clock.advance(59 * minute);
    expect(await fixture.states(id)).toEqual({ chat: "waiting", hook: "sent" });
    await fixture.clock.advance(2 * minute);
    expect(await fixture.states(id)).toEqual({ chat: "failed", hook: "sent" });
  });

  it("has it asked within a minute when nothing had come for hours", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    channelOf(fixture, "chat").script.push(kicked);
    const probedAt = probesOf(fixture, () => kicked);
    await fixture.accept();
    await fixture.clock.advance(3 * hour + 2 * minute);
    const before = probedAt.length;
    await fixture.accept();
    await fixture.clock.advance(9 * minute);
    expect(probedAt.slice(before)).toEqual([183, 185, 190]);
  });

  it("is looked at again only when a bot that has to be silent may be asked", async () => {
    const fixture = await startFixture([telegramTo("chat"), telegramTo("other")]);
    const [chat, other] = [channelOf(fixture, "chat"), channelOf(fixture, "other")];
    chat.script.push(kicked);
    const id = await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(2 * second);
    other.script.push(flood(10 * minute, "account"));
    await fixture.accept({}, { to: ["other"] });
    await fixture.clock.advance(2 * second);
    const silentUntil = fixture.clock.now() + 10 * minute - 4 * second;
    await fixture.clock.advance(2 * minute);
    expect((await fixture.detail(id)).deliveries[0]?.dueAt).toBeGreaterThan(silentUntil);
  });

  it("is tried itself after the pause where no probe says whether messages are taken", async () => {
    const fixture = await startFixture([ntfyTo("chat")]);
    const chat = channelOf(fixture, "chat");
    probesOf(fixture, () => ({ kind: "sent" }));
    chat.script.push({ ...kicked, reason: "gone" }, { ...kicked, reason: "gone" });
    const id = await fixture.accept();
    await fixture.clock.advance(4 * minute);
    expect(chat.calls.map(({ at }) => Math.round((at - (chat.calls[0]?.at ?? 0)) / minute))).toEqual([0, 1, 3]);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("goes out as one message too when a relay that was killed starts again", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(kicked);
    const ids = [await fixture.accept(), await fixture.accept()];
    await fixture.clock.advance(30 * minute);
    chat.probes.push({ kind: "sent" });
    await fixture.kill();
    await fixture.clock.advance(10 * second);
    expect(await Promise.all(ids.map(fixture.states))).toEqual(ids.map(() => ({ chat: "digested" })));
    expect(chat.calls).toHaveLength(2);
  });
});
