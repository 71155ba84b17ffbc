import { Hono } from "hono";
import { expect, test } from "vitest";
import { routes } from "../../src/contract/api.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { accessTo, createGuard, judgeOrigin, type OriginHeaders } from "../../src/web/access/guard.ts";
import { createSessionCookie, openSessions } from "../../src/web/access/session.ts";
import { createTokenCheck } from "../../src/web/access/token-check.ts";
import { mostOfStrangers } from "../../src/web/request-body.ts";
import type { Web } from "../../src/web/web.ts";
import type { WebEnv } from "../../src/web/web-env.ts";
import { openRaw } from "../support/raw-http.ts";
import { createWebFixture } from "../support/web-fixture.ts";
import { serveWebFixture } from "../support/web-server.ts";

const askable = (web: Web) =>
  web.routes.map((route) => {
    const [method = "", path = ""] = route.split(" ");
    return { route, method, path: path.replace(/:\w+/g, "x"), access: accessTo(route) };
  });

test("only what must be is open, and the API takes the admin token", async () => {
  const { web } = await createWebFixture();
  const all = askable(web);
  expect(
    all
      .filter(({ access }) => access === "open")
      .map(({ route }) => route)
      .sort(),
  ).toEqual(["GET /assets/:file", "GET /login", "GET /pictures/:name", "POST /login"]);
  const byToken = all.filter(({ access }) => access === "token or session").map(({ route }) => route);
  expect(byToken.sort()).toEqual([...routes.map(([, { path }]) => path), "GET /api/openapi.json"].sort());
});

test("a route that nobody has thought of is shut", async () => {
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
      tokenCheck: createTokenCheck({ adminToken, clock: systemClock }),
      networkOf: () => "unknown",
    }),
  );
  app.get("/forgotten", (c) => c.text("secret"));
  const answer = await app.request("/forgotten", { headers: { authorization: "Bearer token" } });
  expect(answer.status).toBe(303);
  expect(await answer.text()).not.toContain("secret");
});

test("who it is comes before what it sends, on every route, with and without a length", async () => {
  const { url, web } = await serveWebFixture();
  const statusOf = async (request: string) => {
    const connection = await openRaw(url);
    await connection.write(request);
    const [answer] = await connection.readAnswers(1);
    connection.socket.destroy();
    return answer?.status;
  };
  for (const { route, method, path, access } of askable(web)) {
    const head = `${method} ${path} HTTP/1.1\r\nHost: tocsin.test\r\n`;
    // None of them ever comes to its end.
    const chunked = (bytes: number) =>
      `${head}Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n${"a".repeat(bytes)}\r\n`;
    const counted = (bytes: number) => `${head}Content-Length: ${bytes}\r\n\r\n${"a".repeat(bytes - 1)}`;
    if (access === "open" && method !== "GET") {
      expect(await statusOf(chunked(mostOfStrangers + 1)), route).toBe(413);
      expect(await statusOf(counted(mostOfStrangers + 1)), route).toBe(413);
    } else {
      const statuses = access === "open" ? [200, 404] : access === "session" ? [303] : [401];
      expect(statuses, route).toContain(await statusOf(chunked(5)));
      expect(statuses, route).toContain(await statusOf(counted(5)));
    }
  }
});

test("nobody gets what is not open, by any route; each says nothing but its own, nowhere cached, in no frame", async () => {
  const { ask, web } = await createWebFixture();
  for (const { route, method, path, access } of askable(web)) {
    const { status, headers } = await ask(path, { method });
    if (access === "session") {
      expect(status, route).toBe(303);
      expect(headers.get("location")).toMatch(/^\/login\?next=%2F/);
    } else if (access === "open") expect([200, 403, 404], route).toContain(status);
    else {
      expect(status, route).toBe(401);
      expect(headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
    expect(headers.get("content-security-policy"), route).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("strict-transport-security")).toBeNull();
  }
});

test("promises https for good when it is reached by https", async () => {
  const { web } = await createWebFixture({ publicUrl: "https://tocsin.test" });
  const { headers } = await web.fetch(new Request("https://tocsin.test/login"));
  expect(headers.get("strict-transport-security")).toMatch(/^max-age=\d{8}/);
});

test("an API token opens no page, and a page's session the API", async () => {
  const { get, api } = await createWebFixture();
  expect((await api("/")).status).toBe(303);
  expect((await get("/api/alerts")).status).toBe(200);
});

test("assets are kept for good under names that change with them", async () => {
  const { ask, read } = await createWebFixture();
  const page = await read("/");
  const style = /href="(\/assets\/page-[0-9a-f]{12}\.css)"/.exec(page)?.[1] ?? "";
  const answer = await ask(style);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
  expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  const old = await ask("/assets/page-000000000000.css");
  expect([old.status, old.headers.get("cache-control")]).toEqual([404, "no-store"]);
});

const publicUrl = "https://tocsin.example";

test.each<[string, OriginHeaders, string]>([
  ["the browser says so", { secFetchSite: "same-origin" }, "same"],
  ["another site", { secFetchSite: "cross-site", origin: publicUrl }, "foreign"],
  ["a sister host", { secFetchSite: "same-site" }, "foreign"],
  ["the public address, behind a proxy that ends TLS", { origin: publicUrl, host: "10.0.0.7:8080" }, "same"],
  ["the host that was addressed", { origin: "http://localhost:8080", host: "localhost:8080" }, "same"],
  ["the public host without TLS", { origin: "http://tocsin.example", host: "tocsin.example" }, "foreign"],
  ["another origin", { origin: "https://evil.example", host: "tocsin.example" }, "foreign"],
  ["another port", { origin: "https://tocsin.example:8443", host: "tocsin.example" }, "foreign"],
  ["no origin at all", { host: "tocsin.example" }, "unknown"],
  ["an origin that is kept back", { origin: "null", host: "tocsin.example" }, "unknown"],
  ["an origin that is none", { origin: "evil", host: "evil" }, "foreign"],
])("%s", (_name, headers, verdict) => {
  expect(judgeOrigin(headers, publicUrl)).toBe(verdict);
});

test("a form of a page of another site changes nothing", async () => {
  const { post, addAlert, store } = await createWebFixture();
  const { id } = await addAlert();
  const foreign: Record<string, string>[] = [
    { origin: "https://evil.example" },
    { "sec-fetch-site": "cross-site" },
    { origin: "null", "sec-fetch-site": "cross-site" },
  ];
  for (const headers of foreign) expect((await post(`/alerts/${id}/resend`, {}, headers)).status).toBe(403);
  expect((await store.getAlert(id))?.deliveries).toHaveLength(1);
});

test("a form of a page needs the token of its own session, and no more where the browser keeps the origin back", async () => {
  const { logIn, operations } = await createWebFixture();
  const [mine, yours] = [await logIn(), await logIn()];
  const theirs = /name="form_token" value="([^"]+)"/.exec(await (await yours.get("/")).text())?.[1] ?? "";
  const fields = { match: "severity=info", for: "1h", reason: "test" };
  expect((await mine.post("/mutes", { ...fields, form_token: theirs })).status).toBe(403);
  expect((await mine.post("/mutes", { ...fields, form_token: "" })).status).toBe(403);
  expect(await operations.listMutes()).toEqual([]);
  for (const origin of ["http://tocsin.test", "null"])
    expect((await mine.post("/mutes", fields, { origin })).status).toBe(303);
});

test("a script of another site cannot use the API with the reader's cookie", async () => {
  const { ask, logIn } = await createWebFixture();
  const { cookie } = await logIn();
  const add = (headers: Record<string, string>) =>
    ask("/api/mutes", {
      method: "POST",
      headers: { cookie, "content-type": "application/json", ...headers },
      body: JSON.stringify({ match: "severity=info", for: "1h", reason: "test" }),
    });
  expect((await add({})).status).toBe(403);
  expect((await add({ origin: "null" })).status).toBe(403);
  expect((await add({ origin: "https://evil.example" })).status).toBe(403);
  expect((await add({ origin: "http://tocsin.test" })).status).toBe(201);
});

test("asking with GET or HEAD never changes anything", async () => {
  const { get, addAlert, store } = await createWebFixture();
  const { id } = await addAlert();
  for (const method of ["GET", "HEAD"]) {
    // They ask; the forms on them do it.
    expect((await get(`/alerts/${id}/resend`, { method })).status).toBe(200);
    expect((await get("/resend", { method })).status).toBe(200);
    expect((await get("/destinations/ops/try", { method })).status).toBe(404);
    expect((await get("/logout", { method })).status).toBe(404);
  }
  expect((await get("/")).status).toBe(200);
  expect((await store.getAlert(id))?.deliveries).toHaveLength(1);
});
