import { expect, test } from "vitest";
import { expectWords } from "../support/expect-words.ts";
import { attempt, createWebFixture } from "../support/web-fixture.ts";

test("from its card in two steps, and the page says what becomes of it", async () => {
  const { read, post, get, store, clock } = await createWebFixture();
  expect(await read("/destinations")).toMatch(/<summary>\s*Send a test…[\s\S]*action="\/destinations\/ops\/test"/);
  const answer = await post("/destinations/ops/test");
  const location = answer.headers.get("location") ?? "";
  expect([answer.status, location]).toEqual([303, expect.stringMatching(/^\/destinations\?test=[\w-]{36}$/)]);
  const page = async () => (await get(location)).text();
  expect(await page()).toMatch(/data-live="test"[\s\S]*The test is on its way to <bdi>ops<\/bdi>/);

  const detail = "<img src=x onerror=alert(1)> refused";
  const waits = { state: "waiting", reason: detail, dueAt: clock.now() + 5_000 } as const;
  await attempt(store, "ops", clock.now(), { outcome: "retry", reason: "connect_failed", detail, next: waits });
  expect(await page()).toMatch(/not reached <bdi>ops<\/bdi>[\s\S]*&lt;img src=x[\s\S]*check the network[\s\S]*again/);
  const alert = `/alerts/${new URLSearchParams(location.split("?")[1]).get("test")}`;
  expect(await page()).toContain(`href="${alert}"`);
  expectWords(await read(alert), "Tocsin wrote it itself", { not: "Mute alerts like this" });
  expect((await get(`${alert}/body`)).status).toBe(404);
});

test("the address puts no words into our mouth: only a test of Tocsin's own is shown", async () => {
  const { read, addAlert } = await createWebFixture();
  const { id } = await addAlert();
  for (const given of [id, "Call+us", "%00", "0".repeat(5_000)])
    expect(await read(`/destinations?test=${given}`)).not.toContain('data-live="test"');
});
