import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServiceSandbox, ServiceSandboxOptions } from "../../src/sandbox/service/service.ts";
import { createServiceSandbox } from "../../src/sandbox/service/service.ts";

/** 21 November 2025, 12:00:00 UTC. */
export const startAt = Date.UTC(2025, 10, 21, 12);

export interface SandboxFixture {
  sandbox: ServiceSandbox;
  now(): number;
  /** Moves the clock and does what is due then. */
  advance(ms: number): void;
  /** One request with the first account's key in both headers, unless others are given. */
  call(url: string, init?: RequestInit): Promise<{ status: number; headers: Headers; body: unknown }>;
}

/** A sandbox whose time stands still until it is moved. Small unless a test asks for more. */
export async function startSandbox(
  options: Partial<ServiceSandboxOptions> & { at?: number } = {},
): Promise<SandboxFixture> {
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
  return {
    sandbox,
    now: () => time,
    advance(ms) {
      time += ms;
      sandbox.tick();
    },
    async call(url, init = {}) {
      const keys = { authorization: sandbox.apiKey, "x-api-key": sandbox.apiKey };
      const response = await fetch(url, { headers: keys, ...init });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json") ?? false;
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
  };
}

export interface Received {
  path: string;
  contentType: string | undefined;
  body: string;
}

export interface Receiver {
  url: string;
  received: Received[];
  close(): Promise<void>;
}

/** A webhook of its own on a free port. `answer` ends the response, or leaves it hanging; default 200. */
export async function startReceiver(
  answer: (response: ServerResponse, count: number) => void = (response) => void response.end(),
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push(await readRequest(request));
    answer(response, received.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return {
    path: request.url ?? "",
    contentType: request.headers["content-type"],
    body: Buffer.concat(chunks).toString("utf8"),
  };
}
