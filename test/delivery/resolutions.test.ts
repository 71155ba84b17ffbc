import { describe, expect, it } from "vitest";
import { channelOf, mailTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { hour, minute, second } from "./outcomes.ts";

const key = { alertKey: "k", severity: "critical" } as const;
const over = { ...key, status: "resolved" } as const;

async function startChat() {
  const fixture = await startFixture([telegramTo("chat")]);
  const { calls } = channelOf(fixture, "chat");
  const heldUntil = (dueAt: number) => ({ planned: { state: "held" as const, dueAt } });
  return { ...fixture, calls, heldUntil };
}

describe("an alert that is over", () => {
  it("rings nowhere, whether or not anything was sent before; what fires does", async () => {
    const fixture = await startFixture([telegramTo("chat"), mailTo("mail", ["a@x.io"])]);
    for (const facts of [over, key, over, key]) {
      await fixture.accept(facts);
      await fixture.clock.advance(2 * minute);
    }
    const silentOf = (name: string) => channelOf(fixture, name).calls.map(({ context }) => context.silent);
    expect(silentOf("chat")).toEqual([true, false, true, true, false]);
    expect(silentOf("mail")).toEqual([true, false, true, false]);
  });

  it("rings nowhere as a notice that can wait, and an alert of that severity rings", async () => {
    const { accept, clock, calls } = await startChat();
    for (const severity of ["info", "warning"] as const) {
      await accept({ alertKey: severity, severity }, { purpose: "notice" });
      await clock.advance(2 * minute);
    }
    await accept({ alertKey: "alert", severity: "info" });
    await clock.advance(2 * minute);
    expect(calls.map(({ context }) => context.silent)).toEqual([true, false, false]);
  });

  it("sounds as any other when a person asks for it again", async () => {
    const { accept, clock, calls } = await startChat();
    await accept(over, { purpose: "resend" });
    await clock.advance(second);
    expect(calls[0]?.context.silent).toBe(false);
  });

  it("rings no longer when everything in a digest is over", async () => {
    const { accept, clock, calls, heldUntil } = await startChat();
    const until = clock.now() + hour;
    await accept({ ...over, alertKey: "a" }, heldUntil(until));
    await accept({ ...over, alertKey: "b" }, heldUntil(until));
    await clock.advance(hour + minute);
    expect(calls).toMatchObject([{ context: { silent: true } }]);
    await accept({ ...over, alertKey: "a" }, heldUntil(until + hour));
    await accept({ ...key, alertKey: "b" }, heldUntil(until + hour));
    await clock.advance(hour + minute);
    expect(calls[1]).toMatchObject({ context: { silent: false } });
  });

  it.each(["auto", "edit", "reply"] as const)(
    "rings as new when it fires again while its end waits for the end of quiet hours: updates %s",
    async (updates) => {
      const { accept, clock, calls, heldUntil } = await startChat();
      const through = { planned: { updates } };
      await accept(key, through);
      await clock.advance(10 * second);
      const until = clock.now() + hour;
      await accept(over, { planned: { updates, ...heldUntil(until).planned } });
      await clock.advance(10 * second);
      await accept(key, through);
      await clock.advance(10 * second);
      expect(calls).toHaveLength(2);
      expect(calls[1]).toMatchObject({ action: "send", context: { silent: false } });
      expect(calls[1]?.context.replyTo).toBeUndefined();
      expect(calls[1]?.text).not.toContain("time since");
    },
  );

  it("does not close what fires again since, and says so", async () => {
    const { accept, clock, calls, heldUntil } = await startChat();
    await accept(key);
    await clock.advance(10 * second);
    await accept(over, heldUntil(clock.now() + hour));
    await accept(key);
    await clock.advance(hour + minute);
    expect(calls.map(({ action }) => action)).toEqual(["send", "send", "send"]);
    expect(calls[2]?.text).toMatch(/^✅ Over: [\s\S]*It fires again since/);
    await accept(over);
    await clock.advance(minute);
    expect(calls[3]).toMatchObject({ action: "edit", ref: "2" });
    expect(calls[4]).toMatchObject({ context: { replyTo: "2" } });
  });

  it("closes its message once quiet hours are over", async () => {
    const { accept, clock, calls, heldUntil } = await startChat();
    await accept(key);
    await clock.advance(8 * minute);
    await accept(over, heldUntil(clock.now() + hour));
    await clock.advance(hour + minute);
    expect(calls[1]).toMatchObject({
      action: "edit",
      ref: "1",
      text: expect.stringMatching(/^🚨 Alert 1\n✅ Over/),
    });
    expect(calls[2]?.text).toMatch(/^✅ Over after 8 min: Alert 2\n⏱ 1 h late: quiet hours$/);
    await accept(key);
    await clock.advance(second);
    expect(calls[3]).toMatchObject({ action: "send", context: { silent: false } });
  });

  it("is no second message when its later end can change none, and the record says so", async () => {
    const fixture = await startChat();
    const { accept, clock, calls } = fixture;
    for (const facts of [key, over]) {
      await accept(facts);
      await clock.advance(minute);
    }
    const told = calls.length;
    channelOf(fixture, "chat").script.push({
      kind: "rejected",
      scope: "message",
      reason: "message_refused",
      detail: "not to be edited",
    });
    const id = await accept(over, { planned: { updates: "later_end" } });
    await clock.advance(minute);
    expect(calls.slice(told)).toMatchObject([{ action: "edit" }]);
    const { deliveries } = await fixture.detail(id);
    expect(deliveries).toMatchObject([
      {
        state: "sent",
        attempts: [{ outcome: "rejected" }, { outcome: "sent", detail: expect.stringContaining("no new message") }],
      },
    ]);
  });
});
