import { createServer, type Socket } from "node:net";
import { beforeEach, expect, it } from "vitest";
import { createAddressPolicy } from "../../../src/vendors/http/address-policy.ts";
import { openConnection, type ResolveHost } from "../../../src/vendors/http/open-connection.ts";
import { findLastingPort } from "../../support/lasting-port.ts";
import { listenOnLoopback } from "../../support/loopback.ts";

let port: number;
let connected: Socket[];
beforeEach(async () => {
  connected = [];
  ({ port } = await listenOnLoopback(createServer((socket) => connected.push(socket))));
});

const resolvesTo =
  (...addresses: string[]): ResolveHost =>
  (_host, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );

interface Options {
  allow?: string[];
  resolve?: ResolveHost;
  timeoutMs?: number;
  signal?: AbortSignal;
}

async function open(url: string, { allow = [], timeoutMs = 240_000, signal, resolve }: Options = {}) {
  const policy = createAddressPolicy(allow);
  const given = { policy, timeoutMs, signal: signal ?? new AbortController().signal, resolve };
  const connection = await openConnection(new URL(url), given);
  if ("socket" in connection) connection.socket.destroy();
  return connection;
}
const openHere = (options: Options, host = "hooks.example.com") => open(`http://${host}:${port}/`, options);

it("refuses a public name that resolves to an internal address, without touching it", async () => {
  expect(await openHere({ resolve: resolvesTo("127.0.0.1") })).toEqual({
    fault: { kind: "forbidden", detail: "hooks.example.com resolves to a loopback address" },
  });
  expect(connected).toEqual([]);
});

it("uses the permitted addresses only when a name has both kinds, and asks the name server once", async () => {
  let asked = 0;
  const both = resolvesTo("10.0.0.1", "127.0.0.1", "169.254.169.254");
  const resolve: ResolveHost = (...given) => {
    asked += 1;
    both(...given);
  };
  expect(await openHere({ allow: ["127.0.0.1"], resolve })).toHaveProperty("socket");
  expect([connected.length, asked]).toEqual([1, 1]);
});

it("reaches an internal host that is allowed by name", async () => {
  const named = { allow: ["hooks.internal"], resolve: resolvesTo("127.0.0.1") };
  expect(await openHere(named, "hooks.internal")).toHaveProperty("socket");
});

it.each([
  ...["127.0.0.1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "127.0.0.1.", "[::1]", "[::ffff:127.0.0.1]"],
  ...["[0:0:0:0:0:ffff:7f00:1]", "１２７.0.0.1"],
])("sees through the notation %s", async (host) => {
  expect(await openHere({}, host)).toMatchObject({ fault: { kind: "forbidden" } });
  expect(connected).toEqual([]);
});

it("reports a name that does not resolve", async () => {
  const resolve: ResolveHost = (_host, _options, callback) =>
    callback(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }), []);
  expect(await openHere({ resolve })).toEqual({
    fault: { kind: "dns", detail: "name not resolved (ENOTFOUND)", code: "ENOTFOUND" },
  });
});

it("reports a refused connection", async () => {
  const closed = `http://127.0.0.1:${await findLastingPort()}/`;
  expect(await open(closed, { allow: ["127.0.0.1"] })).toMatchObject({
    fault: { kind: "refused", detail: "no connection (connection refused)" },
  });
});

it("reports a TLS handshake that fails, and gives up on one that hangs", async () => {
  const hanging = await open(`https://127.0.0.1:${port}/`, { allow: ["127.0.0.1"], timeoutMs: 100 });
  expect(hanging).toEqual({ fault: { kind: "timeout", detail: "no connection within 100 ms" } });
  const noTls = await listenOnLoopback(createServer((socket) => socket.end("this is not TLS\r\n")));
  const failing = await open(noTls.url.replace("http:", "https:"), { allow: ["127.0.0.1"] });
  expect(failing).toMatchObject({ fault: { kind: "tls" } });
});

it("gives up on a name server that hangs", async () => {
  expect(await openHere({ resolve: () => undefined, timeoutMs: 50 })).toMatchObject({ fault: { kind: "timeout" } });
});

it("stops when it is told to", async () => {
  const stop = new AbortController();
  const stopped = await openHere({ resolve: () => stop.abort(), signal: stop.signal });
  expect(stopped).toMatchObject({ fault: { kind: "aborted" } });
});
