import { describe, expect, it } from "vitest";
import { mailTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { hour, minute, second } from "./outcomes.ts";

const key = { alertKey: "k", severity: "critical" } as const;
const over = { ...key, status: "resolved" } as const;

async function startChat() {
  const { fixture, clock, chat } = await startFixture([telegramTo("chat")]);
  const heldUntil = (dueAt: number) => ({ planned: { state: "held" as const, dueAt } });
  /** Waits for the end of quiet hours, in a moment. */
  const passHour = async () => {
    await clock.jump(hour);
    await clock.advance(minute);
  };
  return { ...fixture, calls: chat.calls, heldUntil, passHour };
}

describe("an alert that is over", () => {
  it("rings nowhere, whether or not anything was sent before; what fires does", async () => {
    const { accept, clock, chat, mail } = await startFixture([telegramTo("chat"), mailTo("mail")]);
    for (const facts of [over, key, over, key]) {
      await accept(facts);
      await clock.advance(2 * minute);
    }
    expect(chat.silences).toEqual([true, false, true, true, false]);
    expect(mail.silences).toEqual([true, false, true, false]);
  });

  it("rings nowhere as a notice that can wait, and an alert of that severity rings", async () => {
    const { accept, clock, chat } = await startChat();
    for (const severity of ["info", "warning"] as const) {
      await accept({ alertKey: severity, severity }, { purpose: "notice" });
      await clock.advance(10 * second);
    }
    await accept({ alertKey: "alert", severity: "info" });
    await clock.advance(10 * second);
    expect(chat.silences).toEqual([true, false, false]);
  });

  it("sounds as any other when a person asks for it again", async () => {
    const { accept, clock, chat } = await startChat();
    await accept(over, { purpose: "resend" });
    await clock.advance(second);
    expect(chat.silences).toEqual([false]);
  });

  it("rings no longer when everything in a digest is over", async () => {
    const { accept, clock, chat, heldUntil, passHour } = await startChat();
    const until = clock.now() + hour;
    await accept({ ...over, alertKey: "a" }, heldUntil(until));
    await accept({ ...over, alertKey: "b" }, heldUntil(until));
    await passHour();
    expect(chat.silences).toEqual([true]);
    await accept({ ...over, alertKey: "a" }, heldUntil(until + hour));
    await accept({ ...key, alertKey: "b" }, heldUntil(until + hour));
    await passHour();
    expect(chat.silences).toEqual([true, false]);
  });

  it.each(["auto", "edit", "reply"] as const)(
    "rings as new when it fires again while its end waits for the end of quiet hours: updates %s",
    async (updates) => {
      const { accept, clock, calls, heldUntil } = await startChat();
      const through = { planned: { updates } };
      await accept(key, through);
      await clock.advance(10 * second);
      await accept(over, { planned: { updates, ...heldUntil(clock.now() + hour).planned } });
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
    const { accept, clock, calls, heldUntil, passHour } = await startChat();
    await accept(key);
    await clock.advance(10 * second);
    await accept(over, heldUntil(clock.now() + hour));
    await accept(key);
    await clock.advance(10 * second);
    await passHour();
    expect(calls.map(({ action }) => action)).toEqual(["send", "send", "send"]);
    expect(calls[2]?.text).toMatch(/^✅ Over: [\s\S]*It fires again since/);
    await accept(over);
    await clock.advance(minute);
    expect(calls[3]).toMatchObject({ action: "edit", ref: "2" });
    expect(calls[4]).toMatchObject({ context: { replyTo: "2" } });
  });

  it("closes its message once quiet hours are over", async () => {
    const { accept, clock, calls, heldUntil, passHour } = await startChat();
    await accept(key);
    await clock.advance(8 * minute);
    await accept(over, heldUntil(clock.now() + hour));
    await passHour();
    expect(calls[1]).toMatchObject({ action: "edit", ref: "1", text: expect.stringMatching(/^🚨 Alert 1\n✅ Over/) });
    expect(calls[2]?.text).toMatch(/^✅ Over after 8 min: Alert 2\n⏱ 1 h late: quiet hours$/);
    await accept(key);
    await clock.advance(second);
    expect(calls[3]).toMatchObject({ action: "send", context: { silent: false } });
  });

  it("is no second message when its later end can change none, and the record says so", async () => {
    const { accept, clock, chat, calls, detail } = await startChat();
    for (const facts of [key, over]) {
      await accept(facts);
      await clock.advance(minute);
    }
    const told = calls.length;
    chat.script.push({ kind: "rejected", scope: "message", reason: "message_refused", detail: "not to be edited" });
    const id = await accept(over, { planned: { updates: "later_end" } });
    await clock.advance(minute);
    expect(calls.slice(told)).toMatchObject([{ action: "edit" }]);
    const attempts = [{ outcome: "rejected" }, { outcome: "sent", detail: expect.stringContaining("no new message") }];
    expect((await detail(id)).deliveries).toMatchObject([{ state: "sent", attempts }]);
  });
});
