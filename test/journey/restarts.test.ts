import { Agent } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { openPage } from "../support/browser.ts";
import { startProgram } from "../support/cli.ts";
import { createHookWorld, type JourneyWorld, readTitles } from "../support/journey-world.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { postOnce, sendAtRate } from "../support/posting.ts";
import { adminToken } from "../support/relay-process.ts";

/**
 * Restarts under 50 alerts a second, with the log page open in Chromium and `tocsin alerts tail` attached. Nothing that
 * was answered 202 may be missing afterwards or be there twice.
 *
 *     npm run build && TOCSIN_RESTARTS=20 npx vitest run test/journey/restarts.test.ts
 *
 * does 20 of them; without the variable there are two.
 */
const restarts = Number(process.env.TOCSIN_RESTARTS ?? 2);
const alertsPerSecond = 50;

it(`loses no alert and doubles none over ${restarts} restarts`, async () => {
  const world = await createHookWorld({ longestMs: 25 });
  const PORT = String(await findLastingPort());
  const env = { LOG_LEVEL: "error", PORT };
  let relay = await world.start(env);
  const tail = await startTail(world, relay.url);
  const page = await openPage();
  await page.goto(`${relay.url}/login`);
  await page.fill("input[name=token]", adminToken);
  await page.click("button.primary");
  const senders = startSenders(relay.hookUrl);

  for (let round = 0; round < restarts; round += 1) {
    const from = senders.nextSerial();
    // Both are attached to this process, and a second's alerts have come.
    await page.waitForSelector("body[data-stream=open]");
    await expect
      .poll(() => tail.seen().filter((serial) => serial >= from).length)
      .toBeGreaterThanOrEqual(alertsPerSecond);
    expect(await relay.stop()).toBe(0);
    relay = await world.start(env);
  }
  await senders.stop();

  const { accepted } = senders;
  const stored = await readTitles(relay);
  const times = new Map<string, number>();
  for (const title of stored) times.set(title, (times.get(title) ?? 0) + 1);
  expect(accepted.filter((title) => times.get(title) !== 1)).toEqual([]);
  // What was stored without an answer would be among these.
  expect(stored.filter((title) => !accepted.includes(title))).toEqual([]);
  await expect.poll(() => tail.seen().length).toBe(accepted.length);
}, 600_000);

/** Sends at its rate, half of it over kept connections; each alert until it is answered 202. */
function startSenders(hookUrl: string) {
  const agents = [new Agent({ keepAlive: true, maxSockets: 8 }), new Agent({ keepAlive: false })];
  onTestFinished(() => agents.forEach((agent) => void agent.destroy()));
  const accepted: string[] = [];
  const senders = sendAtRate(alertsPerSecond, async (serial) => {
    const title = `restart-${serial}`;
    const post = () => postOnce(hookUrl, title, agents[serial % 2], { "idempotency-key": title }).catch(() => 0);
    while ((await post()) !== 202) await new Promise((resolve) => setTimeout(resolve, 100));
    accepted.push(title);
  });
  return { accepted, ...senders };
}

/** `tocsin alerts tail` as a process of its own, over all restarts. */
async function startTail({ dataDir }: JourneyWorld, url: string) {
  const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;
  const env = { HOME: dataDir, ADMIN_TOKEN: adminToken };
  const { said } = startProgram([bin, "alerts", "tail", "--url", url], { env, cwd: dataDir });
  // It says so when the stream is open and the log has been read.
  await expect.poll(() => said.stderr).not.toBe("");
  return { seen: () => [...new Set([...said.stdout.matchAll(/restart-(\d+)/g)].map(([, serial]) => Number(serial)))] };
}
