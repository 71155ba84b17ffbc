import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makePostgresDatabase } from "../support/postgres.ts";
import { startRelayProcess } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

it("goes on taking alerts for a while when it is told to stop and others run, saying that it is not ready; the last one ends at once", async () => {
  const databaseUrl = await makePostgresDatabase();
  const start = () => {
    const folder = makeTempFolder();
    writeFileSync(join(folder, "tocsin.yaml"), "destinations: {}\n");
    return startRelayProcess(folder, { DATABASE_URL: databaseUrl, DRAIN_TIME: "4s" });
  };
  const [one, two] = await Promise.all([start(), start()]);
  const isReady = async (url: string) => (await fetch(`${url}/readyz`)).status;
  for (const { url } of [one, two]) await expect.poll(() => isReady(url)).toBe(200);
  const agent = new Agent({ keepAlive: true });
  const ended = one.stop();
  await expect.poll(() => isReady(one.url)).toBe(503);
  // It asks who else runs before it drains.
  await expect.poll(() => one.log()).toContain("relay.draining");
  const asked = request(one.hookUrl, { method: "POST", agent });
  asked.end("sent by a balancer that has not looked yet");
  const [answer] = await once(asked, "response");
  answer.resume();
  expect([answer.statusCode, answer.headers.connection]).toEqual([202, "close"]);
  expect((await one.api("/api/status")).status).toBe(200);
  expect(await isReady(two.url)).toBe(200);
  expect(await ended).toBe(0);
  expect(one.log()).toMatch(/"event":"relay.draining"[\s\S]*"event":"relay.stopping"/);

  expect(await two.stop()).toBe(0);
  expect(two.log()).not.toContain("relay.draining");
});
