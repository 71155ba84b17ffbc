import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { AlertSummary } from "../../src/core/ports/alert-log.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { createHookWorld, storeUnrouted } from "../support/journey-world.ts";
import { startRelayProcess } from "../support/relay-process.ts";

const roughRelay = new URL("../support/rough-relay.mjs", import.meta.url).pathname;

async function createWorld() {
  const { dataDir, env, arrived } = await createHookWorld({ more: "routes: [{ to: [hook], default: true }]\n" });
  const start = () => startRelayProcess(dataDir, env, [roughRelay]);
  const listStored = async (): Promise<AlertSummary[]> => {
    const store = openLocalStore({ path: join(dataDir, "tocsin.db"), readOnly: true });
    const alerts = await store.listAlerts({ limit: 200 });
    await store.close();
    return alerts.reverse();
  };
  /** How often it arrived. */
  const countOf = (id: string) => arrived().filter((one) => one === id).length;
  return { dataDir, countOf, start, listStored };
}

it("begins no start with the alert that the last one died of, and sends it as it came, once", async () => {
  const { dataDir, countOf, start, listStored } = await createWorld();
  const goodOnes = Array.from({ length: 150 }, (_, index) => `good ${index}`);
  const [poison = "", ...good] = await storeUnrouted(dataDir, ["please kill", ...goodOnes]);
  /** It may die before it has said where it listens. */
  const startAndDie = async () => {
    const end = await start().then(
      async ({ process }) => {
        if (process.signalCode === null) await once(process, "exit");
        return process.exitCode;
      },
      (error: Error) => /ended with null/.exec(error.message)?.[0],
    );
    expect([null, "ended with null"]).toContain(end);
  };

  await startAndDie();
  const isRouted = (alerts: AlertSummary[], id: string) =>
    alerts.find((alert) => alert.id === id)?.routedAt !== undefined;
  const afterFirst = await listStored();
  expect(good.filter((id) => isRouted(afterFirst, id))).toEqual([]);

  // What was not in its round is routed before the second death.
  await startAndDie();
  const afterSecond = await listStored();
  expect(good.filter((id) => isRouted(afterSecond, id))).toEqual(good.slice(99));
  expect(isRouted(afterSecond, poison)).toBe(false);
  await startAndDie();

  const last = await start();
  await expect.poll(() => [poison, ...good].filter((id) => countOf(id) === 0)).toEqual([]);
  const { data } = await last.getJson<{
    data: { title: string; facts: { format: string; text: string }; decisions: { reason: string }[] };
  }>(`/api/alerts/${poison}`);
  expect(data).toMatchObject({
    title: "Unreadable alert (11 bytes)",
    facts: { format: "unreadable", text: "please kill" },
    decisions: [{ reason: expect.stringContaining("Tocsin ended while it was reading this") }],
  });
  expect(countOf(poison)).toBe(1);
  expect(await last.stop()).toBe(0);
});

it("answers, shows and relays while a body hangs, and sends that one as it came", async () => {
  const { countOf, start } = await createWorld();
  const relay = await start();
  const post = async (text: string) => (await relay.post(text, { "content-type": "text/plain" })).ids[0] ?? "";
  const [bad, good] = [await post("please hang"), await post("good")];
  expect((await relay.api("/healthz")).status).toBe(200);
  expect((await relay.api("/readyz")).status).toBe(200);
  expect((await relay.api(`/api/alerts/${bad}`)).status).toBe(200);
  await expect.poll(() => [countOf(good), countOf(bad)]).toEqual([1, 1]);
  expect(await (await relay.api("/metrics")).text()).toContain("tocsin_unreadable_alerts_total 1");
});

it("reads an alert as always though the whole process stood still while it was read", async () => {
  const { countOf, start } = await createWorld();
  const relay = await start();
  const state = () => readFileSync(`/proc/${relay.process.pid}/stat`, "utf8").replace(/.*\) /s, "")[0];
  // Answered when it goes on.
  const posting = relay.post("please stand still", { "content-type": "text/plain" });
  await expect.poll(state).toBe("T");
  // Longer than a body may take.
  const since = performance.now();
  await expect.poll(() => performance.now() - since).toBeGreaterThan(3_000);
  relay.process.kill("SIGCONT");
  const [id = ""] = (await posting).ids;
  await expect.poll(() => countOf(id)).toBe(1);
  expect((await relay.getJson<{ data: unknown }>(`/api/alerts/${id}`)).data).toMatchObject({
    title: "please stand still",
  });
  expect(relay.log()).not.toContain("alert.routing_failed");
});
