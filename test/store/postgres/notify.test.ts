import { expect, it, vi } from "vitest";
import type { SignalTopic } from "../../../src/core/ports/signals.ts";
import type { PostgresDatabase } from "../../../src/store/postgres/store.ts";
import type { Notes } from "../../../src/store/signals.ts";
import { createFailingProxy } from "../../support/failing-proxy.ts";
import { openClient, runSql } from "../../support/postgres.ts";
import { openDatabase, someDatabase } from "./open-relays.ts";

const topics: SignalTopic[] = ["accepted", "due", "changed", "mutes", "secrets", "lanes"];

async function openHearing(url: string, relayName: string) {
  const database = await openDatabase(url, relayName);
  const heard: string[] = [];
  for (const topic of topics)
    database.subscribe(topic, (names) => {
      heard.push(...(names === undefined ? [topic] : names.map((name) => `due at ${name}`)));
    });
  return { database, heard };
}

const say = (database: PostgresDatabase, notes: Partial<Notes>) =>
  database.transaction(async (tx) => {
    Object.assign(tx.notes, notes);
  });

async function openTwo() {
  const url = await someDatabase();
  const proxy = await createFailingProxy(url);
  const one = await openHearing(url, "one");
  const two = await openHearing(proxy.url, "two");
  return { url, proxy, one, two };
}

it("signals of several relays reach the others with the names, and oneself once", async () => {
  const { one, two } = await openTwo();
  await say(one.database, { mutes: true, changed: true, due: new Set(["chat", "mail"]) });
  await say(one.database, { lanes: true });
  const all = ["changed", "due at chat", "due at mail", "lanes", "mutes"];
  for (const { heard } of [one, two]) await expect.poll(() => heard.toSorted(), { timeout: 60_000 }).toEqual(all);
});

it("signals of several relays tell of changes ten times a second at most, and of what is due without waiting for the next of them", async () => {
  const { url, one, two } = await openTwo();
  const client = await openClient(url);
  const notified = vi.fn();
  client.on("notification", notified);
  await client.query("LISTEN tocsin");
  const startedAt = performance.now();
  while (performance.now() < startedAt + 300) await say(one.database, { changed: true });
  const most = 2 + (performance.now() - startedAt) / 100;
  await say(one.database, { due: new Set(["chat"]) });
  await expect.poll(() => two.heard).toContain("due at chat");
  await client.query("SELECT 1");
  expect(notified.mock.calls.length).toBeGreaterThan(1);
  expect(notified.mock.calls.length).toBeLessThanOrEqual(most + 1);
});

it("signals of several relays say nothing to others of what was accepted, which is its relay's to route", async () => {
  const { one, two } = await openTwo();
  await say(one.database, { accepted: true });
  await say(one.database, { mutes: true });
  await expect.poll(() => two.heard).toEqual(["mutes"]);
  expect(one.heard.sort()).toEqual(["accepted", "mutes"]);
});

it("signals of several relays hold as many names as there are", async () => {
  const { one, two } = await openTwo();
  const names = Array.from({ length: 500 }, (_, index) => `destination ${index} ${"ü".repeat(30)}`);
  await say(one.database, { due: new Set(names) });
  await expect.poll(() => two.heard.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(names.length);
  expect(two.heard).toEqual(names.map((name) => `due at ${name}`));
});

it("signals of several relays have whoever was cut off look at everything, and are heard again", async () => {
  const { proxy, one, two } = await openTwo();
  proxy.cut();
  await say(one.database, { mutes: true });
  for (const topic of ["changed", "lanes", "mutes", "secrets"]) await expect.poll(() => two.heard).toContain(topic);
  two.heard.length = 0;
  await say(one.database, { due: new Set(["chat"]) });
  // What was said before may come behind the look at everything.
  await expect.poll(() => two.heard.filter((news) => news !== "mutes")).toEqual(["due at chat"]);
});

it("signals of several relays are not disturbed by what others say on the channel", async () => {
  const { url, one, two } = await openTwo();
  for (const text of ["", "no JSON", "null", "[]", '{"from":1}', '{"from":"x","due":7}'])
    await runSql(url, "SELECT pg_notify('tocsin', $1)", [text]);
  await say(one.database, { mutes: true });
  await expect.poll(() => two.heard).toEqual(["mutes"]);
});
