import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { Secret } from "../../src/core/secret.ts";
import {
  channelOf,
  type EngineFixture,
  mailTo,
  ntfyTo,
  startFixture,
  stopEngine,
  telegramTo,
} from "./engine-fixture.ts";
import { flood, hour, kicked, lost, minute, refused, refusedRecipient, second } from "./outcomes.ts";

const refusedMessage = {
  ...kicked,
  scope: "message",
  reason: "message_refused",
  detail: "550 spam",
} as const;

const otherBot = { id: "8", token: new Secret("8:canary-token"), apiRoot: "http://127.0.0.1:1" };

describe("notices", () => {
  it("come in one pair while a destination flaps", async () => {
    const fixture = await startFixture([ntfyTo("flaky"), ntfyTo("hook")]);
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

  it("wait on the page until there is somebody to notify", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
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
    expect(hook.calls.some((call) => call.text.includes("chat gets no alerts"))).toBe(true);
  });

  it("reach somebody within a minute although the destination that seemed well hangs", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hangs"), ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(kicked);
    channelOf(fixture, "hangs").always = () => new Promise<Outcome>(() => {});
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "hook").calls.map((call) => call.text)).toEqual([
      expect.stringContaining("chat gets no alerts"),
    ]);
  });

  it("say in plain words what is wrong and what to do, and lead there", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("down"), ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(kicked);
    channelOf(fixture, "down").always = () => ({ ...refused, detail: "connect ECONNREFUSED 10.0.0.9:443" });
    for (let alert = 0; alert < 6; alert += 1) await fixture.accept({}, { to: ["chat", "down"] });
    await fixture.clock.advance(minute);
    const texts = channelOf(fixture, "hook").calls.map((call) => call.text);
    expect(texts.find((text) => text.includes("chat"))).toContain(
      "The bot was removed from the group. Add the bot back and let it post.",
    );
    expect(texts.find((text) => text.includes("down does not answer"))).toMatch(
      /The ntfy server could not be reached\. Nothing is lost: \d+ alerts wait and follow as one message when it answers\./,
    );
    for (const text of texts) expect(text).not.toMatch(/ECONN|From: Tocsin/);
    expect(channelOf(fixture, "hook").calls.map(({ link }) => link)).toEqual(
      texts.map(
        (text) => `https://tocsin.example.com/destinations#destination-${text.includes("chat") ? "chat" : "down"}`,
      ),
    );
  });

  it("say when it works again how long it took, and what is left to do", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const [chat, hook] = [channelOf(fixture, "chat"), channelOf(fixture, "hook")];
    chat.script.push(kicked);
    await fixture.accept({ title: "Pool drained" }, { to: ["chat"] });
    await fixture.clock.advance(90 * second);
    await fixture.clock.advance(80 * minute);
    chat.probes.push({ kind: "sent" });
    await fixture.engine.tryNow("chat");
    await fixture.clock.advance(5 * second);
    const last = hook.calls.at(-1);
    expect(last?.text).toMatch(/chat works again after 1 h 2\d min/);
    expect(last?.text).toContain("1 alert did not arrive: resend it at Destinations on the page.");
    expect(last?.link).toBe("https://tocsin.example.com/?destination=chat&state=failed");
  });

  it("are told once by a relay that is killed right behind them", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const chat = channelOf(fixture, "chat");
    const told = () => channelOf(fixture, "hook").calls.map(({ text }) => /gets no|works again/.exec(text)?.[0]);
    const killBehindNotice = async () => {
      fixture.unanswered.add("recordNotice");
      await fixture.clock.advance(30 * second);
      fixture.unanswered.clear();
      await fixture.kill();
      await fixture.clock.advance(30 * second);
    };
    chat.script.push(kicked);
    await fixture.accept({}, { to: ["chat"] });
    await killBehindNotice();
    expect(told()).toEqual(["gets no"]);
    chat.probes.push({ kind: "sent" });
    await fixture.engine.tryNow("chat");
    await killBehindNotice();
    expect(told()).toEqual(["gets no", "works again"]);
  });

  it("take nothing back that a person has done while they were written", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const { countByDestination } = fixture.store;
    fixture.seen = {
      ...fixture.store,
      async countByDestination() {
        await fixture.engine.setPause("chat", "somebody");
        return countByDestination();
      },
    };
    await fixture.restart();
    channelOf(fixture, "chat").script.push(kicked);
    fixture.unanswered.add("recordNotice");
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(30 * second);
    fixture.unanswered.clear();
    await fixture.kill();
    expect((await fixture.store.loadStatuses()).find(({ name }) => name === "chat")?.paused?.by).toBe("somebody");
  });

  it("do not say that a destination works again because its address takes connections", async () => {
    const fixture = await startFixture([ntfyTo("gone"), ntfyTo("hook")]);
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

  it("are sent elsewhere of an alert that was refused while its destination works, and then count for ten minutes", async () => {
    const fixture = await startFixture([mailTo("mail", ["risk@example.com"]), telegramTo("chat")]);
    channelOf(fixture, "mail").script.push(refusedRecipient, refusedRecipient, refusedRecipient);
    const calls = () => channelOf(fixture, "chat").calls;
    await fixture.accept({ title: "Pool drained" }, { to: ["mail"] });
    await fixture.clock.advance(5 * second);
    expect(calls()).toHaveLength(1);
    for (const part of ["1 alert did not reach mail", "Pool drained", "risk@example.com", "550 no such mailbox"])
      expect(calls()[0]?.text).toContain(part);
    await fixture.accept({}, { to: ["mail"] });
    await fixture.accept({}, { to: ["mail"] });
    await fixture.clock.advance(9 * minute);
    expect(calls()).toHaveLength(1);
    await fixture.clock.advance(2 * minute);
    expect(calls().map(({ text }) => /\d alerts? did not reach mail/.exec(text)?.[0])).toEqual([
      "1 alert did not reach mail",
      "2 alerts did not reach mail",
    ]);
  });

  it("count messages, and name the alert once, where a mail to several was refused", async () => {
    const to = ["risk@example.com", "treasury@example.com"];
    const fixture = await startFixture([mailTo("mail", to), telegramTo("chat")]);
    channelOf(fixture, "mail").always = () => refusedRecipient;
    await fixture.accept({ title: "Pool drained" }, { to: ["mail"] });
    await fixture.clock.advance(11 * minute);
    const texts = channelOf(fixture, "chat").calls.map(({ text }) => text);
    expect(texts.join("\n")).not.toMatch(/and more|\d alert/);
    expect(texts.at(-1)).toContain("2 messages did not reach mail");
  });

  it.each(["a restart", "a crash"])("say after %s what was still to be counted, in its time", async (how) => {
    const fixture = await startFixture([mailTo("mail", ["risk@example.com"]), telegramTo("chat")]);
    const calls = () => channelOf(fixture, "chat").calls;
    channelOf(fixture, "mail").script.push(refusedRecipient, refusedRecipient);
    await fixture.accept({ title: "first" }, { to: ["mail"] });
    await fixture.clock.advance(5 * second);
    await fixture.accept({ title: "second" }, { to: ["mail"] });
    await fixture.clock.advance(5 * second);
    expect(calls()).toHaveLength(1);
    // Whoever crashes saves nothing any more.
    if (how === "a crash") fixture.failing.add("saveStatus").add("recordNotice");
    await fixture.restart();
    fixture.failing.clear();
    await fixture.clock.advance(9 * minute);
    expect(calls()).toHaveLength(1);
    await fixture.clock.advance(2 * minute);
    expect(calls()).toHaveLength(2);
    expect(calls().at(-1)?.text).toContain("alerts: second");
    await fixture.restart();
    await fixture.clock.advance(20 * minute);
    expect(calls()).toHaveLength(2);
  });

  it("reach the readers themselves of a message that was refused when there is nobody else", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(refusedMessage, refusedMessage);
    await fixture.accept({ title: "Pool drained" });
    await fixture.clock.advance(10 * second);
    expect(chat.calls.map(({ text }) => text.includes("1 alert did not reach chat"))).toEqual([false, false, true]);
    expect([...fixture.engine.figures.refusedMessages]).toEqual([["chat", 2]]);
  });

  it("ask about an alert that is held since nobody knows whether it arrived", async () => {
    const held = telegramTo("chat", { onAmbiguous: "hold" });
    const fixture = await startFixture([held, ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(lost);
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(5 * second);
    expect(channelOf(fixture, "hook").calls.map(({ text }) => text)).toEqual([
      expect.stringContaining('Did "Alert 1" reach chat?'),
    ]);
    expect(channelOf(fixture, "hook").calls[0]?.text).not.toContain("alerts:");
  });

  it("ask about it when another destination works again, if none did just then", async () => {
    const fixture = await startFixture([telegramTo("chat", { onAmbiguous: "hold" }), ntfyTo("hook")]);
    const hook = channelOf(fixture, "hook");
    hook.always = () => refused;
    for (let alert = 0; alert < 6; alert += 1) await fixture.accept({}, { to: ["hook"] });
    await fixture.clock.advance(20 * second);
    channelOf(fixture, "chat").script.push(lost);
    await fixture.accept({ title: "Perhaps" }, { to: ["chat"] });
    await fixture.clock.advance(minute);
    hook.always = undefined;
    await fixture.clock.advance(5 * minute);
    expect(hook.calls.filter(({ text }) => text.includes('Did "Perhaps" reach chat?'))).toHaveLength(1);
  });

  it("say nothing of a failure that a person looks on at, or that the fallback has taken over", async () => {
    const fixture = await startFixture([mailTo("mail", ["risk@example.com"]), telegramTo("chat")]);
    channelOf(fixture, "mail").always = () => refusedRecipient;
    await fixture.accept({}, { to: ["mail"], purpose: "test" });
    const fallback = { to: "chat", at: fixture.clock.now() + hour };
    await fixture.accept({}, { to: ["mail"], planned: { fallback } });
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "chat").calls.map(({ text }) => text.includes("did not reach"))).toEqual([false]);
  });
});

describe("a notice for everybody", () => {
  const facts = {
    title: "The account's webhook is another one",
    severity: "critical",
    status: "firing",
    format: "empty",
    alertKey: "tocsin:account:webhook",
    fields: [],
    notes: [],
  } as const;
  const told = (fixture: Awaited<ReturnType<typeof startFixture>>) =>
    Object.entries(fixture.channels).flatMap(([name, { calls }]) => calls.map(() => name));

  it("goes to each destination that works, and is remembered in the same step", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(kicked);
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(20 * second);
    const before = told(fixture).length;
    await fixture.engine.notify({ ...facts, fields: [], notes: [] }, { name: "account", state: { told: true } });
    await fixture.clock.advance(5 * second);
    expect(told(fixture).length - before).toBe(1);
    expect(channelOf(fixture, "hook").calls.at(-1)?.text).toContain("another one");
    expect(await fixture.store.loadWatchState("account")).toEqual({ told: true });
  });

  it("goes to those that are set for notices alone, or to all but those that want none", async () => {
    const chosen = await startFixture([telegramTo("chat"), ntfyTo("hook", { notices: true }), ntfyTo("other")]);
    await chosen.engine.notify({ ...facts, fields: [], notes: [] });
    await chosen.clock.advance(5 * second);
    expect(told(chosen)).toEqual(["hook"]);
    const without = await startFixture([telegramTo("chat"), ntfyTo("hook", { notices: false }), ntfyTo("other")]);
    await without.engine.notify({ ...facts, fields: [], notes: [] });
    await without.clock.advance(5 * second);
    expect(told(without)).toEqual(["chat", "other"]);
  });

  it("goes once to a chat that several destinations lead to, by one that works", async () => {
    const fixture = await startFixture([
      telegramTo("loud", { chatId: "-1007" }),
      telegramTo("calm", { chatId: "-1007" }),
    ]);
    await fixture.engine.notify({ ...facts, fields: [], notes: [] });
    await fixture.clock.advance(5 * second);
    expect(told(fixture)).toEqual(["loud"]);
    channelOf(fixture, "loud").always = () => kicked;
    await fixture.accept({}, { to: ["loud"] });
    await fixture.clock.advance(20 * second);
    await fixture.engine.notify({ ...facts, alertKey: "tocsin:second", fields: [], notes: [] });
    await fixture.clock.advance(5 * second);
    expect(channelOf(fixture, "calm").calls.at(-1)?.text).toContain("another one");
  });

  it.each([undefined, true])(
    "goes there with a sound where one of them makes it (silent one with notices: %s)",
    async (notices) => {
      const fixture = await startFixture([
        telegramTo("calm", { chatId: "-1007", silent: true, notices }),
        telegramTo("loud", { chatId: "-1007" }),
      ]);
      await fixture.engine.notify({ ...facts, severity: "critical", fields: [], notes: [] });
      await fixture.clock.advance(5 * second);
      expect(told(fixture)).toEqual(["loud"]);
    },
  );

  it("goes to the others as well while none of those that are set for notices works", async () => {
    const fixture = await startFixture([
      telegramTo("chat", { notices: true }),
      ntfyTo("hook"),
      ntfyTo("never", { notices: false }),
    ]);
    channelOf(fixture, "chat").always = () => kicked;
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(20 * second);
    await fixture.engine.notify({ ...facts, fields: [], notes: [] });
    await fixture.clock.advance(5 * second);
    expect(channelOf(fixture, "hook").calls.at(-1)?.text).toContain("another one");
    expect(channelOf(fixture, "never").calls).toEqual([]);
  });
});

describe("a notice that a destination fails", () => {
  const notice = {
    title: "The account's webhook is another one",
    severity: "critical" as const,
    status: "firing" as const,
    format: "empty" as const,
    alertKey: "tocsin:account:webhook",
  };
  const notify = (fixture: EngineFixture) => fixture.engine.notify({ ...notice, fields: [], notes: [] });
  const took = (fixture: EngineFixture, name: string, words = "another one") =>
    channelOf(fixture, name).calls.filter(({ text }) => text.includes(words)).length;
  const mailFor = (changes = {}) => ({ ...mailTo("mail", ["risk@example.com"]), ...changes });

  it("goes at once to others that work when the only one for notices turns out to be dead", async () => {
    const fixture = await startFixture([telegramTo("chat", { notices: true }), ntfyTo("hook"), mailFor()]);
    channelOf(fixture, "chat").always = () => kicked;
    await notify(fixture);
    await fixture.clock.advance(5 * second);
    expect([took(fixture, "hook"), took(fixture, "mail")]).toEqual([1, 0]);
    expect(channelOf(fixture, "hook").calls[0]?.text).toContain("Sent here because chat has not taken it");
  });

  it.each([
    ["hangs", () => new Promise<Outcome>(() => {})],
    ["asks for an hour of silence", () => flood(hour)],
    ["cannot be reached", () => refused],
  ])("goes to another after half a minute when the only one for notices %s", async (_, answer) => {
    const fixture = await startFixture([mailFor({ notices: true }), ntfyTo("hook")]);
    channelOf(fixture, "mail").always = answer;
    channelOf(fixture, "hook").always = undefined;
    await fixture.engine.notify({ ...notice, severity: "info", fields: [], notes: [] });
    await fixture.clock.advance(25 * second);
    expect(took(fixture, "hook")).toBe(0);
    await fixture.clock.advance(10 * second);
    expect(took(fixture, "hook")).toBe(1);
    await fixture.clock.advance(10 * minute);
    expect(took(fixture, "hook")).toBe(1);
  });

  it("goes no further while one of those for notices has it", async () => {
    const chosen = { notices: true };
    const fixture = await startFixture([telegramTo("chat", chosen), ntfyTo("phone", chosen), ntfyTo("hook")]);
    channelOf(fixture, "chat").always = () => kicked;
    await notify(fixture);
    await fixture.clock.advance(2 * minute);
    expect([took(fixture, "phone"), took(fixture, "hook")]).toEqual([1, 0]);
  });

  it("rings somewhere when only a mailbox has taken it", async () => {
    const chosen = { notices: true };
    const fixture = await startFixture([telegramTo("chat", chosen), mailFor(chosen), ntfyTo("hook")]);
    channelOf(fixture, "chat").always = () => kicked;
    await notify(fixture);
    await fixture.clock.advance(5 * second);
    expect([took(fixture, "mail"), took(fixture, "hook")]).toEqual([1, 1]);
  });

  it("goes on, and once, after the relay is killed in between", async () => {
    const fixture = await startFixture([telegramTo("chat", { notices: true }), ntfyTo("hook")]);
    channelOf(fixture, "chat").always = () => flood(hour);
    await notify(fixture);
    await fixture.clock.advance(10 * second);
    await fixture.kill();
    fixture.unanswered.add("callFallbacks");
    await fixture.clock.advance(25 * second);
    fixture.unanswered.clear();
    await fixture.kill();
    await fixture.clock.advance(2 * minute);
    expect(took(fixture, "hook")).toBe(1);
  });

  it("goes nowhere else because no relay ran for a minute", async () => {
    const fixture = await startFixture([telegramTo("chat", { notices: true }), ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(flood(40 * second));
    await notify(fixture);
    await fixture.clock.advance(second);
    await stopEngine(fixture.engine, fixture.clock);
    await fixture.clock.jump(minute);
    await fixture.restart();
    await fixture.clock.advance(minute);
    expect([took(fixture, "chat"), took(fixture, "hook")]).toEqual([2, 0]);
  });

  it("waits where nothing works, and is read as soon as something does", async () => {
    const fixture = await startFixture([telegramTo("chat", { notices: true }), ntfyTo("hook", { notices: false })]);
    const chat = channelOf(fixture, "chat");
    chat.always = () => kicked;
    await notify(fixture);
    await fixture.clock.advance(3 * hour);
    chat.always = undefined;
    chat.probes.push({ kind: "sent" });
    await fixture.clock.advance(16 * minute);
    expect(took(fixture, "chat")).toBeGreaterThan(1);
    expect(took(fixture, "hook")).toBe(0);
  });

  it("makes no notices without end where everything refuses", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook"), mailFor()]);
    for (const channel of Object.values(fixture.channels)) channel.always = () => refusedMessage;
    await fixture.accept({}, { to: ["chat"] });
    await notify(fixture);
    await fixture.clock.advance(hour);
    const { length } = await fixture.store.listAlerts({ limit: 100 });
    await fixture.clock.advance(3 * hour);
    expect(length).toBeLessThan(5);
    expect(await fixture.store.listAlerts({ limit: 100 })).toHaveLength(length);
  });

  it("does not count as an alert that did not arrive", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channelOf(fixture, "chat").always = () => kicked;
    await notify(fixture);
    for (let alert = 0; alert < 2; alert += 1) await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(5 * second);
    expect(took(fixture, "hook", "2 alerts wait")).toBe(1);
  });

  it("does not count as one either when it has waited for too long", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channelOf(fixture, "chat").always = () => kicked;
    await notify(fixture);
    await fixture.clock.jump(25 * hour);
    await fixture.clock.advance(10 * second);
    channelOf(fixture, "chat").probes.push({ kind: "sent" });
    await fixture.engine.tryNow("chat");
    await fixture.clock.advance(5 * second);
    expect([took(fixture, "hook", "works again"), took(fixture, "hook", "did not arrive")]).toEqual([1, 0]);
  });
});

describe("a destination that is dead", () => {
  const told = (fixture: EngineFixture, words: string) =>
    Object.entries(fixture.channels).flatMap(([name, { calls }]) =>
      calls.filter(({ text }) => text.includes(words)).map(() => name),
    );

  it("is reported, and its end, to all that take notices", async () => {
    const chosen = { notices: true };
    const mail = { ...mailTo("mail", ["risk@example.com"]), notices: true };
    const fixture = await startFixture([telegramTo("chat"), mail, ntfyTo("phone", chosen), ntfyTo("other")]);
    channelOf(fixture, "chat").script.push(kicked);
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(5 * second);
    expect(told(fixture, "chat gets no alerts")).toEqual(["mail", "phone"]);
    channelOf(fixture, "chat").probes.push({ kind: "sent" });
    await fixture.clock.advance(2 * minute);
    expect(told(fixture, "chat works again")).toEqual(["mail", "phone"]);
  });

  it("is reported to one that makes a sound where only a mailbox takes notices", async () => {
    const mail = { ...mailTo("mail", ["risk@example.com"]), notices: true };
    const quiet = telegramTo("quiet", { silent: true, bot: otherBot } as object);
    const fixture = await startFixture([telegramTo("chat"), mail, quiet, ntfyTo("phone")]);
    channelOf(fixture, "chat").script.push(kicked);
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(5 * second);
    expect(told(fixture, "chat gets no alerts")).toEqual(["mail", "phone"]);
  });

  it("has one notice and one end, whatever its trials say meanwhile", async () => {
    const fixture = await startFixture([ntfyTo("gone"), ntfyTo("hook")]);
    const gone = channelOf(fixture, "gone");
    gone.script.push(...new Array(5).fill(refused));
    gone.probe = async () => ({ kind: "sent" });
    for (let alert = 0; alert < 5; alert += 1) await fixture.accept({}, { to: ["gone"] });
    await fixture.clock.advance(10 * second);
    let trial = 0;
    gone.always = () => {
      trial += 1;
      return trial % 2 === 0 ? refused : { ...kicked, reason: "gone" };
    };
    for (let round = 0; round < 12; round += 1) {
      await fixture.accept({}, { to: ["gone"] });
      await fixture.clock.advance(10 * minute);
    }
    gone.always = undefined;
    await fixture.clock.advance(30 * minute);
    const texts = channelOf(fixture, "hook").calls.map(
      ({ text }) => /does not answer|gets no|works again/.exec(text)?.[0],
    );
    // What waiting does not mend is said before the end.
    expect(texts).toEqual(["does not answer", "gets no", "works again"]);
  });
});
