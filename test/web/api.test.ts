import { expect, test } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const read = async <Answer>(answer: Response) => (await answer.json()) as Answer;

const sendJson = (body: unknown, method = "POST"): RequestInit => ({
  method,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

test("a HEAD of the event stream takes no place of a reader", async () => {
  const { api } = await createWebFixture();
  for (let asked = 0; asked < 201; asked += 1) expect((await api("/api/stream", { method: "HEAD" })).status).toBe(200);
  const opened = await api("/api/stream");
  expect(opened.status).toBe(200);
  await opened.body?.cancel();
});

test("GET /api/alerts: a page that was not full when its time was over says how far back it looked, and goes on from there", async () => {
  const fixture = await createWebFixture();
  const [older, newer] = [await fixture.addAlert(), await fixture.addAlert()];
  const [, before] = await fixture.store.listAlerts({ limit: 2 });
  if (before === undefined) throw new Error("there are two");
  const { listAlertsWithin } = fixture.store;
  fixture.store.listAlertsWithin = async (query) => {
    if (query.before !== undefined) return listAlertsWithin(query, 0);
    const [alert] = await fixture.store.listAlerts({ limit: 1 });
    if (alert === undefined) throw new Error("there is one");
    return { alerts: [alert], stopped: { position: alert.position, receivedAt: alert.receivedAt, looked: 1 } };
  };
  const first = await read<{ meta: { nextCursor: string } }>(await fixture.api("/api/alerts?q=tvl"));
  expect(first).toMatchObject({ data: [{ id: newer.id }], meta: { searchedTo: "2026-11-21T12:00:00.000Z" } });
  const rest = await read<{ meta: object }>(await fixture.api(`/api/alerts?cursor=${first.meta.nextCursor}`));
  expect(rest).toMatchObject({ data: [{ id: older.id }] });
  expect(rest.meta).toEqual({ nextCursor: null });
});

test.each([
  ["text", Buffer.from("Grüße \u0000 \ud83d\udea8"), "utf8"],
  ["a byte order mark", Buffer.from("\ufeff{}"), "utf8"],
  ["bytes", Buffer.from([0xff, 0xfe, 0x00, 0x80]), "base64"],
  ["nothing", Buffer.alloc(0), "utf8"],
])("GET /api/alerts/:id: a body of %s comes back byte for byte", async (_what, body, encoding) => {
  const fixture = await createWebFixture();
  const { id } = await fixture.addAlert({ body });
  const answer = await fixture.api(`/api/alerts/${id}`);
  const { data } = await read<{ data: { request: { body: string; bodyEncoding: string } } }>(answer);
  expect(data.request.bodyEncoding).toBe(encoding);
  expect(Buffer.from(data.request.body, encoding as BufferEncoding)).toEqual(body);
});

test("GET /api/alerts/:id: an instant that no date can hold costs no answer", async () => {
  const fixture = await createWebFixture();
  const { id } = await fixture.addAlert({ facts: { occurredAt: 9e15 } });
  expect((await fixture.api(`/api/alerts/${id}`)).status).toBe(200);
  expect((await fixture.get(`/alerts/${id}`)).status).toBe(200);
});

test("mutes are made though nothing shows what they would have held", async () => {
  const { api, operations } = await createWebFixture();
  operations.previewMute = () => Promise.reject(new Error("damaged"));
  const blind = await api("/api/mutes", sendJson({ match: "token=DAI", for: "2h", reason: "maintenance" }));
  expect(blind.status).toBe(201);
  expect(await blind.json()).toMatchObject({ data: { preview: null } });
});

test("a failure inside is logged in full and answered in few words", async () => {
  const logged: unknown[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (...event: unknown[]) => logged.push(event) };
  const { api, operations } = await createWebFixture({ log });
  operations.destinations = async () => {
    throw new Error("row 7 of table x");
  };
  const answer = await api("/api/destinations");
  expect(answer.status).toBe(500);
  const error = await read<object>(answer);
  expect(error).toMatchObject({ error: { code: "internal" } });
  expect(JSON.stringify(error)).not.toContain("row 7");
  expect(JSON.stringify(logged)).toContain("row 7");
});

test("a store that cannot answer is 503 with the time to wait", async () => {
  const { api, operations } = await createWebFixture();
  operations.destinations = async () => {
    throw new AppError("store_unavailable", "The disk is full.", { retryAfterMs: 30_000 });
  };
  const answer = await api("/api/destinations");
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "30"]);
});

test("a relay that is being stopped changes nothing any more, says so, and still shows its log", async () => {
  const fixture = await createWebFixture();
  const { id } = await fixture.addAlert();
  await fixture.read("/");
  const before = await fixture.store.getAlert(id);
  fixture.web.close();
  const changes = {
    resend: await fixture.api(`/api/alerts/${id}/resend`, sendJson({})),
    mute: await fixture.api("/api/mutes", sendJson({ match: ["token=USDC"], for: "2h", reason: "x" })),
    "end of a mute": await fixture.api(`/api/mutes/${id}`, { method: "DELETE" }),
  };
  for (const [name, answer] of Object.entries(changes)) {
    expect([name, answer.status, answer.headers.get("retry-after")]).toEqual([name, 503, "2"]);
    const message = "Tocsin is being stopped, so nothing was changed.";
    expect(await read(answer)).toMatchObject({ error: { code: "relay_stopping", message } });
  }
  const form = await fixture.post(`/alerts/${id}/resend`);
  expect(form.status).toBe(503);
  expect(await form.text()).toContain("Tocsin is being stopped, so nothing was changed.");
  expect(await fixture.store.getAlert(id)).toEqual(before);
  expect(await read(await fixture.api("/api/alerts"))).toMatchObject({ data: [{ id }] });
  expect((await fixture.get("/")).status).toBe(200);
});

test("POST /api/release releases all of it, however much it is", async () => {
  const { api, addAlert, clock } = await createWebFixture();
  const held = { state: "held" as const, dueAt: clock.now() + 3_600_000 };
  await addAlert({ deliveries: Array.from({ length: 401 }, (_, n) => ({ ...held, recipient: `-${n}` })) });
  const answer = await api("/api/release", { method: "POST" });
  expect(await answer.json()).toEqual({ data: [{ destination: "ops", released: 401 }] });
});
