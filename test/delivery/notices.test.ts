import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { Secret } from "../../src/core/secret.ts";
import { anAlert } from "../support/facts.ts";
import {
  channelOf,
  type EngineFixture,
  mailTo,
  type Named,
  ntfyTo,
  startFixture,
  stopEngine,
  telegramTo,
} from "./engine-fixture.ts";
import { flood, hour, kicked, lost, minute, refused, refusedRecipient, second } from "./outcomes.ts";

const refusedMessage = { ...kicked, scope: "message", reason: "message_refused", detail: "550 spam" } as const;
const otherBot = { id: "8", token: new Secret("8:canary-token"), apiRoot: "http://127.0.0.1:1" };
const chosen = { notices: true };
const never = { notices: false };

/** What these words of a notice are, if any. */
const wordsIn = (texts: string[], words: RegExp) => texts.map((text) => words.exec(text)?.[0]);
/** The destinations that were told so, once for each time. */
const told = ({ channels }: EngineFixture, words: string) =>
  Object.entries(channels).flatMap(([name, { texts }]) => texts.filter((text) => text.includes(words)).map(() => name));

describe("notices", () => {
  it("come in one pair while a destination flaps", async () => {
    const fixture = await startFixture([ntfyTo("flaky"), ntfyTo("hook")]);
    for (let round = 0; round < 3; round += 1) {
      fixture.flaky.script = new Array(6).fill(refused);
      await fixture.acceptMany(6, {}, { to: ["flaky"] });
      await fixture.clock.advance(2.5 * minute);
    }
    const said = wordsIn(fixture.hook.texts, /does not answer|works again/);
    expect(said).toEqual(["does not answer", "works again"]);
  });

  it("wait on the page until there is somebody to notify", async () => {
    const { fixture, chat, hook, clock, store } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    chat.always = () => kicked;
    hook.always = () => refused;
    await fixture.acceptMany(6);
    await clock.advance(20 * second);
    expect(await store.listAlerts({ limit: 1, state: "unmatched" })).toMatchObject([{ origin: "notice" }]);
    hook.always = undefined;
    await clock.advance(2 * minute);
    expect(told(fixture, "chat gets no alerts")).toContain("hook");
  });

  it("reach somebody within a minute although the destination that seemed well hangs", async () => {
    const { hangs, hook, clock, meet } = await startFixture([telegramTo("chat"), ntfyTo("hangs"), ntfyTo("hook")]);
    hangs.always = () => new Promise<Outcome>(() => {});
    await meet("chat", kicked);
    await clock.advance(55 * second);
    expect(hook.texts).toEqual([expect.stringContaining("chat gets no alerts")]);
  });

  it("say in plain words what is wrong and what to do, and lead there", async () => {
    const { fixture, chat, down, hook } = await startFixture([telegramTo("chat"), ntfyTo("down"), ntfyTo("hook")]);
    chat.script.push(kicked);
    down.always = () => ({ ...refused, detail: "connect ECONNREFUSED 10.0.0.9:443" });
    await fixture.acceptMany(6, {}, { to: ["chat", "down"] });
    await fixture.clock.advance(minute);
    const ofChat = "The bot was removed from the group. Add the bot back and let it post.";
    expect(hook.texts.find((text) => text.includes("chat"))).toContain(ofChat);
    expect(hook.texts.find((text) => text.includes("down does not answer"))).toMatch(
      /The ntfy server could not be reached\. Nothing is lost: \d+ alerts wait and follow as one message when it answers\./,
    );
    for (const { text, link } of hook.calls) {
      expect(text).not.toMatch(/ECONN|From: Tocsin/);
      const place = text.includes("chat") ? "chat" : "down";
      expect(link).toBe(`https://tocsin.example.com/destinations#destination-${place}`);
    }
  });

  it("say when it works again how long it took, and what is left to do", async () => {
    const { play, chat, hook, clock, engine } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    await play(kicked, [{ title: "Pool drained" }, { to: ["chat"] }], 10 * second, 82 * minute, 10 * second);
    chat.probes.push({ kind: "sent" });
    await engine.tryNow("chat");
    await clock.advance(5 * second);
    const last = hook.calls.at(-1);
    expect(last?.text).toMatch(/chat works again after 1 h 2\d min/);
    expect(last?.text).toContain("1 alert did not arrive: resend it at Destinations on the page.");
    expect(last?.link).toBe("https://tocsin.example.com/?destination=chat&state=failed");
  });

  it("are told once by a relay that is killed right behind them", async () => {
    const { fixture, chat, hook, clock, unanswered, play } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const killBehindNotice = async () => {
      unanswered.add("recordNotice");
      await clock.advance(30 * second);
      unanswered.clear();
      await play("kill", 30 * second);
      return wordsIn(hook.texts, /gets no|works again/);
    };
    chat.script.push(kicked);
    await fixture.accept({}, { to: ["chat"] });
    expect(await killBehindNotice()).toEqual(["gets no"]);
    chat.probes.push({ kind: "sent" });
    await fixture.engine.tryNow("chat");
    expect(await killBehindNotice()).toEqual(["gets no", "works again"]);
  });

  it("take nothing back that a person has done while they were written", async () => {
    const { fixture, store } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    fixture.seen = {
      ...store,
      async countByDestination() {
        await fixture.engine.setPause("chat", "somebody");
        return store.countByDestination();
      },
    };
    await fixture.restart();
    fixture.unanswered.add("recordNotice");
    await fixture.meet("chat", kicked);
    await fixture.clock.advance(25 * second);
    fixture.unanswered.clear();
    await fixture.kill();
    expect((await store.loadStatuses()).find(({ name }) => name === "chat")?.paused?.by).toBe("somebody");
  });

  it("do not say that a destination works again because its address takes connections", async () => {
    const { gone, hook, clock, meet } = await startFixture([ntfyTo("gone"), ntfyTo("hook")]);
    gone.probes.push({ kind: "sent" });
    await meet("gone", { ...kicked, reason: "gone", detail: "answered 410" });
    await clock.jump(25 * hour);
    await clock.advance(10 * second);
    expect(hook.calls).toHaveLength(1);
    await meet("gone", { kind: "sent" });
    expect(hook.texts.at(-1)).toContain("gone works again");
  });

  it("are sent elsewhere of an alert that was refused while its destination works, and then count for ten minutes", async () => {
    const riskMail = mailTo("mail", ["risk@example.com"]);
    const { play, acceptMany, mail, chat, clock } = await startFixture([riskMail, telegramTo("chat")]);
    mail.always = () => refusedRecipient;
    await play([{ title: "Pool drained" }, { to: ["mail"] }], 5 * second);
    expect(chat.calls).toHaveLength(1);
    for (const part of ["1 alert did not reach mail", "Pool drained", "risk@example.com", "550 no such mailbox"])
      expect(chat.texts[0]).toContain(part);
    await acceptMany(2, {}, { to: ["mail"] });
    await clock.advance(9 * minute);
    expect(chat.calls).toHaveLength(1);
    await clock.advance(2 * minute);
    expect(wordsIn(chat.texts, /\d alerts? did not reach mail/)).toEqual([
      "1 alert did not reach mail",
      "2 alerts did not reach mail",
    ]);
  });

  it("count messages, and name the alert once, where a mail to several was refused", async () => {
    const to = ["risk@example.com", "treasury@example.com"];
    const { mail, chat, play } = await startFixture([mailTo("mail", to), telegramTo("chat")]);
    mail.always = () => refusedRecipient;
    await play([{ title: "Pool drained" }, { to: ["mail"] }], 11 * minute);
    expect(chat.texts.join("\n")).not.toMatch(/and more|\d alert/);
    expect(chat.texts.at(-1)).toContain("2 messages did not reach mail");
  });

  it.each(["a restart", "a crash"])("say after %s what was still to be counted, in its time", async (how) => {
    const { fixture, play, chat, clock, failing } = await startFixture([mailTo("mail"), telegramTo("chat")]);
    const toMail = { to: ["mail"] };
    await play(refusedRecipient, [{ title: "first" }, toMail], 5 * second);
    await play(refusedRecipient, [{ title: "second" }, toMail], 5 * second);
    expect(chat.calls).toHaveLength(1);
    // Whoever crashes saves nothing any more.
    if (how === "a crash") failing.add("saveStatus").add("recordNotice");
    await fixture.restart();
    failing.clear();
    await clock.advance(9 * minute);
    expect(chat.calls).toHaveLength(1);
    await clock.advance(2 * minute);
    expect(chat.texts.slice(1)).toEqual([expect.stringContaining("alerts: second")]);
    await play("restart", 11 * minute);
    expect(chat.calls).toHaveLength(2);
  });

  it("reach the readers themselves of a message that was refused when there is nobody else", async () => {
    const { play, chat, engine } = await startFixture([telegramTo("chat")]);
    await play(refusedMessage, refusedMessage, { title: "Pool drained" }, 10 * second);
    expect(chat.texts.map((text) => text.includes("1 alert did not reach chat"))).toEqual([false, false, true]);
    expect([...engine.figures.refusedMessages]).toEqual([["chat", 2]]);
  });

  it("ask about an alert that is held since nobody knows whether it arrived", async () => {
    const { hook, meet } = await startFixture([telegramTo("chat", { onAmbiguous: "hold" }), ntfyTo("hook")]);
    await meet("chat", lost);
    expect(hook.texts).toEqual([expect.stringContaining('Did "Alert 1" reach chat?')]);
    expect(hook.texts[0]).not.toContain("alerts:");
  });

  it("ask about it when another destination works again, if none did just then", async () => {
    const fixture = await startFixture([telegramTo("chat", { onAmbiguous: "hold" }), ntfyTo("hook")]);
    const { hook, clock, play } = fixture;
    hook.always = () => refused;
    await fixture.acceptMany(6, {}, { to: ["hook"] });
    await play(20 * second, lost, [{ title: "Perhaps" }, { to: ["chat"] }], minute);
    hook.always = undefined;
    await clock.advance(5 * minute);
    expect(told(fixture, 'Did "Perhaps" reach chat?')).toEqual(["hook"]);
  });

  it("say nothing of a failure that a person looks on at, or that the fallback has taken over", async () => {
    const { mail, chat, play } = await startFixture([mailTo("mail"), telegramTo("chat")]);
    mail.always = () => refusedRecipient;
    await play([{}, { to: ["mail"], purpose: "test" }], [{}, { to: ["mail"], fallback: ["chat", hour] }], minute);
    expect(chat.texts.map((text) => text.includes("did not reach"))).toEqual([false]);
  });
});

const notice = anAlert({ title: "The account's webhook is another one", severity: "critical", format: "empty" });

/** Sends the notice, or one that differs in this, and lets five seconds pass. */
async function notify({ engine, clock }: EngineFixture, changes: Partial<typeof notice> = {}): Promise<void> {
  await engine.notify({ ...notice, ...changes });
  await clock.advance(5 * second);
}
const toldOfIt = (fixture: EngineFixture) => told(fixture, notice.title);
const took = (fixture: EngineFixture, ...names: string[]) =>
  names.map((name) => toldOfIt(fixture).filter((one) => one === name).length);

const [chat, hook, other, mail] = [telegramTo("chat"), ntfyTo("hook"), ntfyTo("other"), mailTo("mail")];
const chosenChat = telegramTo("chat", chosen);
const chosenMail = mailTo("mail", ["a@x.io"], chosen);
const [chosenHook, chosenPhone] = [ntfyTo("hook", chosen), ntfyTo("phone", chosen)];
const sameChat = <N extends string>(name: N, changes = {}) => telegramTo(name, { chatId: "-1007", ...changes });

describe("a notice for everybody", () => {
  it("goes to each destination that works, and is remembered in the same step", async () => {
    const fixture = await startFixture([chat, hook]);
    await fixture.meet("chat", kicked);
    await fixture.engine.notify(notice, { name: "account", state: { told: true } });
    await fixture.clock.advance(5 * second);
    expect(toldOfIt(fixture)).toEqual(["hook"]);
    expect(await fixture.store.loadWatchState("account")).toEqual({ told: true });
  });

  it.each<[string, Named<string>[], string[]]>([
    ["those that are set for notices alone", [chat, chosenHook, other], ["hook"]],
    ["all but those that want none", [chat, ntfyTo("hook", never), other], ["chat", "other"]],
    ["a chat once that several destinations lead to", [sameChat("loud"), sameChat("calm")], ["loud"]],
    ["it with a sound where one of them makes it", [sameChat("calm", { silent: true }), sameChat("loud")], ["loud"]],
    [
      "it with a sound also where the silent one is set for notices",
      [sameChat("calm", { silent: true, notices: true }), sameChat("loud")],
      ["loud"],
    ],
  ])("goes to %s", async (_who, destinations, expected) => {
    const fixture = await startFixture(destinations);
    await notify(fixture);
    expect(toldOfIt(fixture)).toEqual(expected);
  });

  it("goes to a chat that several destinations lead to by one that works", async () => {
    const fixture = await startFixture([sameChat("loud"), sameChat("calm")]);
    fixture.loud.always = () => kicked;
    await fixture.meet("loud", kicked);
    await notify(fixture);
    expect(took(fixture, "calm")).toEqual([1]);
  });

  it.each<[string, Named<string>[], string[], { isKnown?: true }?]>([
    ["at once to one of the others that work", [chosenChat, hook, mail], ["hook"]],
    ["no further where another of those for notices has it", [chosenChat, chosenPhone, hook], ["phone"]],
    ["to one that rings where only a mailbox has it", [chosenChat, chosenMail, hook], ["hook", "mail"]],
    ["to the others as well", [chosenChat, hook, ntfyTo("never", never)], ["hook"], { isKnown: true }],
  ])("goes %s when one for notices is dead", async (_where, destinations, expected, { isKnown } = {}) => {
    const fixture = await startFixture(destinations);
    channelOf(fixture, "chat").always = () => kicked;
    if (isKnown) await fixture.meet("chat", kicked);
    await notify(fixture);
    await fixture.clock.advance(2 * minute);
    expect([...new Set(toldOfIt(fixture))].filter((name) => name !== "chat").sort()).toEqual(expected);
    if (!isKnown) expect(took(fixture, ...expected)).toEqual(expected.map(() => 1));
  });
});

describe("a notice that a destination fails", () => {
  it("says instead of whom it comes", async () => {
    const fixture = await startFixture([chosenChat, hook]);
    fixture.chat.always = () => kicked;
    await notify(fixture);
    expect(fixture.hook.texts[0]).toContain("Sent here because chat has not taken it");
  });

  it.each([
    ["hangs", () => new Promise<Outcome>(() => {})],
    ["asks for an hour of silence", () => flood(hour)],
    ["cannot be reached", () => refused],
  ])("goes to another after half a minute when the only one for notices %s", async (_, answer) => {
    const fixture = await startFixture([chosenMail, hook]);
    fixture.mail.always = answer;
    await notify(fixture, { severity: "info" });
    for (const [waitMs, times] of [
      [20 * second, 0],
      [10 * second, 1],
      [5 * minute, 1],
    ] as const) {
      await fixture.clock.advance(waitMs);
      expect(took(fixture, "hook")).toEqual([times]);
    }
  });

  it("goes on, and once, after the relay is killed in between", async () => {
    const fixture = await startFixture([chosenChat, hook]);
    fixture.chat.always = () => flood(hour);
    await notify(fixture);
    await fixture.play(5 * second, "kill");
    fixture.unanswered.add("callFallbacks");
    await fixture.clock.advance(25 * second);
    fixture.unanswered.clear();
    await fixture.play("kill", 2 * minute);
    expect(took(fixture, "hook")).toEqual([1]);
  });

  it("goes nowhere else because no relay ran for a minute", async () => {
    const fixture = await startFixture([chosenChat, hook]);
    fixture.chat.script.push(flood(40 * second));
    await notify(fixture);
    await stopEngine(fixture.engine, fixture.clock);
    await fixture.clock.jump(minute);
    await fixture.play("restart", minute);
    expect(took(fixture, "chat", "hook")).toEqual([2, 0]);
  });

  it("waits where nothing works, and is read as soon as something does", async () => {
    const { fixture, chat, clock } = await startFixture([telegramTo("chat", chosen), ntfyTo("hook", never)]);
    chat.always = () => kicked;
    await notify(fixture);
    await clock.jump(3 * hour);
    await clock.advance(minute);
    chat.always = undefined;
    chat.probes.push({ kind: "sent" });
    await clock.advance(16 * minute);
    expect(took(fixture, "chat")[0]).toBeGreaterThan(1);
    expect(took(fixture, "hook")).toEqual([0]);
  });

  it("makes no notices without end where everything refuses", async () => {
    const { fixture, clock, store, accept } = await startFixture([telegramTo("chat"), ntfyTo("hook"), mailTo("mail")]);
    for (const channel of Object.values(fixture.channels)) channel.always = () => refusedMessage;
    await accept({}, { to: ["chat"] });
    await notify(fixture);
    await clock.advance(15 * minute);
    const { length } = await store.listAlerts({ limit: 100 });
    expect(length).toBeLessThan(5);
    for (let round = 0; round < 4; round += 1) {
      await clock.jump(40 * minute);
      await clock.advance(minute);
    }
    expect(await store.listAlerts({ limit: 100 })).toHaveLength(length);
  });

  it("does not count as an alert that did not arrive", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    fixture.chat.always = () => kicked;
    await fixture.engine.notify(notice);
    await fixture.acceptMany(2, {}, { to: ["chat"] });
    await fixture.clock.advance(5 * second);
    expect(told(fixture, "2 alerts wait")).toEqual(["hook"]);
  });

  it("does not count as one either when it has waited for too long", async () => {
    const { fixture, chat, clock, engine } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    chat.always = () => kicked;
    await engine.notify(notice);
    await clock.jump(25 * hour);
    await clock.advance(10 * second);
    chat.probes.push({ kind: "sent" });
    await engine.tryNow("chat");
    await clock.advance(5 * second);
    expect([told(fixture, "works again"), told(fixture, "did not arrive")]).toEqual([["hook"], []]);
  });
});

describe("a destination that is dead", () => {
  it("is reported, and its end, to all that take notices", async () => {
    const fixture = await startFixture([chat, chosenMail, chosenPhone, other]);
    await fixture.meet("chat", kicked);
    expect(told(fixture, "chat gets no alerts")).toEqual(["mail", "phone"]);
    fixture.chat.probes.push({ kind: "sent" });
    await fixture.clock.advance(2 * minute);
    expect(told(fixture, "chat works again")).toEqual(["mail", "phone"]);
  });

  it("is reported to one that makes a sound where only a mailbox takes notices", async () => {
    const quiet = telegramTo("quiet", { silent: true, bot: otherBot } as object);
    const fixture = await startFixture([chat, chosenMail, quiet, ntfyTo("phone")]);
    await fixture.meet("chat", kicked);
    expect(told(fixture, "chat gets no alerts")).toEqual(["mail", "phone"]);
  });

  it("has one notice and one end, whatever its trials say meanwhile", async () => {
    const { fixture, gone, hook, clock, play } = await startFixture([ntfyTo("gone"), ntfyTo("hook")]);
    gone.script.push(...new Array(5).fill(refused));
    gone.probe = async () => ({ kind: "sent" });
    await fixture.acceptMany(5, {}, { to: ["gone"] });
    await clock.advance(10 * second);
    let trial = 0;
    gone.always = () => {
      trial += 1;
      return trial % 2 === 0 ? refused : { ...kicked, reason: "gone" };
    };
    for (let round = 0; round < 6; round += 1) {
      await play([{}, { to: ["gone"] }], 10 * minute);
    }
    gone.always = undefined;
    await clock.advance(20 * minute);
    // What waiting does not mend is said before the end.
    const said = wordsIn(hook.texts, /does not answer|gets no|works again/);
    expect(said).toEqual(["does not answer", "gets no", "works again"]);
  });
});
