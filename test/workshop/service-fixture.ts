import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import type { ServiceSandboxOptions } from "../../workshop/service/service.ts";
import { createServiceSandbox } from "../../workshop/service/service.ts";
import { listenOnLoopback } from "../support/loopback.ts";

/** 21 November 2025, 12:00:00 UTC. */
export const startAt = Date.UTC(2025, 10, 21, 12);

/** A sandbox whose time stands still until it is moved. Small unless a test asks for more. */
export async function startSandbox(options: Partial<ServiceSandboxOptions> & { at?: number } = {}) {
  const { at = startAt, ...rest } = options;
  let time = at;
  let drawn = 0;
  const sandbox = await createServiceSandbox({
    now: () => time,
    // A fixed sequence: spread enough for ids, the same on every run.
    random: () => {
      drawn += 1;
      return (drawn * 0.6180339887) % 1;
    },
    tickMs: 0,
    key: "key-of-ada",
    metricCount: 1000,
    ...rest,
  });
  const fixture = {
    sandbox,
    now: () => time,
    /** Moves the clock and does what is due then. */
    advance(ms: number) {
      time += ms;
      sandbox.tick();
    },
    /** The same, and waits until it is done; default no time. */
    async pass(ms = 0) {
      if (ms > 0) fixture.advance(ms);
      await sandbox.settled();
    },
    /** Sets the outputs of the account whose key it is; default the first. */
    async setOutputs(outputs: object, key = sandbox.apiKey) {
      const init = { method: "PUT", headers: { authorization: key }, body: JSON.stringify(outputs) };
      expect((await fixture.call(`${sandbox.alertingUrl}/account`, init)).status).toBe(200);
    },
    /** One request with the first account's key in both headers, unless others are given. */
    async call(url: string, init: RequestInit = {}) {
      const keys = { authorization: sandbox.apiKey, "x-api-key": sandbox.apiKey };
      const response = await fetch(url, { headers: keys, ...init });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json") ?? false;
      const body: unknown = isJson ? JSON.parse(text) : text;
      return { status: response.status, headers: response.headers, body };
    },
  };
  return fixture;
}

export type SandboxFixture = Awaited<ReturnType<typeof startSandbox>>;

export interface Received {
  path: string;
  contentType: string | undefined;
  body: string;
}

/** A receiver of webhooks, until the test ends. `answer` ends the response, or leaves it hanging; default 200. */
export async function startReceiver(
  answer: (response: ServerResponse, count: number) => void = (response) => void response.end(),
) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { url: path = "", headers } = request;
    received.push({ path, contentType: headers["content-type"], body: await text(request) });
    answer(response, received.length);
  });
  return { url: (await listenOnLoopback(server)).url, received };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
