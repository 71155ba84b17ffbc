import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { createPost } from "../../workshop/service/notifier.ts";
import { listenOnLoopback } from "../support/loopback.ts";

const source = new URL("../../src/", import.meta.url).pathname;

/** In Node 20 such a signal is collected when only `AbortSignal.any` holds it: what it should end goes on for ever. */
it("nothing waits on AbortSignal.timeout within AbortSignal.any", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
  const found = files.filter((name) => /AbortSignal\s*\.timeout\(/.test(readFileSync(join(source, name), "utf8")));
  expect(found).toEqual([]);
});

it("the sandbox gives up on a receiver that never answers, also when memory was collected meanwhile", async () => {
  const server = createServer(() => {});
  const asked = new Promise<void>((resolve) => {
    server.once("request", () => resolve());
  });
  const { url } = await listenOnLoopback(server);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;

  const post = createPost({ telegramApiRoot: url }, 200);
  const notification = { output: "webhook", contentType: "text/plain", body: "x" } as Parameters<typeof post>[0];
  const answer = post(notification, url, new AbortController().signal);
  // A busy machine may take longer than that to ask at all.
  await Promise.race([asked, answer]);
  collect();
  expect(await answer).toEqual({ attempt: { outcome: "unanswered", detail: "no answer within 200 ms" } });
});
