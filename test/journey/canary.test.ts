import { createServer } from "node:http";
import { expect, it } from "vitest";
import { type ClockedRelay, minutesPass, startClockedRelay } from "../support/clocked-relay.ts";
import { createJourneyWorld, deskChat } from "../support/journey-world.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { webhookSecret } from "../support/relay-process.ts";
import { createSwitchableProxy } from "../support/switchable-proxy.ts";

const minute = 60_000;

interface Status {
  data: { canary: { state: string; stage?: string; schedule: string }; silence: { state: string }[] };
}

it("goes through the public address unseen, and is told once when that leads nowhere or elsewhere", async () => {
  const world = await createJourneyWorld({
    yaml: "canary: { every: 5m }\nsilence: 20m\n",
    chat: { now: minutesPass() },
  });
  const proxy = await createSwitchableProxy();
  const env = { TELEGRAM_CHAT_IDS: deskChat, EMAIL_TO: "", PUBLIC_URL: `${proxy.url}/` };
  const texts = () => world.chat.messages(deskChat).map(({ text }) => text);
  const canary = async (relay: ClockedRelay) => (await relay.getJson<Status>("/api/status")).data.canary;
  let relay = await startClockedRelay(world, env, Date.now());
  proxy.leadTo(relay.url);

  await relay.advance(minute);
  await relay.until(
    () => canary(relay),
    ({ state }) => state === "works",
    "a canary that comes through",
  );
  const { data: log } = await relay.getJson<{ data: { origin: string; title: string; dropped: boolean }[] }>(
    "/api/alerts",
  );
  expect(log).toMatchObject([{ origin: "test", title: "Canary of Tocsin", dropped: true }]);
  expect(texts()).toEqual([]);

  await proxy.down();
  await relay.advance(8 * minute);
  await relay.until(texts, ({ length }) => length === 1, "the notice");
  expect(texts()[0]).toContain("Alerts may not arrive: Tocsin does not reach itself at its public address");
  expect(texts()[0]).toContain("no connection could be made, or it broke (connection refused)");
  expect(await canary(relay)).toMatchObject({ state: "fails", stage: "connection", schedule: "every 5 min" });

  // Somebody else answers there now.
  const stranger = await listenOnLoopback(createServer((_request, response) => void response.writeHead(404).end()));
  proxy.leadTo(stranger.url);
  await proxy.up();
  const now = await relay.now();
  await relay.kill();
  relay = await startClockedRelay(world, env, now + 10_000);
  await relay.advance(2 * minute);
  await relay.until(
    () => canary(relay),
    ({ stage }) => stage === "answer",
    "the answer of a stranger",
  );
  expect(texts()).toHaveLength(1);

  proxy.leadTo(relay.url);
  await relay.advance(6 * minute);
  await relay.until(texts, ({ length }) => length === 2, "the notice that it is over");
  expect(texts()[1]).toMatch(/Tocsin reaches itself at its public address again, after \d+ min/);
  // They are no alerts.
  await relay.advance(20 * minute);
  await relay.until(texts, ({ length }) => length === 3, "the silence");
  // `until` lets the clock of the relay go on while it asks, by a minute where the machine is slow.
  expect(texts()[2]).toMatch(/No alert has come for 2\d min/);
  expect([...texts(), relay.log()].join("\n")).not.toContain(webhookSecret);
});
