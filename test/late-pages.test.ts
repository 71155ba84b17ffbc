import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { openLate, type Pages } from "../src/late-pages.ts";
import { listenOnLoopback } from "./support/loopback.ts";

async function serve(pages: Pages): Promise<(path: string, init?: RequestInit) => Promise<[number, unknown]>> {
  const handler = openLate(pages, { "x-frame-options": "DENY" });
  const server = createServer((request, response) => void handler(request, response));
  const { url } = await listenOnLoopback(server);
  onTestFinished(() => void server.closeAllConnections());
  return async (path, init) => {
    const response = await fetch(new URL(path, url), init);
    return [response.status, await response.text()];
  };
}

test("probes are answered without the pages, which the first other request opens once for all", async () => {
  let opened = 0;
  let isReady = true;
  const get = await serve({
    readiness: async () => ({ ready: isReady, spools: true, spooled: 3 }),
    async open() {
      opened += 1;
      return async (request) => new Response(`${request.method} ${new URL(request.url).pathname}`);
    },
    onFault() {},
  });
  expect(await get("/healthz")).toEqual([200, '{"data":{"alive":true}}']);
  expect(await get("/readyz")).toEqual([200, '{"data":{"ready":true,"spooled":3}}']);
  isReady = false;
  expect(await get("/readyz")).toEqual([503, '{"data":{"ready":false,"spooled":3}}']);
  expect(await get("/readyz?alerts")).toEqual([200, '{"data":{"ready":true,"spooled":3}}']);
  expect(opened).toBe(0);

  const paths = ["/", "/alerts", "/api/status"];
  expect(await Promise.all(paths.map((path) => get(path)))).toEqual(paths.map((path) => [200, `GET ${path}`]));
  expect(await get("/healthz", { method: "POST", body: "x" })).toEqual([200, "POST /healthz"]);
  expect(await get("/healthz")).toEqual([200, "GET /healthz"]);
  expect(opened).toBe(1);
});

test("pages that cannot be loaded are 503 and tried again, and a store that fails is not ready", async () => {
  let isBroken = true;
  const faults: unknown[] = [];
  const get = await serve({
    readiness: () => Promise.reject(new Error("no store")),
    async open() {
      if (isBroken) throw new Error("a file is missing");
      return () => new Response("here");
    },
    onFault: (error) => faults.push(String(error)),
  });
  expect(await get("/readyz")).toEqual([503, '{"data":{"ready":false}}']);
  expect(await get("/")).toEqual([503, "Not loaded.\n"]);
  expect(faults).toEqual(["Error: a file is missing"]);
  isBroken = false;
  expect(await get("/")).toEqual([200, "here"]);
});
