import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { openLate, type Pages } from "../../src/http/late-pages.ts";
import { createPlainAnswer } from "../../src/http/plain-answer.ts";
import { listenOnLoopback } from "../support/loopback.ts";

async function serve(pages: Pages): Promise<(path: string) => Promise<[number, unknown]>> {
  const handler = openLate(pages, createPlainAnswer({ "x-frame-options": "DENY" }));
  const server = createServer((request, response) => void handler(request, response));
  const { url } = await listenOnLoopback(server);
  onTestFinished(() => void server.closeAllConnections());
  return async (path) => {
    const response = await fetch(new URL(path, url));
    return [response.status, await response.text()];
  };
}

test("the first requests open the pages once for all", async () => {
  let opened = 0;
  const get = await serve({
    async open() {
      opened += 1;
      return async (request) => new Response(`${request.method} ${new URL(request.url).pathname}`);
    },
    onFault() {},
  });
  const paths = ["/", "/alerts", "/api/status"];
  expect(await Promise.all(paths.map((path) => get(path)))).toEqual(paths.map((path) => [200, `GET ${path}`]));
  expect(await get("/more")).toEqual([200, "GET /more"]);
  expect(opened).toBe(1);
});

test("pages that cannot be loaded are 503 with the reason where there are words for it, and tried again", async () => {
  let fault: Error | undefined = new Error("a file is missing");
  const faults: unknown[] = [];
  const get = await serve({
    async open() {
      if (fault !== undefined) throw fault;
      return () => new Response("here");
    },
    onFault: (error) => faults.push(String(error)),
  });
  expect(await get("/")).toEqual([503, "Not loaded.\n"]);
  expect(faults).toEqual(["Error: a file is missing"]);
  fault = new AppError("store_unavailable", "It is away.", { hint: "Wait.", retryAfterMs: 1_000 });
  expect(await get("/")).toEqual([503, "It is away.\nWait.\n"]);
  const error = { code: "store_unavailable", message: "It is away.", hint: "Wait." };
  expect(await get("/api/status")).toEqual([503, JSON.stringify({ error })]);
  fault = undefined;
  expect(await get("/")).toEqual([200, "here"]);
});
