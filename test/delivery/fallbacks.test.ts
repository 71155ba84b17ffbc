import { expect, it } from "vitest";
import { mailTo, ntfyTo, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { hour, kicked, lost, minute, refused, refusedRecipient, second } from "./outcomes.ts";

/** A chat whose fallback is a hook, and an alert that goes there after a while. */
async function start(first = telegramTo("chat")) {
  const fixture = await startFixture([first, ntfyTo("hook")]);
  return { ...fixture, acceptFor: (ms: number) => fixture.accept({}, { to: ["chat"], fallback: ["hook", ms] }) };
}

it("uses the fallback once when the first has been down for the set time, and still delivers to the first later", async () => {
  const { acceptFor, clock, chat, states } = await start();
  chat.always = () => refused;
  const id = await acceptFor(2 * minute);
  await clock.advance(3 * minute);
  chat.always = undefined;
  await clock.advance(20 * minute);
  expect(await states(id)).toEqual({ chat: "sent", hook: "sent" });
});

it("leaves both failed, with reasons, where the fallback is dead as well, and goes round no further", async () => {
  const { acceptFor, clock, chat, hook, detail } = await start();
  for (const channel of [chat, hook]) channel.always = () => kicked;
  const id = await acceptFor(hour);
  await clock.advance(minute);
  await clock.jump(2 * hour);
  await clock.advance(5 * second);
  const failed = (destination: string) => ({ destination, state: "failed", reason: expect.stringContaining("kicked") });
  expect((await detail(id)).deliveries).toMatchObject([failed("chat"), failed("hook")]);
});

it("calls the fallback at once when the first fails for good, and says instead of what", async () => {
  const { acceptFor, clock, chat, hook, detail } = await start();
  chat.script.push(refusedRecipient);
  const id = await acceptFor(hour);
  await clock.settle();
  expect((await detail(id)).deliveries).toMatchObject([
    { destination: "chat", state: "failed", purpose: "alert" },
    { destination: "hook", state: "sent", purpose: "fallback", insteadOf: "chat" },
  ]);
  expect(hook.texts).toEqual([expect.stringContaining("Sent here because chat")]);
});

it("gets what waited together in a group as one message as well", async () => {
  const { accept, clock, chat, phone } = await startFixture([telegramTo("chat"), telegramTo("phone")]);
  chat.always = () => kicked;
  const held = { to: ["chat"], heldForMs: 30 * second, planned: { groupName: '["group","all"]' } };
  const titles = ["Pool 1", "Pool 2", "Pool 3"];
  for (const title of titles) await accept({ title, alertKey: title }, { ...held, fallback: ["phone", hour] });
  await clock.advance(minute);
  expect(phone.texts.filter((text) => text.includes("Pool"))).toHaveLength(1);
  for (const title of titles) expect(phone.texts.join()).toContain(title);
});

it("calls it once, by time, and not again when the first fails for good afterwards", async () => {
  const { acceptFor, clock, chat, hook } = await start();
  chat.always = () => refused;
  await acceptFor(minute);
  await clock.advance(2 * minute);
  chat.always = () => refusedRecipient;
  await clock.advance(5 * minute);
  const late = "Sent here because chat has not taken it in time";
  expect(hook.texts.filter((text) => text.includes(late))).toHaveLength(1);
});

it("takes over by time from what is held for a person", async () => {
  const { acceptFor, clock, chat, states } = await start(telegramTo("chat", { onAmbiguous: "hold" }));
  chat.script.push(lost);
  const id = await acceptFor(minute);
  await clock.advance(2 * minute);
  expect(await states(id)).toEqual({ chat: "held", hook: "sent" });
});

it("gets an alert once, though all mailboxes of the first destination are refused", async () => {
  const { acceptFor, clock, chat, hook } = await start(mailTo("chat", ["a@x.io", "b@x.io"]));
  chat.always = () => refusedRecipient;
  await acceptFor(hour);
  await clock.advance(5 * second);
  expect(hook.calls).toHaveLength(1);
});

it("takes what waited for a destination that was renamed, and people get a notice of it", async () => {
  const { fixture, accept, clock, hook, detail, play } = await startFixture([ntfyTo("hook")]);
  await stopEngine(fixture.engine, clock);
  const id = await accept({}, { planned: { destination: "old" }, fallback: ["hook", hour] });
  await play("restart", 5 * second);
  expect((await detail(id)).deliveries).toMatchObject([
    { destination: "old", state: "failed", reason: "this destination is no longer configured" },
    { destination: "hook", state: "sent" },
  ]);
  expect(hook.texts.join()).toContain("1 delivery waited for old");
});
