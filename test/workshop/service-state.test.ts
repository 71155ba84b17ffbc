import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startAt, startReceiver, startSandbox } from "./service-fixture.ts";

let folder: string;
beforeEach(() => {
  folder = makeTempFolder();
});

const statePath = () => join(folder, "sandbox.json");

test("a restart keeps outputs, a generated key, users, subscriptions and the market", async () => {
  const first = await startSandbox({ dataDir: folder, key: undefined });
  const read = async ({ sandbox, call }: typeof first) => ({
    key: sandbox.apiKey,
    account: (await call(`${sandbox.alertingUrl}/account`)).body as { data: { alertOutputs: object } },
    users: (await call(`${sandbox.alertingUrl}/users`)).body,
    subscriptions: (await call(`${sandbox.alertingUrl}/subscriptions`)).body,
  });
  await first.setOutputs({ webhookUrl: "http://127.0.0.1:9/hook", messengerChannelId: "-100" });
  const before = await read(first);
  await first.sandbox.close();

  const second = await startSandbox({ dataDir: folder, key: undefined });
  const after = await read(second);
  await second.sandbox.close();
  expect(before.account.data.alertOutputs).toEqual({
    webhookUrl: "http://127.0.0.1:9/hook",
    messengerChannelId: "-100",
  });
  expect(after).toEqual(before);
});

test("a restart sends again what had not been accepted", async () => {
  const first = await startSandbox({ dataDir: folder });
  await first.setOutputs({ webhookUrl: "http://127.0.0.1:9/" });
  const event = first.sandbox.fire();
  await first.sandbox.settled();
  await first.sandbox.close();

  const receiver = await startReceiver();
  const second = await startSandbox({ dataDir: folder, at: startAt + 60_000 });
  await second.setOutputs({ webhookUrl: receiver.url });
  second.advance(1);
  await second.sandbox.settled();
  await second.sandbox.close();
  expect(receiver.received.map(({ body }) => JSON.parse(body).eventId)).toContain(event.id);
});

test("a restart finds an answered change on disk even when the process is killed at once", async () => {
  const { sandbox, setOutputs } = await startSandbox({ dataDir: folder });
  await setOutputs({ webhookUrl: "http://127.0.0.1:9/kept" });
  // Read before close(), which would save once more.
  const kept = await readFile(statePath(), "utf8");
  await sandbox.close();
  expect(kept).toContain("/kept");
});

test("an asset under registration is on disk before its answer, and queryable after a restart", async () => {
  const first = await startSandbox({ dataDir: folder });
  first.sandbox.faults.next({ kind: "discovery", route: "*", times: 1, durationMs: 15_000 });
  const answer = first
    .call(`${first.sandbox.pricingUrl}/v1/assets`, {
      method: "POST",
      headers: { "x-api-key": first.sandbox.apiKey },
      body: JSON.stringify({ catalogId: "kept-coin" }),
    })
    .catch(() => undefined);
  await expect.poll(() => first.sandbox.describe().waiting).toBe(1);
  // Read before close(), which would save once more.
  expect(await readFile(statePath(), "utf8")).toContain("kept-coin");
  await first.sandbox.close();
  await answer;

  const second = await startSandbox({ dataDir: folder, at: startAt + 180_000 });
  const ticker = await second.call(`${second.sandbox.pricingUrl}/v1/assets/ticker?symbol=KEPTCOIN/USD`);
  await second.sandbox.close();
  expect(ticker.status).toBe(200);
});
