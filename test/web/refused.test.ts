import { expect, test } from "vitest";
import type { RefusedRequest } from "../../src/core/ports/refused.ts";
import { Secret } from "../../src/core/secret.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const id = "019aa5a0-7c3e-7d2a-9b1c-0242ac120002";
const refused: RefusedRequest = {
  id,
  source: "forge",
  receivedAt: Date.UTC(2026, 10, 22, 12),
  reason: "wrong_signature",
  detail: "no signature is one of this source's",
  address: "203.0.113.9",
  contentType: "application/json",
  headers: '[["x-odd","<b>odd</b>"],["authorization","***"]]',
  body: Buffer.from('{"title":"<script>alert(1)</script>"}'),
  items: 1,
  unkept: 12,
};

async function openFixture() {
  const fixture = await createWebFixture({
    sources: [{ name: "forge", accepted: 0, checks: ["github"], refused: { wrong_signature: 13 }, lastRefusedAt: 1 }],
    sourceHooks: () => [{ name: "forge", url: new Secret("http://tocsin.test/hooks/canary-forge") }],
  });
  await fixture.store.recordRefused(refused);
  return fixture;
}

test("what was refused is relayed by the press of a button, once, and leads to its alert", async () => {
  const { read, post, store } = await openFixture();
  const first = await post(`/refused/${id}/release`);
  expect(first.status).toBe(303);
  const [alert, ...more] = await store.listAlerts({ limit: 10 });
  expect(first.headers.get("location")).toBe(`/alerts/${alert?.id}`);
  expect(alert).toMatchObject({ source: "forge", origin: "hook" });
  expect(more).toEqual([]);
  expect((await post(`/refused/${id}/release`)).headers.get("location")).toBe(`/alerts/${alert?.id}`);
  expect(await store.listAlerts({ limit: 10 })).toHaveLength(1);
  expect(await read(`/refused/${id}`)).toContain(`/alerts/${alert?.id}`);
  expect((await store.getAlert(alert?.id ?? ""))?.request?.headers).toContainEqual([
    "x-tocsin-released",
    `refused request ${id}`,
  ]);
});

test("what was refused that was released and whose mark was lost to a kill is not accepted twice", async () => {
  const { operations, store } = await openFixture();
  const { markReleased } = store;
  store.markReleased = () => Promise.reject(new Error("killed"));
  await expect(operations.releaseRefused(id)).rejects.toThrow("killed");
  store.markReleased = markReleased;
  const [alert] = await store.listAlerts({ limit: 10 });
  expect(await operations.releaseRefused(id)).toEqual({ ids: [alert?.id], duplicate: true });
  expect(await store.listAlerts({ limit: 10 })).toHaveLength(1);
});
