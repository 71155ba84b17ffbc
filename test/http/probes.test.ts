import { expect, onTestFinished, test } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import type { Pages } from "../../src/http/late-pages.ts";
import { listen } from "../../src/http/listen.ts";
import type { Probes } from "../../src/http/probes.ts";
import { Door } from "../../src/intake/door/door.ts";
import { admitToken, createTokenCheck } from "../../src/web/access/token-check.ts";
import { ending, probesAsDocumented } from "../support/documented-probes.ts";
import { exchangeRaw } from "../support/raw-http.ts";
import { createTestClock } from "../support/test-clock.ts";

const adminToken = "probes-token-kS93jdLwm2PzQe81";

/** A relay that takes alerts; until `serve` it is starting. */
async function openRelay() {
  const clock = createTestClock();
  const store = { acceptRequest: () => Promise.reject(new Error("no alert comes")) };
  const refused = { recordRefused: async () => {} };
  const secret = new Secret("probes-secret-kS93jdLwm2PzQe81");
  const door = new Door({ store, refused, now: clock.now, newId: String, log: silentLog }, { secret });
  const headers = { "x-frame-options": "DENY" };
  const server = await listen({ door, host: "127.0.0.1", port: 0, clock, headers });
  onTestFinished(async () => {
    const closed = server.close();
    await clock.advance(10_000);
    await closed;
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  const ask = async (bytes: string) => {
    const [answer, ...others] = await exchangeRaw(url, bytes);
    expect(others, bytes).toEqual([]);
    return answer;
  };
  return { clock, server, url, ask, get: (path: string) => ask(`GET ${path} HTTP/1.0\r\n\r\n`) };
}

const tokenCheck = createTokenCheck({ adminToken: new Secret(adminToken), clock: createTestClock() });

const pagesOf = (changes: Partial<Pages & Probes> = {}): Pages & Probes => ({
  readiness: async () => ({ ready: true }),
  metrics: {
    admit: ({ headers }) => admitToken(headers.authorization, () => "unknown", { tokenCheck, log: silentLog }),
    text: async () => "tocsin_disk_full 0\n",
  },
  open: async () => (request) => new Response(`${request.method} page`),
  onFault() {},
  ...changes,
});

test.each(Object.entries(probesAsDocumented))(
  "each probe as its program's documents write it: %s",
  async (_program, probes) => {
    const { server, url, ask } = await openRelay();
    const isOpened = { page: false };
    server.serve(
      pagesOf({
        async open() {
          isOpened.page = true;
          return () => new Response("here");
        },
      }),
    );
    for (const state of ["no page", "a page"]) {
      for (const bytes of probes) expect((await ask(bytes))?.status, `${state}: ${bytes}`).toBe(200);
      expect(isOpened.page).toBe(state === "a page");
      await fetch(url);
    }
  },
);

test("every way to write a request gets the same answer, and another method or path none of them", async () => {
  const { server, ask } = await openRelay();
  server.serve(pagesOf({ readiness: async (of) => ({ ready: of === "alerts", spooled: 3, configuration: "older" }) }));
  const token = `Authorization: Bearer ${adminToken}\r\n`;
  for (const [path, status, body] of [
    ["/healthz", 200, '{"data":{"alive":true}}'],
    ["/readyz", 503, '{"data":{"ready":false,"spooled":3,"configuration":"older"}}'],
    ["/readyz?alerts", 200, '{"data":{"ready":true,"spooled":3,"configuration":"older"}}'],
    ["/readyz/?x=1&alerts=", 200, '{"data":{"ready":true,"spooled":3,"configuration":"older"}}'],
    ["/metrics", 200, "tocsin_disk_full 0\n"],
  ] as const) {
    for (const host of ["", "Host:\r\n", "Host: x\r\n", "Host: a b:c\r\n", "Host: [::1]:80\r\n"]) {
      for (const target of [path, `http://elsewhere.example${path}`]) {
        for (const version of ["1.0", "1.1"]) {
          const bytes = `GET ${target} HTTP/${version}\r\n${host}${token}${ending}`;
          expect(await ask(bytes), bytes).toMatchObject({ status, body });
        }
      }
    }
    for (const method of ["HEAD", "OPTIONS"]) {
      const answer = await ask(`${method} ${path} HTTP/1.0\r\n${token}\r\n`);
      expect(answer?.status, `${method} ${path}`).toBe(status);
      expect(answer?.head).toContain("allow: GET, HEAD, OPTIONS");
      expect(answer?.head).toContain("x-frame-options: DENY");
      expect(answer?.body).toBe(method === "HEAD" ? "" : body);
    }
  }
  for (const bytes of ["POST /healthz", "GET /healthzz", "OPTIONS /alerts"])
    expect((await ask(`${bytes} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n${ending}`))?.body).toMatch(/page$/);
});

test("metrics need the admin token, and are counted against guesses", async () => {
  const { server, ask, get } = await openRelay();
  server.serve(pagesOf());
  expect(await get("/metrics")).toMatchObject({
    status: 401,
    head: expect.stringMatching(/www-authenticate: Bearer/i),
  });
  const guess = () => ask("GET /metrics HTTP/1.0\r\nAuthorization: Bearer wrong\r\n\r\n");
  for (let tries = 0; tries < 10; tries += 1) expect((await guess())?.status).toBe(401);
  expect(await guess()).toMatchObject({ status: 429, head: expect.stringMatching(/retry-after: 6/) });
  server.serve(pagesOf({ metrics: { admit: async () => {}, text: () => Promise.reject(new Error("a bug")) } }));
  expect(await get("/metrics")).toMatchObject({ status: 500, body: expect.not.stringContaining("a bug") });
});

test("a relay that starts lives and takes alerts, and is not ready; nor is one whose look fails", async () => {
  const { server, get } = await openRelay();
  const statuses = async () =>
    Promise.all(
      ["/healthz", "/readyz", "/readyz?alerts", "/metrics", "/"].map(async (path) => (await get(path))?.status),
    );
  expect(await statuses()).toEqual([200, 503, 200, 503, 503]);
  server.serve(pagesOf({ readiness: () => Promise.reject(new Error("no store")) }));
  expect((await statuses()).slice(0, 3)).toEqual([200, 503, 503]);
});
