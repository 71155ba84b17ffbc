import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createIdSource } from "../../src/core/id.ts";
import type { AlertSummary } from "../../src/core/ports/alert-log.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { createDeliveryReceiver } from "../support/delivery-receiver.ts";
import { createJourneyWorld } from "../support/journey-world.ts";
import { startRelayProcess } from "../support/relay-process.ts";

const roughRelay = new URL("../support/rough-relay.mjs", import.meta.url).pathname;

async function createWorld() {
  const receiver = await createDeliveryReceiver({ longestMs: 0, random: () => 0 });
  const { dataDir, env } = await createJourneyWorld({
    yaml: `
destinations:
  first: { type: webhook, url: "${receiver.url}", allowInternal: ["127.0.0.1"], digestOver: 1000 }
routes:
  - { name: all, to: [first], default: true }
`,
  });
  const start = () => startRelayProcess(dataDir, { ...env, TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" }, [roughRelay]);
  const listStored = async (): Promise<AlertSummary[]> => {
    const store = openLocalStore({ path: join(dataDir, "tocsin.db"), readOnly: true });
    const alerts = await store.listAlerts({ limit: 200 });
    await store.close();
    return alerts.reverse();
  };
  return { dataDir, receiver, start, listStored };
}

/** As if each had been posted to a relay that died before it routed any. */
async function storeUnrouted(dataDir: string, bodies: string[]): Promise<string[]> {
  const store = openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes: 0 });
  const newId = createIdSource(Date.now);
  const ids = bodies.map(newId);
  for (const [index, body] of bodies.entries()) {
    await store.acceptRequest({
      receivedAt: Date.now(),
      headers: "[]",
      body: Buffer.from(body),
      ids: [ids[index] as string],
      origin: "hook",
      dedupeWindowMs: 1,
    });
  }
  await store.close();
  return ids;
}

it("begins no start with the alert that the last one died of, and sends it as it came, once", async () => {
  const { dataDir, receiver, start, listStored } = await createWorld();
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
  const routed = good.filter((id) => isRouted(afterSecond, id));
  expect(routed).toEqual(good.slice(99));
  expect(isRouted(afterSecond, poison)).toBe(false);
  await startAndDie();

  const last = await start();
  const countOf = (id: string) => receiver.received.filter(({ alertIds }) => alertIds.includes(id)).length;
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
  const { receiver, start } = await createWorld();
  const relay = await start();
  const {
    ids: [bad = ""],
  } = await relay.post("please hang", { "content-type": "text/plain" });
  const {
    ids: [good = ""],
  } = await relay.post("good", { "content-type": "text/plain" });
  expect((await relay.api("/healthz")).status).toBe(200);
  expect((await relay.api("/readyz")).status).toBe(200);
  expect((await relay.api(`/api/alerts/${bad}`)).status).toBe(200);
  const arrived = (id: string) => receiver.received.filter(({ alertIds }) => alertIds.includes(id)).length;
  await expect.poll(() => [arrived(good), arrived(bad)]).toEqual([1, 1]);
  const metrics = await (await relay.api("/metrics")).text();
  expect(metrics).toContain("tocsin_unreadable_alerts_total 1");
});

it("reads an alert as always though the whole process stood still while it was read", async () => {
  const { receiver, start } = await createWorld();
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
  await expect.poll(() => receiver.received.filter(({ alertIds }) => alertIds.includes(id))).toHaveLength(1);
  expect((await relay.getJson<{ data: unknown }>(`/api/alerts/${id}`)).data).toMatchObject({
    title: "please stand still",
  });
  expect(relay.log()).not.toContain("alert.routing_failed");
});
