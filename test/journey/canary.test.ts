import { createServer } from "node:http";
import { expect, it } from "vitest";
import { type ClockedRelay, minutesPass, startClockedRelay } from "../support/clocked-relay.ts";
import { createFailingProxy } from "../support/failing-proxy.ts";
import { createJourneyWorld, deskChat } from "../support/journey-world.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { webhookSecret } from "../support/relay-process.ts";
import { findOtherWords, logIn } from "../support/same-words.ts";

const minute = 60_000;
const hour = 60 * minute;

type Status = { data: { canary: { state: string; stage?: string; schedule: string }; silence: { state: string }[] } };

it("a canary goes through the public address unseen, and is no alert; each trouble is told once, over kills, and its end", async () => {
  const world = await createJourneyWorld({
    yaml: "canary: { every: 5m }\nsilence: 20m\n",
    chat: { now: minutesPass() },
  });
  const proxy = await createFailingProxy();
  const env = { TELEGRAM_CHAT_IDS: deskChat, EMAIL_TO: "", PUBLIC_URL: proxy.url };
  const texts = () => world.chat.messages(deskChat).map(({ text }) => text);
  const status = async (relay: ClockedRelay) => (await relay.getJson<Status>("/api/status")).data;
  const canary = async () => (await status(relay)).canary;
  let relay = await startClockedRelay(world, env, Date.now());
  proxy.leadTo(relay.url);
  /** SIGKILL, and a start so much later. */
  const restart = async (afterMs: number) => {
    const now = await relay.now();
    await relay.kill();
    relay = await startClockedRelay(world, env, now + afterMs);
  };

  await relay.advance(minute);
  await relay.until(canary, ({ state }) => state === "works", "a canary that comes through");
  const { data: log } = await relay.getJson<{ data: object[] }>("/api/alerts");
  expect(log).toMatchObject([{ origin: "test", title: "Canary of Tocsin", dropped: true }]);
  expect(texts()).toEqual([]);

  await proxy.down();
  await relay.advance(8 * minute);
  await relay.until(texts, ({ length }) => length === 1, "the notice");
  expect(texts()[0]).toContain("Alerts may not arrive: Tocsin does not reach itself at its public address");
  expect(texts()[0]).toContain("no connection could be made, or it broke (connection refused)");
  expect(await canary()).toMatchObject({ state: "fails", stage: "connection", schedule: "every 5 min" });

  // Somebody else answers there now.
  const stranger = await listenOnLoopback(createServer((_request, response) => void response.writeHead(404).end()));
  proxy.leadTo(stranger.url);
  await proxy.up();
  await restart(10_000);
  await relay.advance(2 * minute);
  await relay.until(canary, ({ stage }) => stage === "answer", "the answer of a stranger");
  expect(texts()).toHaveLength(1);

  proxy.leadTo(relay.url);
  await relay.advance(6 * minute);
  await relay.until(texts, ({ length }) => length === 2, "the notice that it is over");
  expect(texts()[1]).toMatch(/Tocsin reaches itself at its public address again, after \d+ min/);

  const post = (id: string, headers = {}) =>
    relay.post('{"title":"TVL fell"}', { "content-type": "application/json", "webhook-id": id, ...headers });
  await post("first");
  await relay.until(texts, ({ length }) => length === 3, "the alert");
  // Nobody can send to a relay that does not run.
  await restart(20 * hour);
  proxy.leadTo(relay.url);
  await relay.advance(15 * minute);
  // None of these is a new alert: canaries, a test, the second try at a request, a wrong secret.
  expect((await post("test", { "x-tocsin-test": "1" })).status).toBe(202);
  expect((await post("first")).duplicate).toBe(true);
  expect((await fetch(`${relay.url}/hooks/wrong`, { method: "POST", body: "{}" })).status).toBe(404);
  await relay.advance(6 * minute);
  const silences = () => texts().filter((text) => /No alert has come|Alerts arrive again/.test(text));
  await relay.until(silences, ({ length }) => length === 1, "the silence");
  await restart(10_000);
  proxy.leadTo(relay.url);
  await relay.advance(30 * minute);
  expect(silences()).toHaveLength(1);
  // `until` lets the clock of the relay go on while it asks, by a minute where the machine is slow.
  expect(silences()[0]).toMatch(/No alert has come for 2\d min[\s\S]*While Tocsin itself did not run, 20 h/);
  expect((await status(relay)).silence).toMatchObject([{ state: "silent" }]);
  expect(await findOtherWords(relay, await logIn(relay), world.env, world.dataDir)).toEqual([]);
  await post("second");
  await relay.until(silences, ({ length }) => length === 2, "the notice that alerts come again");
  expect(silences()[1]).toMatch(/Alerts arrive again, after 2\d h/);
  expect([...texts(), relay.log()].join("\n")).not.toContain(webhookSecret);
  expect(await relay.stop()).toBe(0);
});
