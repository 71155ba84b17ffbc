import { Hono } from "hono";
import { expect, it } from "vitest";
import { answerError, toAppError } from "../../src/web/error-answer.ts";
import { createBodyReader } from "../../src/web/request-body.ts";
import type { WebEnv } from "../../src/web/web-env.ts";

const identity = { kind: "token" } as const;

function openApp(roomBytes: number) {
  const app = new Hono<WebEnv>();
  app.use((c, next) => {
    c.set("identity", identity);
    return next();
  });
  app.use(createBodyReader({ networkOf: () => "one", mostFor: () => 100_000, roomBytes }));
  app.post("/", async (c) => c.text(String((await c.req.text()).length)));
  app.onError((thrown, c) => answerError(c, toAppError(thrown)));
  const send = (body: RequestInit["body"]) => app.request("/", { method: "POST", body, duplex: "half" } as RequestInit);
  return {
    send,
    /** Sends so much, and never the rest. */
    stall: (bytes: number) =>
      send(new ReadableStream({ start: (controller) => bytes > 0 && controller.enqueue(new Uint8Array(bytes)) })),
  };
}

it("hands on what was sent, and refuses more than a path may have", async () => {
  const { send } = openApp(1_000_000);
  expect(await (await send("x".repeat(100_000))).text()).toBe("100000");
  expect((await send("x".repeat(100_001))).status).toBe(413);
});

it("ends requests that send nothing for others", async () => {
  const { send, stall } = openApp(40_000);
  const silent = Array.from({ length: 13 }, () => stall(0));
  expect((await send("x".repeat(30_000))).status).toBe(200);
  expect((await silent[0])?.status).toBe(503);
});

it("ends the longest under way for another, and says so", async () => {
  const { send, stall } = openApp(200_000);
  const [first] = [stall(90_000), stall(90_000)];
  expect((await send("x".repeat(90_000))).status).toBe(200);
  const answer = await first;
  expect([answer?.status, answer?.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await answer?.text()).toContain("The memory for bodies is full; send it again.");
});
