import type { LookupAddress } from "node:dns";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAddressPolicy } from "../../../src/vendors/http/address-policy.ts";
import { type Connection, openConnection, type ResolveHost } from "../../../src/vendors/http/open-connection.ts";

let server: Server;
let port: number;
let connections: number;
const sockets = new Set<Socket>();

beforeEach(async () => {
  connections = 0;
  server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise((closed) => server.close(closed));
});

function resolvesTo(...addresses: string[]): ResolveHost {
  return (_host, _options, callback) => {
    const found = addresses.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 }));
    callback(null, found);
  };
}

async function open(
  url: string,
  options: { allow?: string[]; resolve?: ResolveHost; timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<Connection> {
  const connection = await openConnection(new URL(url), {
    policy: createAddressPolicy(options.allow ?? []),
    timeoutMs: options.timeoutMs ?? 240_000,
    signal: options.signal ?? new AbortController().signal,
    resolve: options.resolve,
  });
  if ("socket" in connection) connection.socket.destroy();
  return connection;
}

describe("opening a connection", () => {
  it("refuses a public name that resolves to an internal address, without touching it", async () => {
    const connection = await open(`http://hooks.example.com:${port}/`, { resolve: resolvesTo("127.0.0.1") });
    expect(connection).toEqual({
      fault: { kind: "forbidden", detail: "hooks.example.com resolves to a loopback address" },
    });
    expect(connections).toBe(0);
  });

  it("uses the permitted addresses only when a name has both kinds", async () => {
    const connection = await open(`http://hooks.example.com:${port}/`, {
      allow: ["127.0.0.1"],
      resolve: resolvesTo("10.0.0.1", "127.0.0.1", "169.254.169.254"),
    });
    expect(connection).toHaveProperty("socket");
    expect(connections).toBe(1);
  });

  it("asks the name server once, so that no second answer can differ", async () => {
    let asked = 0;
    const resolve: ResolveHost = (_host, _options, callback) => {
      asked += 1;
      callback(null, [{ address: "127.0.0.1", family: 4 }]);
    };
    await open(`http://hooks.example.com:${port}/`, { allow: ["127.0.0.1"], resolve });
    expect(asked).toBe(1);
  });

  it("reaches an internal host that is allowed by name", async () => {
    const connection = await open(`http://hooks.internal:${port}/`, {
      allow: ["hooks.internal"],
      resolve: resolvesTo("127.0.0.1"),
    });
    expect(connection).toHaveProperty("socket");
  });

  it.each([
    "127.0.0.1",
    "127.1",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "2130706433",
    "127.0.0.1.",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "１２７.0.0.1",
  ])("sees through the notation %s", async (host) => {
    expect(await open(`http://${host}:${port}/`)).toMatchObject({ fault: { kind: "forbidden" } });
    expect(connections).toBe(0);
  });

  it("reports a name that does not resolve", async () => {
    const resolve: ResolveHost = (_host, _options, callback) => {
      callback(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }), []);
    };
    expect(await open("http://hooks.example.com/", { resolve })).toEqual({
      fault: { kind: "dns", detail: "name not resolved (ENOTFOUND)", code: "ENOTFOUND" },
    });
  });

  it("reports a refused connection", async () => {
    const free = await new Promise<number>((resolve) => {
      const other = createServer().listen(0, "127.0.0.1", () => {
        const { port: unused } = other.address() as AddressInfo;
        other.close(() => resolve(unused));
      });
    });
    expect(await open(`http://127.0.0.1:${free}/`, { allow: ["127.0.0.1"] })).toMatchObject({
      fault: { kind: "refused", detail: "no connection (connection refused)" },
    });
  });

  it("reports a TLS handshake that fails", async () => {
    server.on("connection", (socket) => socket.end("this is not TLS\r\n"));
    expect(await open(`https://127.0.0.1:${port}/`, { allow: ["127.0.0.1"] })).toMatchObject({
      fault: { kind: "tls" },
    });
  });

  it("gives up on a handshake that hangs", async () => {
    const connection = await open(`https://127.0.0.1:${port}/`, { allow: ["127.0.0.1"], timeoutMs: 100 });
    expect(connection).toEqual({ fault: { kind: "timeout", detail: "no connection within 100 ms" } });
  });

  it("gives up on a name server that hangs", async () => {
    const connection = await open("http://hooks.example.com/", { resolve: () => undefined, timeoutMs: 50 });
    expect(connection).toMatchObject({ fault: { kind: "timeout" } });
  });

  it("stops when it is told to", async () => {
    const controller = new AbortController();
    const opening = open("http://hooks.example.com/", {
      resolve: () => controller.abort(),
      signal: controller.signal,
    });
    expect(await opening).toMatchObject({ fault: { kind: "aborted" } });
  });
});
