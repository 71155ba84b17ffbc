import { describe, expect, it } from "vitest";
import { channelOf, mailTo, startFixture } from "./engine-fixture.ts";
import { flood, second } from "./outcomes.ts";

describe("channels that cannot edit", () => {
  it.each(["auto", "edit", "reply", "new"] as const)("send each event, in one thread: updates %s", async (updates) => {
    const fixture = await startFixture([mailTo("mail", ["a@x.io"])]);
    const mail = channelOf(fixture, "mail");
    for (const status of ["firing", "firing", "resolved"] as const) {
      await fixture.accept({ alertKey: "k", status }, { planned: { updates } });
      await fixture.clock.advance(10 * second);
    }
    expect(mail.calls.map((call) => call.action)).toEqual(["send", "send", "send"]);
    expect(new Set(mail.calls.map((call) => call.context.threadKey))).toEqual(new Set(["k"]));
    expect(new Set(mail.calls.map((call) => call.context.deliveryId)).size).toBe(3);
  });

  it("say how often it fired and how long it lasted", async () => {
    const fixture = await startFixture([mailTo("mail", ["a@x.io"])]);
    for (const status of ["firing", "firing", "resolved", "firing"] as const) {
      await fixture.accept({ alertKey: "k", status });
      await fixture.clock.advance(60 * 4 * second);
    }
    const texts = channelOf(fixture, "mail").calls.map((call) => call.text);
    expect(texts[1]).toContain("2nd time since");
    expect(texts[2]).toContain("[Over after 8 min] Alert 3");
    expect(texts[3]).not.toContain("time since");
  });

  it("show more than ten for one mailbox as one mail, and count each mailbox for itself", async () => {
    const fixture = await startFixture([mailTo("mail", ["a@x.io", "b@x.io"])]);
    const mail = channelOf(fixture, "mail");
    mail.script.push(flood(10 * second, "account"), flood(10 * second));
    await fixture.accept();
    await fixture.clock.advance(second);
    for (let alert = 0; alert < 11; alert += 1) await fixture.accept();
    await fixture.clock.advance(20 * second);
    const digests = mail.calls.filter((call) => call.text.includes("12 warnings in"));
    expect(digests.map((call) => call.context.recipient).sort()).toEqual(["a@x.io", "b@x.io"]);
    expect(mail.calls).toHaveLength(4);
  });
});
