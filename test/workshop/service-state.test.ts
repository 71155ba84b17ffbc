import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { createStateFile, type SandboxState, type StateFile } from "../../workshop/service/state.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startAt, startReceiver, startSandbox } from "./service-fixture.ts";

let folder: string;
beforeEach(() => {
  folder = makeTempFolder();
});

const statePath = () => join(folder, "sandbox.json");

describe("a restart", () => {
  test("keeps outputs, a generated key, users, subscriptions and the market", async () => {
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

  test("sends again what had not been accepted", async () => {
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

  test("finds an answered change on disk even when the process is killed at once", async () => {
    const { sandbox, setOutputs } = await startSandbox({ dataDir: folder });
    await setOutputs({ webhookUrl: "http://127.0.0.1:9/kept" });
    // Read before close(), which would save once more.
    const kept = await readFile(statePath(), "utf8");
    await sandbox.close();
    expect(kept).toContain("/kept");
  });
});

test("an asset under registration is on disk before its answer, and queryable after a restart", async () => {
  const first = await startSandbox({ dataDir: folder });
  first.sandbox.addFault({ kind: "discovery", route: "*", times: 1, durationMs: 15_000 });
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

describe("the state file", () => {
  test("is readable by its owner only, and nothing lies beside it", async () => {
    const { sandbox } = await startSandbox({ dataDir: join(folder, "new") });
    await sandbox.close();
    expect((await stat(join(folder, "new", "sandbox.json"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "new"))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(folder, "new"))).toEqual(["sandbox.json"]);
  });

  test.each([
    ["not JSON", "{"],
    ["of another version", '{"version":2}'],
    ["of another shape", '{"version":1,"seed":"x"}'],
  ])("that is %s is refused with its path and a way out, and is left alone", async (_what, text) => {
    await writeFile(statePath(), text);
    await expect(startSandbox({ dataDir: folder })).rejects.toMatchObject({
      code: "failed",
      message: expect.stringContaining(statePath()),
      hint: expect.stringContaining("--data"),
    });
    await expect(startSandbox({ dataDir: folder })).rejects.toThrow(/^[^\n]{1,250}$/);
    expect(await readFile(statePath(), "utf8")).toBe(text);
  });

  test("a save that fails rejects, and the next one works", async () => {
    const blocked = join(folder, "blocked");
    await writeFile(blocked, "a file where a folder should be");
    const file: StateFile = createStateFile(blocked);
    const state = { version: 1 } as unknown as SandboxState;
    await expect(file.save(state)).rejects.toMatchObject({ code: "store_unavailable" });
    await rm(blocked);
    await file.save(state);
    expect(JSON.parse(await readFile(join(blocked, "sandbox.json"), "utf8"))).toEqual({ version: 1 });
  });

  test("saves that wait share one write and hold the newest state", async () => {
    const file = createStateFile(folder);
    const state = { seed: 0 } as unknown as SandboxState;
    const saves: Promise<void>[] = [];
    for (let seed = 1; seed <= 50; seed += 1) {
      state.seed = seed;
      saves.push(file.save(state));
    }
    expect(new Set(saves).size).toBe(1);
    await Promise.all(saves);
    expect(JSON.parse(await readFile(statePath(), "utf8")).seed).toBe(50);
  });
});

test("a taken port is refused with a way out, and the state is not left locked", async () => {
  const { sandbox } = await startSandbox();
  const port = Number(new URL(sandbox.url).port);
  await expect(startSandbox({ port })).rejects.toMatchObject({
    code: "usage",
    hint: expect.stringContaining("--port"),
  });
  await sandbox.close();
});

test.each([
  ["speed", { speed: 0 }],
  ["metrics", { metricCount: 3 }],
])("refuses a %s that makes no sense", async (name, options) => {
  await expect(startSandbox(options)).rejects.toMatchObject({ code: "usage", message: expect.stringContaining(name) });
});
