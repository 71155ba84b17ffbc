import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { Destination } from "../../src/core/rules.ts";
import { Secret } from "../../src/core/secret.ts";
import { destinationBase } from "../support/destinations.ts";
import {
  type EngineFixture,
  type ScriptedChannel,
  startFixture,
  stopEngine,
  telegramTo,
  webhookTo,
} from "./engine-fixture.ts";

const refused: Outcome = { kind: "retry", reason: "connect_failed", detail: "nobody listens there" };
const lost: Outcome = { kind: "ambiguous", reason: "connection_lost", detail: "the connection was lost" };
const kicked: Outcome = {
  kind: "rejected",
  scope: "destination",
  reason: "kicked",
  detail: "bot was kicked",
};
const unauthorized: Outcome = {
  kind: "rejected",
  scope: "account",
  reason: "auth_failed",
  detail: "token refused",
};
const flood = (waitMs: number): Outcome => ({
  kind: "retry",
  reason: "rate_limited",
  detail: "asked to wait",
  waitMs,
  countsAsAttempt: false,
});
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

function channelOf(fixture: EngineFixture, name: string): ScriptedChannel {
  const channel = fixture.channels[name];
  if (!channel) throw new Error(`no channel ${name}`);
  return channel;
}

function mailTo(name: string, to: string[]): Destination {
  return {
    ...destinationBase(name),
    type: "email",
    to,
    from: "alerts@example.com",
    account: {
      id: "alerts@mail.example.com:465",
      host: "mail.example.com",
      port: 465,
      secure: true,
      password: new Secret("canary"),
      allowInsecureAuth: false,
      rejectUnauthorized: true,
    },
  };
}

async function outcomesOf(fixture: EngineFixture, id: string): Promise<string[]> {
  const { deliveries } = await fixture.detail(id);
  return deliveries.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));
}

describe("a store that refuses in the middle", () => {
  it("records a message that was sent once the store takes it, and sends it once", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("recordAttempt");
    const id = await fixture.accept();
    await fixture.clock.advance(20 * second);
    fixture.failing.clear();
    await fixture.clock.advance(5 * minute);
    expect(channelOf(fixture, "chat").calls).toHaveLength(1);
    expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("marks the repeat when it never could record what it sent", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("recordAttempt");
    const id = await fixture.accept();
    await fixture.clock.advance(3 * minute);
    fixture.failing.clear();
    await fixture.clock.advance(3 * minute);
    const texts = channelOf(fixture, "chat").calls.map((call) => call.text);
    expect(texts.map((text) => text.includes("possible repeat"))).toEqual([false, true]);
    expect(await outcomesOf(fixture, id)).toEqual(["ambiguous", "sent"]);
  });

  it("records the outcome although the destination's health cannot be saved, and announces it later", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hook")]);
    channelOf(fixture, "chat").script.push(kicked);
    fixture.failing.add("saveStatus").add("recordNotice");
    const id = await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(10 * second);
    expect(await fixture.states(id)).toEqual({ chat: "failed" });
    expect(channelOf(fixture, "hook").calls).toHaveLength(0);
    fixture.failing.clear();
    await fixture.clock.advance(2 * second);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
    await fixture.restart();
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
  });

  it("gives a claim back untried, and calls nothing ambiguous that was never sent", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("findThread");
    const id = await fixture.accept();
    await fixture.clock.advance(3 * second);
    fixture.failing.clear();
    await fixture.clock.advance(10 * second);
    expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
    expect(channelOf(fixture, "chat").calls[0]?.text).not.toContain("possible repeat");
  });

  it("goes on indexing and calling fallbacks while another duty fails", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hook")]);
    fixture.failing.add("listAbandoned");
    channelOf(fixture, "chat").always = () => refused;
    const fallback = { to: "hook", at: fixture.clock.now() + 10 * second };
    await fixture.accept({ title: "searchable" }, { to: ["chat"], planned: { fallback } });
    await fixture.clock.advance(20 * second);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
    expect(await fixture.store.listAlerts({ limit: 5, q: "searchable" })).toHaveLength(1);
  });
});

describe("a message of several parts", () => {
  it("is told once, though its chat has to wait between two parts for longer than a lease", async () => {
    const fixture = await startFixture([telegramTo("chat"), telegramTo("other")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(async () => {
      // Meanwhile the whole bot is asked to wait.
      channelOf(fixture, "other").script.push({ ...flood(10 * minute), scope: "account" } as Outcome);
      await fixture.accept({}, { to: ["other"] });
      await fixture.clock.sleep(100);
      return { kind: "sent", ref: "1" };
    });
    const id = await fixture.accept({ text: "word ".repeat(1_800) }, { to: ["chat"] });
    await fixture.clock.advance(20 * minute);
    expect(chat.calls.map((call) => /\[(\d)\/3\]/.exec(call.text)?.[1])).toEqual(["1", "2", "3"]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent", "sent", "sent"]);
    expect((chat.calls[1]?.at ?? 0) - (chat.calls[0]?.at ?? 0)).toBeGreaterThanOrEqual(10 * minute);
  });

  it("goes on after a restart, for all repeats that it told together", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    await stopEngine(fixture.engine, fixture.clock);
    const long = { alertKey: "k", text: "word ".repeat(1_800) };
    const ids = [await fixture.accept(long), await fixture.accept(long)];
    chat.script.push({ kind: "sent", ref: "11" }, flood(90_500));
    await fixture.restart();
    await fixture.clock.advance(5 * second);
    await fixture.restart();
    await fixture.clock.advance(3 * minute);
    expect(chat.calls.map((call) => /\[(\d)\/\d\]/.exec(call.text)?.[1])).toEqual(["1", "2", "2", "3"]);
    for (const id of ids) expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });
});

describe("alerts that are told together", () => {
  it("are repeated as they were told, while newer ones of the key wait", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(lost);
    const first = await fixture.accept({ alertKey: "k", value: "1" });
    await fixture.clock.advance(29 * second);
    await stopEngine(fixture.engine, fixture.clock, 1);
    const next = await fixture.accept({ alertKey: "k", value: "2" });
    await fixture.clock.advance(10 * second);
    await fixture.restart();
    await fixture.clock.advance(5 * second);
    expect(chat.calls[1]?.text).toContain("possible repeat");
    expect(chat.calls[1]?.text).toContain(first);
    expect(chat.calls[1]?.context.alertId).toBe(first);
    expect(chat.calls[2]?.text).not.toContain("possible repeat");
    expect(await fixture.states(next)).toEqual({ chat: "sent" });
  });

  it("during quiet hours are one digest at their end, and say so; one alone says why it is late", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hook")]);
    const until = fixture.clock.now() + 8 * hour;
    const held = { planned: { state: "held" as const, dueAt: until } };
    const ids = [
      await fixture.accept({}, { ...held, to: ["chat"] }),
      await fixture.accept({}, { ...held, to: ["chat"] }),
      await fixture.accept({}, { ...held, to: ["hook"] }),
    ];
    await fixture.clock.jump(8 * hour - minute);
    await fixture.clock.advance(30 * second);
    expect(channelOf(fixture, "chat").calls).toHaveLength(0);
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "chat").calls.map((call) => call.text)).toEqual([
      expect.stringMatching(/2 alerts[\s\S]*quiet hours/),
    ]);
    expect(channelOf(fixture, "hook").calls.map((call) => call.text)).toEqual([
      expect.stringMatching(/8 h.* late: quiet hours/),
    ]);
    expect(await fixture.states(ids[0] as string)).toEqual({ chat: "digested" });
  });

  it("ping nobody when all are older than their route allows, and neither does one alone", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    const freshness = { planned: { freshnessMs: 15 * minute } };
    chat.script.push(flood(20 * minute));
    await fixture.accept({}, freshness);
    await fixture.clock.advance(21 * minute);
    expect(chat.calls.map((call) => call.context.silent)).toEqual([false, true]);
    expect(chat.calls[1]?.text).toMatch(/20 min late: asked to wait/);
    await fixture.accept({}, freshness);
    await fixture.clock.advance(second);
    expect(chat.calls[2]?.context.silent).toBe(false);
  });
});

describe("what a person asks for", () => {
  it("is tried at a dead destination, and revives it when it works", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(kicked);
    await fixture.accept();
    await fixture.clock.advance(5 * second);
    const id = await fixture.accept({}, { purpose: "resend" });
    await fixture.clock.advance(2 * second);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
    expect(fixture.engine.statuses()[0]?.own.health).toBe("ok");
  });

  it("is tried once at a paused account, and fails with what the account says", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.always = () => unauthorized;
    const waiting = await fixture.accept();
    await fixture.clock.advance(5 * second);
    const id = await fixture.accept({}, { purpose: "test" });
    await fixture.clock.advance(minute);
    expect(chat.calls).toHaveLength(2);
    expect((await fixture.detail(id)).deliveries[0]).toMatchObject({
      state: "failed",
      reason: "token refused",
    });
    expect(await fixture.states(waiting)).toEqual({ chat: "waiting" });
  });

  it("is tried while the breaker is open", async () => {
    const fixture = await startFixture([webhookTo("hook")]);
    const hook = channelOf(fixture, "hook");
    hook.script = new Array(5).fill(refused);
    for (let alert = 0; alert < 5; alert += 1) await fixture.accept();
    await fixture.clock.advance(10 * second);
    expect(fixture.engine.statuses()[0]?.own.health).toBe("down");
    const id = await fixture.accept({}, { purpose: "resend" });
    await fixture.clock.advance(2 * second);
    expect(await fixture.states(id)).toEqual({ hook: "sent" });
    expect(fixture.engine.statuses()[0]?.own.health).toBe("ok");
  });

  it("comes before a backlog of thousands", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(flood(5 * second));
    for (let alert = 0; alert < 420; alert += 1) await fixture.accept();
    const id = await fixture.accept({ title: "by hand" }, { purpose: "resend" });
    await fixture.clock.advance(10 * second);
    expect(chat.calls[1]?.text).toContain("by hand");
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });
});

describe("fallbacks", () => {
  const planned = (fixture: EngineFixture, afterMs: number) => ({
    to: ["chat"],
    planned: { fallback: { to: "hook", at: fixture.clock.now() + afterMs } },
  });

  it("that are dead as well leave both failed, with reasons, and go round no further", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hook")]);
    channelOf(fixture, "chat").always = () => kicked;
    channelOf(fixture, "hook").always = () => kicked;
    const id = await fixture.accept({}, planned(fixture, hour));
    await fixture.clock.advance(minute);
    await fixture.clock.jump(2 * hour);
    await fixture.clock.advance(5 * second);
    const { deliveries } = await fixture.detail(id);
    expect(deliveries.map(({ destination, state }) => [destination, state])).toEqual([
      ["chat", "failed"],
      ["hook", "failed"],
    ]);
    expect(deliveries.every(({ reason }) => reason.includes("kicked"))).toBe(true);
  });

  it("are called at once when the first fails, without waiting for the next look", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hook")]);
    channelOf(fixture, "chat").script.push({ ...kicked, scope: "recipient" } as Outcome);
    await fixture.accept({}, planned(fixture, hour));
    await fixture.clock.settle();
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
  });

  it("are called once, by time, and not again when the first fails for good afterwards", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hook")]);
    const chat = channelOf(fixture, "chat");
    chat.always = () => refused;
    await fixture.accept({}, planned(fixture, minute));
    await fixture.clock.advance(2 * minute);
    chat.always = () => ({ ...kicked, scope: "recipient" }) as Outcome;
    await fixture.clock.advance(15 * minute);
    const told = channelOf(fixture, "hook").calls.filter((call) => call.text.includes("Instead of"));
    expect(told).toHaveLength(1);
  });

  it("take over by time from what is held for a person", async () => {
    const fixture = await startFixture([telegramTo("chat", { onAmbiguous: "hold" }), webhookTo("hook")]);
    channelOf(fixture, "chat").script.push(lost);
    const id = await fixture.accept({}, planned(fixture, minute));
    await fixture.clock.advance(2 * minute);
    const { deliveries } = await fixture.detail(id);
    expect(deliveries.map(({ state }) => state)).toEqual(["held", "sent"]);
  });

  it("get an alert once, though all mailboxes of the first destination are refused", async () => {
    const fixture = await startFixture([mailTo("mail", ["a@x.io", "b@x.io"]), webhookTo("hook")]);
    channelOf(fixture, "mail").always = () => ({ ...kicked, scope: "recipient" }) as Outcome;
    await fixture.accept(
      {},
      { to: ["mail"], planned: { fallback: { to: "hook", at: fixture.clock.now() + hour } } },
    );
    await fixture.clock.advance(5 * second);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
  });

  it("take what waited for a destination that was renamed, and people are told of it", async () => {
    const fixture = await startFixture([webhookTo("hook")]);
    await stopEngine(fixture.engine, fixture.clock);
    const at = fixture.clock.now() + hour;
    const id = await fixture.accept({}, { planned: { destination: "old", fallback: { to: "hook", at } } });
    await fixture.restart();
    await fixture.clock.advance(5 * second);
    const { deliveries } = await fixture.detail(id);
    expect(deliveries.map(({ destination, state }) => [destination, state])).toEqual([
      ["old", "failed"],
      ["hook", "sent"],
    ]);
    const texts = channelOf(fixture, "hook").calls.map((call) => call.text);
    expect(texts.some((text) => text.includes("1 delivery waited for old"))).toBe(true);
  });
});

describe("notices", () => {
  it("come in one pair while a destination flaps", async () => {
    const fixture = await startFixture([webhookTo("flaky"), webhookTo("hook")]);
    const flaky = channelOf(fixture, "flaky");
    for (let round = 0; round < 3; round += 1) {
      flaky.script = new Array(6).fill(refused);
      for (let alert = 0; alert < 6; alert += 1) await fixture.accept({}, { to: ["flaky"] });
      await fixture.clock.advance(2.5 * minute);
    }
    const texts = channelOf(fixture, "hook").calls.map((call) => call.text);
    expect(texts.map((text) => /does not answer|works again/.exec(text)?.[0])).toEqual([
      "does not answer",
      "works again",
    ]);
  });

  it("wait on the page until there is somebody to tell", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hook")]);
    const chat = channelOf(fixture, "chat");
    const hook = channelOf(fixture, "hook");
    chat.always = () => kicked;
    hook.always = () => refused;
    for (let alert = 0; alert < 6; alert += 1) await fixture.accept();
    await fixture.clock.advance(20 * second);
    const [notice] = await fixture.store.listAlerts({ limit: 1, state: "unmatched" });
    expect(notice?.origin).toBe("notice");
    hook.always = undefined;
    await fixture.clock.advance(2 * minute);
    expect(hook.calls.some((call) => call.text.includes("chat cannot be reached"))).toBe(true);
  });

  it("reach somebody within a minute although the destination that seemed well hangs", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hangs"), webhookTo("hook")]);
    channelOf(fixture, "chat").script.push(kicked);
    channelOf(fixture, "hangs").always = () => new Promise<Outcome>(() => {});
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "hook").calls.map((call) => call.text)).toEqual([
      expect.stringContaining("chat cannot be reached"),
    ]);
  });

  it("do not say that a webhook works again because its address takes connections", async () => {
    const fixture = await startFixture([webhookTo("gone"), webhookTo("hook")]);
    const gone = channelOf(fixture, "gone");
    gone.script.push({ kind: "rejected", scope: "destination", reason: "gone", detail: "answered 410" });
    await fixture.accept({}, { to: ["gone"] });
    gone.probes.push({ kind: "sent" });
    await fixture.clock.advance(5 * second);
    await fixture.clock.jump(25 * hour);
    await fixture.clock.advance(10 * second);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
    await fixture.accept({}, { to: ["gone"] });
    await fixture.clock.advance(5 * second);
    expect(channelOf(fixture, "hook").calls.at(-1)?.text).toContain("gone works again");
  });
});

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
    const fixture = await startFixture([webhookTo("hook")]);
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
    const hanging = Array.from({ length: 49 }, (_, index) => webhookTo(`hangs-${index}`));
    const fixture = await startFixture([...hanging, webhookTo("hook")]);
    for (const { name } of hanging) channelOf(fixture, name).always = () => new Promise<Outcome>(() => {});
    await fixture.accept();
    await fixture.clock.advance(10 * second);
    const before = channelOf(fixture, "hook").calls.length;
    await fixture.accept();
    await fixture.clock.advance(999);
    expect(channelOf(fixture, "hook").calls).toHaveLength(before + 1);
  });
});
