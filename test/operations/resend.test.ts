import { expect, it } from "vitest";
import type { FailedFilter } from "../../src/contract/operations.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Destination, Mute } from "../../src/core/rules.ts";
import { tryDestination } from "../../src/operations/operations.ts";
import { previewResend, type ResendDeps, resendAlert, resendFailed } from "../../src/operations/resend.ts";
import { viewDestinations } from "../../src/operations/views.ts";
import { channelOf, type EngineFixture, mailTo, ntfyTo, startFixture, telegramTo } from "../delivery/engine-fixture.ts";
import { kicked, minute, refusedRecipient, second, unauthorized } from "../delivery/outcomes.ts";

/** Takes the notices of what did not arrive elsewhere. */
const noticed = ntfyTo("noticed");

/** The operations as the relay wires them; `destinations` may differ from those of the time when it failed. */
function open(fixture: EngineFixture, destinations: Destination[], mutes: Mute[] = []) {
  const { store, engine, clock } = fixture;
  const view = async () => viewDestinations(engine.statuses(), await store.countByDestination());
  const deps: ResendDeps = {
    store,
    destinations,
    listMutes: async () => mutes,
    healthOf: (name) => viewDestinations(engine.statuses(), []).find((one) => one.name === name)?.health ?? "ok",
    isPaused: (name) =>
      engine.statuses().find(({ destination }) => destination.name === name)?.own.paused !== undefined,
    tryDestination: (name) => tryDestination(name, engine.tryNow, view),
    clock,
    log: silentLog,
  };
  return {
    preview: (filter: FailedFilter = {}) => previewResend(deps, filter),
    resend: (filter: FailedFilter = {}) => resendFailed(deps, filter),
    resendOne: (id: string, names?: string[]) => resendAlert(deps, id, names),
    countsOf: async (name: string) =>
      (await store.countByDestination()).find(({ destination }) => destination === name)?.counts,
    resending: async () =>
      (await store.countByDestination()).find(({ destination }) => destination === "chat")?.resending,
    listed: async (state: "failed" | "sent") =>
      (await store.listAlerts({ limit: 100, state, destination: "chat" })).map(({ id }) => id),
  };
}

async function start(destinations: Parameters<typeof startFixture>[0] = [telegramTo("chat"), noticed]) {
  const fixture = await startFixture(destinations);
  return { fixture, ...open(fixture, destinations) };
}

/** So many fail at this destination, whose calls are those behind them from then on. */
async function failAlerts(fixture: EngineFixture, name: string, count: number): Promise<string[]> {
  const channel = channelOf(fixture, name);
  channel.always = () => refusedRecipient;
  const ids: string[] = [];
  for (let alert = 0; alert < count; alert += 1) {
    ids.push(await fixture.accept({}, { to: [name] }));
    await fixture.clock.advance(4 * second);
  }
  channel.always = undefined;
  channel.calls.length = 0;
  return ids;
}

const chatCalls = (fixture: EngineFixture) => channelOf(fixture, "chat").calls;

it("resending all that failed sends a few one by one, marked as resent, and counts them as sent from then on", async () => {
  const { fixture, preview, resend, countsOf, listed } = await start();
  const ids = await failAlerts(fixture, "chat", 3);
  expect(await countsOf("chat")).toEqual({ failed: 3 });
  expect(await preview()).toMatchObject({
    deliveries: 3,
    destinations: [{ destination: "chat", deliveries: 3, alerts: 3, health: "ok", asDigests: false }],
  });

  expect(await resend()).toEqual({ made: 3, resent: 3, left: [] });
  // At once, not at the lane's next look of its own.
  await fixture.clock.advance(second);
  expect(chatCalls(fixture)).not.toEqual([]);
  await fixture.clock.advance(minute);
  expect(chatCalls(fixture)).toHaveLength(3);
  for (const { text } of chatCalls(fixture)) expect(text).toContain("\nResent\n");
  expect(await countsOf("chat")).toEqual({ sent: 3 });
  expect(await listed("failed")).toEqual([]);
  expect((await listed("sent")).sort()).toEqual([...ids].sort());
  const [first, again] = (await fixture.detail(ids[0] ?? "")).deliveries;
  expect([first?.state, again?.state, again?.purpose]).toEqual(["failed", "sent", "bulk_resend"]);
  expect(first?.resentBy).toBe(again?.id);
});

it("resending all that failed sends many in digests, the newest first, and says that they were resent and how late they are", async () => {
  const { fixture, preview, resend, countsOf } = await start();
  const ids = await failAlerts(fixture, "chat", 25);
  expect((await preview()).destinations).toMatchObject([{ alerts: 25, asDigests: true }]);
  await resend();
  await fixture.clock.advance(minute);
  const sent = chatCalls(fixture);
  expect(sent).toHaveLength(1);
  expect(sent[0]?.text).toMatch(/25 \S+ in [\s\S]*Resent: they could not be delivered when they arrived/);
  expect(sent[0]?.text).toMatch(/Up to \d+ (s|min) late/);
  expect(sent[0]?.context.alertId).toBe(ids.at(-1));
  expect(await countsOf("chat")).toEqual({ digested: 25 });
});

it("resending all that failed makes nothing twice, however often and however soon it is asked for", async () => {
  const { fixture, resend, preview, resendOne } = await start();
  const [id = ""] = await failAlerts(fixture, "chat", 12);
  await resendOne(id);
  const results = await Promise.all([resend(), resend(), resend()]);
  expect(results.reduce((sum, { made }) => sum + made, 0)).toBe(11);
  expect(await preview()).toMatchObject({ deliveries: 0, destinations: [] });
  await fixture.clock.advance(minute);
  expect(chatCalls(fixture)).toHaveLength(2);
  expect(await resend()).toEqual({ made: 0, resent: 0, left: [] });
});

it("resending all that failed releases each key of a mute once, its latest, also where the relay is killed between two batches", async () => {
  const destinations = [telegramTo("chat")];
  const fixture = await startFixture(destinations);
  const { store, clock } = fixture;
  const ids: string[] = [];
  // The first key has more than a batch.
  const keyOf = (index: number) => `key ${index < 150 ? 0 : index % 50}`;
  for (let index = 0; index < 270; index += 1) {
    const held = { planned: { state: "muted" as const, mutedBy: "m1" } };
    ids.push(await fixture.accept({ alertKey: keyOf(index) }, held));
  }
  const times = { startsAt: clock.now() - minute, endsAt: clock.now() - second, createdAt: clock.now() - minute };
  const mute = { id: "m1", matchers: [], reason: "migration", createdBy: "page", ...times };
  let batches = 0;
  const killed = {
    ...store,
    async resendFailed(...args: Parameters<typeof store.resendFailed>) {
      batches += 1;
      expect(args[0].length).toBeLessThanOrEqual(100);
      if (batches === 2) throw new Error("killed");
      return store.resendFailed(...args);
    },
  };
  const release = (its: ResendDeps["store"]) =>
    open({ ...fixture, store: its } as unknown as EngineFixture, destinations, [mute]);
  await expect(release(killed).resend({ mute: "m1" })).rejects.toThrow("killed");
  expect((await release(store).preview({ mute: "m1" })).deliveries).toBeGreaterThan(0);
  await release(store).resend({ mute: "m1" });
  expect((await release(store).resend({ mute: "m1" })).made).toBe(0);
  const found = await Promise.all(ids.map((id) => store.getAlert(id)));
  const sent = found.map((one) => one?.deliveries.filter(({ purpose }) => purpose === "bulk_resend").length);
  expect(sent).toEqual(ids.map((_, index) => (index < 220 ? 0 : 1)));
});

it("resending all that failed takes up what the filters of the log let through, and nothing else", async () => {
  const { fixture, resend, preview } = await start([telegramTo("chat"), ntfyTo("hook"), noticed]);
  const startedAt = fixture.clock.now();
  await failAlerts(fixture, "chat", 2);
  await failAlerts(fixture, "hook", 3);
  const count = async (filter: FailedFilter) => (await preview(filter)).deliveries;
  expect(await count({ destination: "hook" })).toBe(3);
  expect(await count({ state: "expired" })).toBe(0);
  expect(await count({ severity: "critical" })).toBe(0);
  expect(await count({ toAt: startedAt + 5 * second })).toBe(2);
  await fixture.clock.advance(5 * second);
  expect(await count({ q: "alert 1" })).toBe(1);
  expect(await resend({ destination: "hook", q: "alert" })).toMatchObject({ resent: 3 });
  expect(await count({})).toBe(2);
});

it("resending all that failed has one message in four while others flow at the pace of the chat, and is counted until it has arrived", async () => {
  const { fixture, resend, resending } = await start([{ ...telegramTo("chat"), digestOver: 1_000 }, noticed]);
  await failAlerts(fixture, "chat", 5);
  await fixture.acceptMany(30, {}, { to: ["chat"] });
  const before = chatCalls(fixture).length;
  await resend();
  expect(await resending()).toMatchObject({ made: 5, arrived: 0 });
  // An alert a second, in a chat that takes one in three seconds.
  for (let alert = 0; alert < 70 && (await resending()) !== undefined; alert += 1)
    await fixture.play([{ title: "flows" }, { to: ["chat"] }], second);
  const sent = chatCalls(fixture).slice(before);
  expect(sent.map(({ text }) => (text.includes("\nResent\n") ? "R" : ".")).join("")).toMatch(/^\.?(R\.\.\.){4}R/);
});

it("resending all that failed makes one for an alert that failed at one place twice, as itself and as a fallback", async () => {
  const { fixture, resend, countsOf } = await start([telegramTo("chat"), ntfyTo("hook"), noticed]);
  for (const name of ["chat", "hook"]) channelOf(fixture, name).always = () => refusedRecipient;
  await fixture.play([{}, { to: ["chat", "hook"], fallback: ["chat", minute] }], minute);
  expect(await countsOf("chat")).toEqual({ failed: 3 });
  expect(await resend({ destination: "chat" })).toMatchObject({ made: 1, resent: 3 });
  expect(await countsOf("chat")).toEqual({ queued: 1 });
});

it("resending all that failed says what stays failed because its destination is gone", async () => {
  const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook"), noticed]);
  const { resend, preview } = open(fixture, [telegramTo("chat"), noticed]);
  await failAlerts(fixture, "chat", 1);
  await failAlerts(fixture, "hook", 2);
  const { deliveries, destinations } = await preview();
  expect(deliveries).toBe(1);
  expect(destinations.find(({ destination }) => destination === "hook")).toMatchObject({
    deliveries: 2,
    health: undefined,
  });
  expect(await resend()).toEqual({
    made: 1,
    resent: 1,
    left: [{ destination: "hook", deliveries: 2, why: "it is no longer configured" }],
  });
});

it.each([
  ["dead", kicked],
  ["paused", unauthorized],
] as const)(
  "resending all that failed asks one that is %s first, and resends nothing while it refuses",
  async (health, answer) => {
    const { fixture, resend, countsOf } = await start();
    const chat = channelOf(fixture, "chat");
    await failAlerts(fixture, "chat", 2);
    chat.script.push(answer);
    await fixture.play([{}, { to: ["chat"] }], 5 * second);
    expect(fixture.engine.statuses()[0]?.[health === "dead" ? "own" : "account"]?.health).toBe(health);

    const before = chat.calls.length;
    chat.probes.push(answer);
    const refused = await resend();
    expect(refused).toMatchObject({ made: 0, resent: 0 });
    expect(refused.left).toMatchObject([{ destination: "chat", why: expect.stringContaining(answer.detail) }]);
    await fixture.clock.advance(5 * second);
    expect(chat.calls).toHaveLength(before);

    chat.probes.push({ kind: "sent" });
    expect((await resend()).resent).toBe(2);
    await fixture.clock.advance(minute);
    expect(await countsOf("chat")).toEqual(health === "dead" ? { digested: 2, sent: 1 } : { sent: 3 });
  },
);

it("resending all that failed goes to the mailboxes that did not get it, and to the new address in place of an old one", async () => {
  const fixture = await startFixture([mailTo("mail", ["a@x.example", "typo@x.example"]), noticed]);
  const mail = channelOf(fixture, "mail");
  mail.always = ({ context }) => (context.recipient.startsWith("typo") ? refusedRecipient : { kind: "sent" });
  const [id = ""] = await fixture.play([{}, { to: ["mail"] }], 5 * second);
  const same = open(fixture, [mailTo("mail", ["a@x.example", "typo@x.example"])]);
  await same.resend();
  await fixture.clock.advance(5 * second);
  const recipients = async () =>
    (await fixture.detail(id)).deliveries.map(({ recipient, state }) => `${recipient} ${state}`);
  expect(await recipients()).toEqual(["a@x.example sent", "typo@x.example failed", "typo@x.example failed"]);
  // Once for the recipient, however often it was tried in vain.
  expect(await same.countsOf("mail")).toEqual({ sent: 1, failed: 1 });

  const mended = open(fixture, [mailTo("mail", ["a@x.example", "b@x.example"])]);
  expect(await mended.resend()).toMatchObject({ made: 1, resent: 1 });
  await fixture.clock.advance(5 * second);
  expect((await recipients()).at(-1)).toBe("b@x.example sent");
  expect(await mended.countsOf("mail")).toEqual({ sent: 2 });
});

it("resending all that failed says when an address is gone and all others have had the alert", async () => {
  const fixture = await startFixture([mailTo("mail", ["a@x.example", "left@x.example"]), noticed]);
  const mail = channelOf(fixture, "mail");
  mail.always = ({ context }) => (context.recipient.startsWith("left") ? refusedRecipient : { kind: "sent" });
  await fixture.play([{}, { to: ["mail"] }], 5 * second);
  const { resend } = open(fixture, [mailTo("mail", ["a@x.example"])]);
  const result = await resend();
  expect(result).toMatchObject({ made: 0, resent: 0, left: [{ destination: "mail", deliveries: 1 }] });
  expect(result.left[0]?.why).toContain("no longer configured");
});

it("one alert that is resent counts as its resend does everywhere, and as failed again when that fails", async () => {
  const { fixture, resendOne, countsOf, listed } = await start();
  const [id = ""] = await failAlerts(fixture, "chat", 1);
  channelOf(fixture, "chat").script.push(refusedRecipient);
  await resendOne(id);
  await fixture.clock.advance(5 * second);
  expect(await countsOf("chat")).toEqual({ failed: 1 });
  const [made] = await resendOne(id);
  expect(made).toMatchObject({ purpose: "resend", state: "queued", destination: "chat" });
  expect(await listed("failed")).toEqual([]);
  await fixture.clock.advance(5 * second);
  expect(await countsOf("chat")).toEqual({ sent: 1 });
  expect((await fixture.detail(id)).deliveries.map(({ state }) => state)).toEqual(["failed", "failed", "sent"]);
});
