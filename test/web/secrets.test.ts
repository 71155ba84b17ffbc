import { expect, test } from "vitest";
import type { Log } from "../../src/core/log.ts";
import { adminToken, createWebFixture, hookSecret } from "../support/web-fixture.ts";

/** Every GET route, by browser and by script, and every way to go wrong. */
test("no page, answer, header or log line holds the admin token or the hook's secret", async () => {
  const texts: string[] = [];
  const keep = (...event: unknown[]) => void texts.push(JSON.stringify(event));
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep };
  const { post, get, api, addAlert, web } = await createWebFixture({ log });
  const { id } = await addAlert();
  const gets = web.routes
    .filter((route) => route.startsWith("GET ") && route !== "GET /api/stream")
    .map((route) => route.slice(4).replace(":id", id).replace(":file", "page.css"));
  for (const path of gets) {
    for (const answer of [await api(path), await get(path)]) {
      texts.push(JSON.stringify([...answer.headers]), await answer.text());
    }
  }
  const wrong = [
    post("/login", { token: `${adminToken}x` }),
    api("/api/mutes", { method: "POST", headers: { "content-type": "application/json" }, body: "{" }),
    web.fetch(new Request("http://tocsin.test/api/alerts", { headers: { authorization: `Bearer ${adminToken}x` } })),
  ];
  for (const answer of await Promise.all(wrong)) texts.push(await answer.text());
  expect(texts.length).toBeGreaterThan(40);
  for (const text of texts) {
    expect(text).not.toContain(adminToken);
    expect(text).not.toContain(hookSecret);
  }
});

test("the hook's address is shown to whoever is logged in and asks for it by a button", async () => {
  const { read, post, web } = await createWebFixture();
  expect(await read("/setup")).toContain("http://tocsin.test/hooks/…");
  const revealed = await post("/setup");
  expect(await revealed.text()).toContain(`http://tocsin.test/hooks/${hookSecret}`);
  expect(revealed.headers.get("cache-control")).toBe("no-store");
  const nobody = await web.fetch(new Request("http://tocsin.test/setup", { method: "POST" }));
  expect(nobody.status).toBe(303);
});
