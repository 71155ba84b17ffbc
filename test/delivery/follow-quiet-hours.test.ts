import { describe, expect, it } from "vitest";
import { releaseHeld } from "../../src/operations/release-held.ts";
import { mailTo, type Named, startFixture, telegramTo } from "./engine-fixture.ts";
import { hour, lost, minute, second } from "./outcomes.ts";

const hoursEnd = (until: number) => () => ({ until, words: "held until later by quiet hours" });

/** A relay in quiet hours that end in eight hours, and a way to store what they hold. */
async function startNight<N extends string = never>(chat = telegramTo("chat"), ...others: Named<N>[]) {
  const destinations = [chat, ...others];
  const fixture = await startFixture<"chat" | N>(destinations);
  const until = fixture.clock.now() + 8 * hour;
  fixture.quietHours.find = hoursEnd(until);
  const hold = (facts = {}) => fixture.accept(facts, { planned: { state: "held", dueAt: until } });
  const { store, clock, play } = fixture;
  const release = (filter = {}) => releaseHeld({ store, destinations, clock }, filter);
  /** A restart that finds other quiet hours, or none. */
  const restartWith = async (find = fixture.quietHours.find) => {
    fixture.quietHours.find = find;
    await play("restart", second);
  };
  const endQuietHours = () => {
    fixture.quietHours.find = undefined;
    return restartWith();
  };
  return { ...fixture, fixture, until, hold, release, restartWith, endQuietHours };
}

describe("a restart with other quiet hours", () => {
  it("sends what is held no more at once, as the summary, and says why", async () => {
    const { hold, chat, states, endQuietHours } = await startNight();
    const id = await hold();
    for (let more = 0; more < 2; more += 1) await hold();
    await endQuietHours();
    expect(chat.texts).toEqual([expect.stringMatching(/^🌙 While quiet: 3 alerts/)]);
    expect(await states(id)).toEqual({ chat: "digested" });
  });

  it("holds what it still holds until the new end, earlier or later, and says why", async () => {
    const { hold, chat, clock, detail, until, restartWith } = await startNight();
    const id = await hold();
    await hold();
    await restartWith(hoursEnd(until - hour));
    const [delivery] = (await detail(id)).deliveries;
    expect(delivery).toMatchObject({ state: "held", dueAt: until - hour });
    expect(delivery?.reason).toContain("the quiet hours were changed: held until later");
    await restartWith(hoursEnd(until + hour));
    await clock.jump(8 * hour);
    await clock.advance(minute);
    expect(chat.calls).toHaveLength(0);
    await clock.jump(hour);
    await clock.advance(minute);
    expect(chat.calls).toHaveLength(1);
  });

  it("lets go only of what the new ones let through", async () => {
    const { hold, until, states, restartWith } = await startNight();
    const [critical, warning] = [await hold({ severity: "critical" }), await hold()];
    await restartWith((_name, { severity }) => (severity === "critical" ? undefined : hoursEnd(until)()));
    expect([await states(critical), await states(warning)]).toEqual([{ chat: "sent" }, { chat: "held" }]);
  });

  it("changes nothing while they are as before, and lets go of as many as were held", async () => {
    const { fixture, acceptMany, clock, states, restartWith, endQuietHours } = await startNight();
    const ids = await acceptMany(401, {}, { heldForMs: 8 * hour });
    await restartWith();
    expect(fixture.storeCalls.get("rescheduleHeld")).toBeUndefined();
    await endQuietHours();
    await clock.advance(10 * second);
    for (const id of [ids[0], ids[400]]) expect(await states(id ?? "")).not.toEqual({ chat: "held" });
  });

  it("leaves what is held since nobody knows whether it arrived", async () => {
    const night = await startNight(telegramTo("chat", { onAmbiguous: "hold" }));
    const id = await night.meet("chat", lost);
    await night.endQuietHours();
    await night.clock.advance(minute);
    expect(await night.states(id)).toEqual({ chat: "held" });
    expect(night.chat.calls).toHaveLength(1);
  });
});

describe("what became due in quiet hours in its group", () => {
  async function startGroup() {
    const night = await startNight(undefined, telegramTo("phone"));
    const dueAt = night.clock.now() + minute;
    const fallback = { to: "phone", at: dueAt + 10 * minute };
    const planned = { state: "held" as const, dueAt, groupName: '["group","all"]', fallback };
    const ids: string[] = [];
    for (const alertKey of ["a", "b"]) ids.push(await night.accept({ alertKey }, { to: ["chat"], planned }));
    const statesOf = async () => Promise.all(ids.map(night.states));
    return { ...night, ids, statesOf };
  }

  it("waits for their end, and its fallback as long behind it", async () => {
    const { statesOf, chat, clock } = await startGroup();
    await clock.advance(2 * minute);
    chat.always = () => ({ kind: "retry", reason: "connect_failed", detail: "no" });
    await clock.jump(8 * hour - 2 * minute);
    await clock.advance(9 * minute);
    expect(chat.calls.length).toBeGreaterThan(0);
    expect(await statesOf()).toEqual(Array(2).fill({ chat: expect.any(String) }));
    await clock.advance(2 * minute);
    expect(await statesOf()).toEqual(Array(2).fill({ chat: expect.any(String), phone: expect.any(String) }));
  });

  it.each(["a restart without quiet hours", "the release of its destination"])("follows %s", async (what) => {
    const { chat, clock, endQuietHours, release } = await startGroup();
    await clock.advance(2 * minute);
    if (what.includes("restart")) await endQuietHours();
    else expect(await release()).toEqual([{ destination: "chat", released: 2 }]);
    await clock.advance(second);
    expect(chat.calls).toHaveLength(1);
  });

  it("goes out alone where a person releases it before", async () => {
    const { chat, ids, clock, statesOf, release } = await startGroup();
    expect(await release({ alertIds: [ids[0]] })).toEqual([{ destination: "chat", released: 1 }]);
    await clock.advance(second);
    expect(chat.calls).toHaveLength(1);
    expect(await statesOf()).toEqual([{ chat: "sent" }, { chat: "held" }]);
  });
});

it.each([
  [{ from: "11:00", to: "13:00" }, "While quiet (11:00 to 13:00): 2 alerts"],
  [{ from: "22:00", to: "13:00" }, "While quiet (22:00 to 13:00): 2 alerts"],
  [{ from: "00:00", to: "00:00" }, "While quiet (00:00 to 00:00): 2 alerts"],
  [{ from: "22:00", to: "07:00" }, "While quiet: 2 alerts"],
])("the summary names quiet hours in which its alerts came, and no others: %j", async (hours, heading) => {
  const quietHours = { ...hours, except: [] };
  const { hold, chat, clock } = await startNight(telegramTo("chat", { quietHours }));
  await hold();
  await hold();
  await clock.jump(8 * hour);
  await clock.advance(minute);
  expect(chat.texts).toEqual([expect.stringContaining(heading)]);
});

describe("releasing what is held", () => {
  const startBoth = () => startNight(undefined, mailTo("mail"));

  it("sends one summary for each destination, at once, and once", async () => {
    const { hold, chat, mail, clock, states, release } = await startBoth();
    const id = await hold();
    await hold();
    const released = ["chat", "mail"].map((destination) => ({ destination, released: 2 }));
    expect(await release()).toEqual(released);
    await release();
    await clock.advance(second);
    expect(await release()).toEqual([]);
    expect(chat.texts).toEqual([expect.stringContaining("While quiet: 2 alerts")]);
    expect(mail.calls).toHaveLength(1);
    expect(await states(id)).toEqual({ chat: "digested", mail: "digested" });
  });

  it("sends only to the destination named, or only the alerts named", async () => {
    const { hold, clock, states, release } = await startBoth();
    const [one, other] = [await hold(), await hold()];
    expect(await release({ destination: "mail" })).toEqual([{ destination: "mail", released: 2 }]);
    expect(await release({ alertIds: [one, one] })).toEqual([{ destination: "chat", released: 1 }]);
    await clock.advance(second);
    expect(await states(one)).toEqual({ chat: "sent", mail: "digested" });
    expect(await states(other)).toEqual({ chat: "held", mail: "digested" });
  });

  it("repeats what may have arrived only where its alert is named, and marks it", async () => {
    const night = await startNight(telegramTo("chat", { onAmbiguous: "hold" }));
    const { chat, clock, states, release } = night;
    const id = await night.meet("chat", lost);
    await clock.jump(25 * hour);
    expect(await release()).toEqual([]);
    expect(await release({ alertIds: [id] })).toEqual([{ destination: "chat", released: 1 }]);
    await clock.advance(minute);
    expect(chat.repeats).toEqual([false, true]);
    expect(await states(id)).toEqual({ chat: "sent" });
  });

  it.each([{ destination: "desk" }, { alertIds: ["01a1fb74-3be6-7000-aab0-a0517905e242"] }])(
    "says that there is no such alert or destination: %j",
    async (filter) => {
      const { release } = await startBoth();
      await expect(release(filter)).rejects.toMatchObject({ code: "not_found" });
    },
  );
});
