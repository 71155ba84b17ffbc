import { describe, expect, it } from "vitest";
import { releaseHeld } from "../../src/operations/release-held.ts";
import { channelOf, mailTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { hour, lost, minute, second } from "./outcomes.ts";

const hoursEnd = (until: number) => () => ({ until, words: "held until later by quiet hours" });

async function startNight(destinations = [telegramTo("chat")]) {
  const fixture = await startFixture(destinations);
  const until = fixture.clock.now() + 8 * hour;
  fixture.quietHours.find = hoursEnd(until);
  const { calls } = channelOf(fixture, "chat");
  const hold = (facts = {}) => fixture.accept(facts, { planned: { state: "held", dueAt: until } });
  return { ...fixture, fixture, until, calls, hold };
}

describe("a restart with other quiet hours", () => {
  it("sends what is held no more at once, as the summary, and says why", async () => {
    const { fixture, hold, calls, clock } = await startNight();
    const ids = [await hold(), await hold(), await hold()];
    fixture.quietHours.find = undefined;
    await fixture.restart();
    await clock.advance(second);
    expect(calls.map(({ text }) => text)).toEqual([expect.stringMatching(/^🌙 While quiet: 3 alerts/)]);
    expect(await fixture.states(ids[0] ?? "")).toEqual({ chat: "digested" });
  });

  it("holds what it still holds until the new end, earlier or later, and says why", async () => {
    const { fixture, hold, calls, clock, until } = await startNight();
    const id = await hold();
    await hold();
    fixture.quietHours.find = hoursEnd(until - hour);
    await fixture.restart();
    const [delivery] = (await fixture.detail(id)).deliveries;
    expect(delivery).toMatchObject({ state: "held", dueAt: until - hour });
    expect(delivery?.reason).toContain("the quiet hours were changed: held until later");
    fixture.quietHours.find = hoursEnd(until + hour);
    await fixture.restart();
    await clock.jump(8 * hour);
    await clock.advance(minute);
    expect(calls).toHaveLength(0);
    await clock.jump(hour);
    await clock.advance(minute);
    expect(calls).toHaveLength(1);
  });

  it("lets go only of what the new ones let through", async () => {
    const { fixture, hold, until } = await startNight();
    const [critical, warning] = [await hold({ severity: "critical" }), await hold()];
    fixture.quietHours.find = (_name, { severity }) => (severity === "critical" ? undefined : hoursEnd(until)());
    await fixture.restart();
    await fixture.clock.advance(second);
    expect(await fixture.states(critical)).toEqual({ chat: "sent" });
    expect(await fixture.states(warning)).toEqual({ chat: "held" });
  });

  it("changes nothing while they are as before, and reads what is held in batches", async () => {
    const { fixture, hold, clock } = await startNight();
    const ids: string[] = [];
    for (let count = 0; count < 401; count += 1) ids.push(await hold());
    fixture.storeCalls.clear();
    await fixture.restart();
    expect(fixture.storeCalls.get("listHeld")).toBe(2);
    expect(fixture.storeCalls.get("rescheduleHeld")).toBeUndefined();
    fixture.quietHours.find = undefined;
    await fixture.restart();
    expect(fixture.storeCalls.get("rescheduleHeld")).toBe(2);
    await clock.advance(10 * second);
    for (const id of [ids[0], ids[400]]) expect(await fixture.states(id ?? "")).not.toEqual({ chat: "held" });
  });

  it("leaves what is held since nobody knows whether it arrived", async () => {
    const destination = telegramTo("chat", { onAmbiguous: "hold" });
    const { fixture, calls, clock } = await startNight([destination]);
    channelOf(fixture, "chat").script.push(lost);
    const id = await fixture.accept();
    await clock.advance(second);
    fixture.quietHours.find = undefined;
    await fixture.restart();
    await clock.advance(minute);
    expect(await fixture.states(id)).toEqual({ chat: "held" });
    expect(calls).toHaveLength(1);
  });
});

describe("what became due in quiet hours in its group", () => {
  async function startGroup() {
    const { fixture, until, calls } = await startNight([telegramTo("chat"), telegramTo("phone")]);
    const dueAt = fixture.clock.now() + minute;
    const fallback = { to: "phone", at: dueAt + 10 * minute };
    const planned = { state: "held" as const, dueAt, groupName: '["group","all"]', fallback };
    const ids: string[] = [];
    for (const alertKey of ["a", "b"]) ids.push(await fixture.accept({ alertKey }, { to: ["chat"], planned }));
    const { store, clock } = fixture;
    const destinations = [telegramTo("chat")];
    const release = (filter = {}) => releaseHeld({ store, destinations, clock }, filter);
    return { fixture, until, calls, ids, clock, release };
  }

  it("waits for their end, and its fallback as long behind it", async () => {
    const { fixture, ids, calls, clock } = await startGroup();
    await clock.advance(12 * minute);
    channelOf(fixture, "chat").always = () => ({ kind: "retry", reason: "connect_failed", detail: "no" });
    await clock.jump(8 * hour - 12 * minute);
    await clock.advance(9 * minute);
    expect(calls.length).toBeGreaterThan(0);
    expect(Object.keys(await fixture.states(ids[0] ?? ""))).toEqual(["chat"]);
    await clock.advance(2 * minute);
    expect(Object.keys(await fixture.states(ids[0] ?? ""))).toEqual(["chat", "phone"]);
  });

  it("follows the quiet hours of a restart, and the release of its destination", async () => {
    const { fixture, calls, clock } = await startGroup();
    await clock.advance(2 * minute);
    fixture.quietHours.find = undefined;
    await fixture.restart();
    await clock.advance(second);
    expect(calls).toHaveLength(1);
    const other = await startGroup();
    await other.clock.advance(2 * minute);
    expect(await other.release()).toEqual([{ destination: "chat", released: 2 }]);
    await other.clock.advance(second);
    expect(other.calls).toHaveLength(1);
  });

  it("goes out alone where a person releases it before", async () => {
    const { fixture, calls, ids, clock, release } = await startGroup();
    expect(await release({ alertIds: [ids[0]] })).toEqual([{ destination: "chat", released: 1 }]);
    await clock.advance(second);
    expect(calls).toHaveLength(1);
    expect(await fixture.states(ids[0] ?? "")).toEqual({ chat: "sent" });
    expect(await fixture.states(ids[1] ?? "")).toEqual({ chat: "held" });
  });
});

describe("the summary", () => {
  it.each([
    [{ from: "11:00", to: "13:00" }, "While quiet (11:00 to 13:00): 2 alerts"],
    [{ from: "22:00", to: "13:00" }, "While quiet (22:00 to 13:00): 2 alerts"],
    [{ from: "00:00", to: "00:00" }, "While quiet (00:00 to 00:00): 2 alerts"],
    [{ from: "22:00", to: "07:00" }, "While quiet: 2 alerts"],
  ])("names quiet hours in which its alerts came, and no others: %j", async (hours, heading) => {
    const quietHours = { ...hours, except: [] };
    const { hold, calls, clock } = await startNight([telegramTo("chat", { quietHours })]);
    await hold();
    await hold();
    await clock.jump(8 * hour);
    await clock.advance(minute);
    expect(calls.map(({ text }) => text)).toEqual([expect.stringContaining(heading)]);
  });
});

describe("releasing what is held", () => {
  async function startRelease(destinations = [telegramTo("chat"), mailTo("mail", ["a@x.io"])]) {
    const night = await startNight(destinations as Parameters<typeof startNight>[0]);
    const { store, clock } = night.fixture;
    const release = (filter = {}) => releaseHeld({ store, destinations, clock }, filter);
    return { ...night, release };
  }

  it("sends one summary for each destination, at once, and once", async () => {
    const { fixture, hold, calls, clock, release } = await startRelease();
    const id = await hold();
    await hold();
    expect(await release()).toEqual([
      { destination: "chat", released: 2 },
      { destination: "mail", released: 2 },
    ]);
    await release();
    await clock.advance(second);
    expect(await release()).toEqual([]);
    expect(calls.map(({ text }) => text)).toEqual([expect.stringContaining("While quiet: 2 alerts")]);
    expect(channelOf(fixture, "mail").calls).toHaveLength(1);
    expect(await fixture.states(id)).toEqual({ chat: "digested", mail: "digested" });
  });

  it("sends only to the destination named, or only the alerts named", async () => {
    const { fixture, hold, clock, release } = await startRelease();
    const [first, second_] = [await hold(), await hold()];
    expect(await release({ destination: "mail" })).toEqual([{ destination: "mail", released: 2 }]);
    expect(await release({ alertIds: [first, first] })).toEqual([{ destination: "chat", released: 1 }]);
    await clock.advance(second);
    expect(await fixture.states(first)).toEqual({ chat: "sent", mail: "digested" });
    expect(await fixture.states(second_)).toEqual({ chat: "held", mail: "digested" });
  });

  it("repeats what may have arrived only where its alert is named, and marks it", async () => {
    const { fixture, calls, clock, release } = await startRelease([telegramTo("chat", { onAmbiguous: "hold" })]);
    channelOf(fixture, "chat").script.push(lost);
    const id = await fixture.accept();
    await clock.settle();
    await clock.jump(25 * hour);
    expect(await release()).toEqual([]);
    expect(await release({ alertIds: [id] })).toEqual([{ destination: "chat", released: 1 }]);
    await clock.advance(minute);
    expect(calls[1]?.text).toContain("(possible repeat)");
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("says which alert or destination there is not", async () => {
    const { release } = await startRelease();
    await expect(release({ destination: "desk" })).rejects.toMatchObject({ code: "not_found" });
    await expect(release({ alertIds: ["01a1fb74-3be6-7000-aab0-a0517905e242"] })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});
