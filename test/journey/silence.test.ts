import { expect, it } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { type ClockedRelay, minutesPass, startClockedRelay } from "../support/clocked-relay.ts";
import { createJourneyWorld, deskChat } from "../support/journey-world.ts";
import { adminToken } from "../support/relay-process.ts";
import { findOtherWords, logIn } from "../support/same-words.ts";

const minute = 60_000;
const hour = 60 * minute;
const env = { TELEGRAM_CHAT_IDS: deskChat, EMAIL_TO: "" };

interface Status {
  data: { silence: { watch: string; state: string; quietMs: number; lastId?: string; toldAt?: string }[] };
}

/** The log was read, and looks are made. */
const untilWatched = (relay: ClockedRelay) =>
  relay.until(
    () => relay.log(),
    (log) => log.includes("silence.learned"),
    "a log that was read",
  );

it("is told once for hook and source over kills, not for the relay's own downtime, and once that it is over", async () => {
  const world = await createJourneyWorld({
    yaml: "silence: { hook: 10m, sources: { Pyth: 5m } }\n",
    chat: { now: minutesPass() },
  });
  const titles = () =>
    world.chat
      .messages(deskChat)
      .map(({ text }) => /No alert has come[^\n]*|Alerts arrive again[^\n]*/.exec(text)?.[0])
      .filter((title) => title !== undefined);
  const states = async (relay: ClockedRelay) => {
    const { data } = await relay.getJson<Status>("/api/status");
    return data.silence.map(({ watch, state }) => `${watch} ${state}`);
  };
  let relay = await startClockedRelay(world, env, Date.now());
  await untilWatched(relay);
  /** SIGKILL, and a start so much later. */
  const restart = async (afterMs: number) => {
    const now = await relay.now();
    await relay.kill();
    relay = await startClockedRelay(world, env, now + afterMs);
  };
  const alert = (source: string, headers = {}) =>
    relay.post(JSON.stringify({ title: "TVL fell", source }), { "content-type": "application/json", ...headers });

  await alert("Pyth");
  for (let count = 0; count < 3; count += 1) {
    await relay.advance(2 * minute);
    await alert("Other", { "webhook-id": `msg-${count}` });
  }
  await relay.until(titles, ({ length }) => length > 0, "a notice of the silent source");
  expect([titles(), await states(relay)]).toEqual([
    [expect.stringMatching(/^No alert has come from Pyth for \d+ min/)],
    ["hook watching", "source:Pyth silent"],
  ]);

  // Nobody can send to a relay that does not run.
  await restart(20 * hour);
  await relay.advance(3 * minute);
  expect(await states(relay)).toEqual(["hook watching", "source:Pyth silent"]);
  // What is no alert: a test, the second try at a request that has come, whatever has the wrong secret.
  expect((await alert("Pyth", { "x-tocsin-test": "1" })).status).toBe(202);
  expect((await alert("Other", { "webhook-id": "msg-2" })).duplicate).toBe(true);
  expect((await fetch(`${relay.url}/hooks/wrong`, { method: "POST", body: "{}" })).status).toBe(404);
  await relay.advance(8 * minute);
  await relay.until(titles, ({ length }) => length > 1, "a notice of the silent hook");
  await restart(10_000);
  await relay.advance(30 * minute);
  expect(titles().slice(1)).toEqual([expect.stringMatching(/^No alert has come for \d+ min/)]);
  const texts = world.chat.messages(deskChat).map(({ text }) => text);
  expect(texts.find((text) => text.includes("come for"))).toContain("While Tocsin itself did not run, 20 h");

  const command = { PORT: new URL(relay.url).port, ADMIN_TOKEN: adminToken, DATA_DIR: world.dataDir };
  const { stdout } = await runTocsin(["status"], { env: command, cwd: world.dataDir });
  expect(stdout).toMatch(/The account's hook +silent; .*; notice sent 2/);
  expect(stdout).toMatch(/source Pyth +silent; .*; notice sent 2/);
  expect(await findOtherWords(relay, await logIn(relay), world.env, world.dataDir)).toEqual([]);
  const metrics = await (await relay.api("/metrics")).text();
  expect(metrics).toMatch(/tocsin_silent\{watch="hook"\} 1\n/);

  await alert("Pyth");
  await relay.until(titles, ({ length }) => length > 3, "the notices that alerts come again");
  await restart(10_000);
  await relay.advance(2 * minute);
  expect(titles().slice(2).sort()).toEqual([
    expect.stringMatching(/^Alerts arrive again from Pyth, after 20 h \d+ min/),
    expect.stringMatching(/^Alerts arrive again, after 20 h \d+ min/),
  ]);
  expect(await states(relay)).toEqual(["hook watching", "source:Pyth watching"]);
  expect(await relay.stop()).toBe(0);
});

it("is told when the mute of it ends that was made in the middle of it", async () => {
  const world = await createJourneyWorld({ yaml: "silence: 5m\n", chat: { now: minutesPass() } });
  const relay = await startClockedRelay(world, env, Date.now());
  await untilWatched(relay);
  await relay.post('{"title":"TVL fell"}');
  await relay.advance(4 * minute);
  const match = { alertKey: "tocsin:silence:hook" };
  const muted = await relay.api("/api/mutes", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ match, for: "1h", reason: "a holiday" }),
  });
  expect(muted.status).toBe(201);
  await relay.advance(5 * minute);
  const { data } = await relay.getJson<Status>("/api/status");
  expect([data.silence[0]?.state, world.chat.messages(deskChat).length]).toEqual(["muted", 1]);
  await relay.advance(hour);
  await relay.until(
    () => world.chat.messages(deskChat).map(({ text }) => text),
    (texts) => texts.some((text) => text.includes("No alert has come for")),
    "the notice behind the mute",
  );
});
