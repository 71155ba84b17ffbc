import { expect, test } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import type { AlertLog } from "../../src/core/ports/alert-log.ts";
import { createExports } from "../../src/web/export.ts";
import { openRaw } from "../support/raw-http.ts";
import { createTestClock } from "../support/test-clock.ts";
import { createWebFixture, type WebFixture } from "../support/web-fixture.ts";
import { serveWebFixture } from "../support/web-server.ts";

const linesOf = (text: string) => text.trimEnd().split("\n");

async function addMany({ addAlert }: WebFixture, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const facts = { title: `Alert ${index}`, alertKey: `key ${index % 3}`, severity: "info" as const };
    ids.unshift((await addAlert({ facts, deliveries: [] })).id);
  }
  return ids;
}

test("an export has every alert that the filters let through once, newest first, over many pages", async () => {
  const fixture = await createWebFixture();
  const ids = await addMany(fixture, 410);
  await fixture.addAlert({ facts: { title: "Another", severity: "critical" } });
  const answer = await fixture.api("/api/export?severity=info");
  expect(answer.headers.get("content-type")).toMatch(/^application\/x-ndjson/);
  expect(answer.headers.get("content-disposition")).toBe('attachment; filename="tocsin-alerts-2026-11-21.ndjson"');
  expect(linesOf(await answer.text()).map((line) => JSON.parse(line).id)).toEqual(ids);
  const csv = await (await fixture.api("/api/export?severity=info&format=csv")).text();
  expect(csv.startsWith("id,received_at,")).toBe(true);
  expect(csv.trimEnd().split("\r\n")).toHaveLength(411);
});

test("an export is on the page, with what the page is filtered by, each view by itself, and opens in a spreadsheet", async () => {
  const fixture = await createWebFixture();
  const ids = await addMany(fixture, 7);
  const page = await fixture.read("/?q=alert&view=keys");
  const links = [...page.matchAll(/href="(\/export[^"]*)"/g)].map(([, link = ""]) => link.replaceAll("&amp;", "&"));
  expect(links).toEqual([
    "/export?q=alert&view=keys&format=csv",
    "/export?q=alert&view=keys&format=ndjson",
    "/export?q=alert&view=events&format=csv",
    "/export?q=alert&view=events&format=ndjson",
  ]);
  const read = async (link = "") => linesOf(await fixture.read(link));
  expect((await read(links[1])).map((line) => JSON.parse(line).id)).toEqual(ids.slice(0, 3));
  expect((await read(links[3])).map((line) => JSON.parse(line).id)).toEqual(ids);
  const bytes = new Uint8Array(await (await fixture.get(links[2] ?? "")).arrayBuffer());
  expect([...bytes.slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
});

const exportOf = (listAlertsWithin: AlertLog["listAlertsWithin"]) => {
  const deps = { store: { listAlertsWithin }, publicUrl: "http://tocsin.test", clock: createTestClock() };
  return createExports({ ...deps, log: silentLog })({ filters: {}, format: "ndjson" });
};

test("while an export is read no more is read than is taken, and nothing once its reader is gone", async () => {
  const fixture = await createWebFixture();
  await addMany(fixture, 650);
  let reads = 0;
  const answer = await exportOf((...asked) => {
    reads += 1;
    return fixture.store.listAlertsWithin(...asked);
  });
  const reader = answer.body?.getReader();
  expect(reads).toBe(1);
  await reader?.read();
  expect(reads).toBe(1);
  await reader?.read();
  expect(reads).toBe(2);
  await reader?.cancel();
  expect(reads).toBe(2);
});

test("while an export is read pages without a match are gone through", async () => {
  const fixture = await createWebFixture();
  const [id] = await addMany(fixture, 1);
  const { alerts } = await fixture.store.listAlertsWithin({ limit: 9 }, 100);
  const [{ position } = { position: undefined as never }] = alerts;
  let page = 0;
  const answer = await exportOf(async () => {
    page += 1;
    return page < 4 ? { alerts: [], stopped: { position, receivedAt: 0, looked: 1 } } : { alerts };
  });
  expect(JSON.parse(await answer.text()).id).toBe(id);
});

test("while an export is read a log that cannot be read any further ends the file with a line that says so, and breaks the connection", async () => {
  for (const format of ["ndjson", "csv"]) {
    const fixture = await serveWebFixture();
    await addMany(fixture, 250);
    const list = fixture.store.listAlertsWithin;
    let pages = 0;
    fixture.store.listAlertsWithin = (...asked) => {
      pages += 1;
      if (pages % 2 === 1) return list(...asked);
      return Promise.reject(new AppError("store_unavailable", "The disk cannot be read."));
    };
    const { cookie } = await fixture.logIn();
    const path = `/export?view=events&format=${format}`;
    const { socket, write, readToEnd } = await openRaw(fixture.url);
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    await write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`);
    await readToEnd();
    expect(text).toMatch(/broke off after 50 alerts\. The disk cannot be read\.[^\n]*\r?\n\r\n$/);
    expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
    await expect(fetch(fixture.url + path, { headers: { cookie } }).then((got) => got.text())).rejects.toThrow();
  }
});

test("while an export is read ten others at most are, and the next is asked to come again until one has ended", async () => {
  const fixture = await createWebFixture();
  await addMany(fixture, 60);
  const begin = async () => {
    const answer = await fixture.api("/api/export");
    if (answer.status !== 200) return { status: answer.status, retryAfter: answer.headers.get("retry-after") };
    const reader = answer.body?.getReader();
    await reader?.read();
    return { status: 200, reader };
  };
  for (let index = 0; index < 20; index += 1) await fixture.api("/api/export", { method: "HEAD" });
  const all = await Promise.all(Array.from({ length: 20 }, begin));
  const begun = all.filter(({ status }) => status === 200);
  expect(begun).toHaveLength(10);
  expect(await begin()).toEqual({ status: 503, retryAfter: "10" });
  await begun[0]?.reader?.cancel();
  for (let piece = await begun[1]?.reader?.read(); !piece?.done; ) piece = await begun[1]?.reader?.read();
  expect([(await begin()).status, (await begin()).status, (await begin()).status]).toEqual([200, 200, 503]);
});

test("while an export is read a log that cannot be read at all is an error instead of a file", async () => {
  const list = () => Promise.reject(new AppError("store_unavailable", "The disk cannot be read."));
  await expect(exportOf(list)).rejects.toThrow("The disk cannot be read.");
});
