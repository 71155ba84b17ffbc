import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { createGuard, routeTable } from "../../src/web/access/guard.ts";
import { createSessionCookie, openSessions } from "../../src/web/access/session.ts";
import { createTokenCheck } from "../../src/web/access/token-check.ts";
import { toAppError } from "../../src/web/error-answer.ts";
import type { WebEnv } from "../../src/web/web-env.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const routes = Object.entries(routeTable).map(([route, access]) => {
  const [method = "", path = ""] = route.split(" ");
  return { route, method, path: path.replace(/:\w+/g, "x"), access };
});

test("every route that answers stands in the table, and nothing else does", async () => {
  const { web } = await createWebFixture();
  expect([...web.routes].sort()).toEqual(Object.keys(routeTable).sort());
});

test("a route that is missing from the table is refused, whoever asks", async () => {
  const adminToken = new Secret("token");
  const store = { listKeys: async () => [], putKeyIfAbsent: async () => true };
  const sessions = await openSessions({ adminToken, store, now: Date.now, onEnded: () => {} });
  const app = new Hono<WebEnv>();
  app.use(
    createGuard({
      publicUrl: "http://tocsin.test",
      log: silentLog,
      sessions,
      cookie: createSessionCookie(sessions, false),
      tokenCheck: createTokenCheck({ adminToken, now: Date.now }),
      networkOf: () => "unknown",
    }),
  );
  app.get("/forgotten", (c) => c.text("secret"));
  app.onError((thrown, c) => c.text(toAppError(thrown).code, 500));
  const answer = await app.request("/forgotten", { headers: { authorization: "Bearer token" } });
  expect(answer.status).toBe(500);
  expect(await answer.text()).toBe("internal");
});

describe.each(routes)("$route", ({ method, path, access }) => {
  test(`asked by nobody: ${access}`, async () => {
    const { web } = await createWebFixture();
    const answer = await web.fetch(new Request(`http://tocsin.test${path}`, { method }));
    if (access === "session") {
      expect(answer.status).toBe(303);
      expect(answer.headers.get("location")).toMatch(/^\/login\?next=%2F/);
    } else if (access === "open") expect([200, 403, 404]).toContain(answer.status);
    else {
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
  });

  test("says nothing but its own, nowhere cached, in no frame", async () => {
    const { web } = await createWebFixture();
    const { headers } = await web.fetch(new Request(`http://tocsin.test${path}`, { method }));
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("strict-transport-security")).toBeNull();
  });
});

test("promises https for good when it is reached by https", async () => {
  const { web } = await createWebFixture({ publicUrl: "https://tocsin.test" });
  const { headers } = await web.fetch(new Request("https://tocsin.test/healthz"));
  expect(headers.get("strict-transport-security")).toMatch(/^max-age=\d{8}/);
});

test("an API token opens no page, and a page's session no metrics", async () => {
  const { api, logIn } = await createWebFixture();
  expect((await api("/")).status).toBe(303);
  const browser = await logIn();
  expect((await browser.get("/metrics")).status).toBe(401);
  expect((await browser.get("/api/alerts")).status).toBe(200);
});

test("assets are kept for good under names that change with them", async () => {
  const { web, logIn } = await createWebFixture();
  const page = await (await (await logIn()).get("/")).text();
  const style = /href="(\/assets\/page-[0-9a-f]{12}\.css)"/.exec(page)?.[1] ?? "";
  const answer = await web.fetch(new Request(`http://tocsin.test${style}`));
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/css; charset=utf-8");
  expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  const old = await web.fetch(new Request("http://tocsin.test/assets/page-000000000000.css"));
  expect(old.status).toBe(404);
  expect(old.headers.get("cache-control")).toBe("no-store");
});

test("health and readiness tell one bit each", async () => {
  const readiness = { ready: true, reasons: [] as string[] };
  const fixture = await createWebFixture();
  const { web, operations } = fixture;
  const get = (path: string) => web.fetch(new Request(`http://tocsin.test${path}`));
  operations.readiness = async () => readiness;
  expect(await (await get("/healthz")).json()).toEqual({ data: { alive: true } });
  expect(await (await get("/readyz")).json()).toEqual({ data: { ready: true } });
  operations.readiness = async () => ({ ready: false, reasons: ["the disk is full"] });
  const answer = await get("/readyz");
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ data: { ready: false } });
});
