import { Hono } from "hono";
import { expect, test } from "vitest";
import type { ProxyTrust } from "../../src/ground/net/client-address.ts";
import type { WebEnv } from "../../src/web/web-env.ts";
import { createClientNetwork } from "../../src/web/web-env.ts";

const loopback = ["127.0.0.0/8", "::1/128"];

/** The network that a request of `peer` with these headers is counted for. */
async function networkOf(
  peer: string | undefined,
  headers: Record<string, string> = {},
  trust: Partial<ProxyTrust> = {},
): Promise<string> {
  const find = createClientNetwork({ trustedProxies: loopback, behindFly: false, ...trust });
  const app = new Hono<WebEnv>().get("/", (c) => c.text(find(c)));
  const incoming = { socket: { remoteAddress: peer } } as NonNullable<WebEnv["Bindings"]["incoming"]>;
  return (await app.request("/", { headers }, { incoming })).text();
}

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  [undefined, "unknown"],
])("without a proxy's word: %s counts as %s", async (peer, network) => {
  expect(await networkOf(peer)).toBe(network);
});

test.each(["x-forwarded-for", "forwarded", "fly-client-ip", "x-real-ip", "true-client-ip", "x-client-ip"])(
  "without a proxy's word: %s of a stranger changes nothing",
  async (name) => {
    const value = name === "forwarded" ? "for=198.51.100.1" : "198.51.100.1";
    for (const behindFly of [false, true])
      expect(await networkOf("192.0.2.7", { [name]: value }, { behindFly })).toBe("192.0.2.7");
  },
);

test("without a proxy's word nobody is believed when no proxy is trusted, not even on this machine", async () => {
  const headers = { "x-forwarded-for": "198.51.100.1", forwarded: "for=198.51.100.1" };
  expect(await networkOf("127.0.0.1", headers, { trustedProxies: [] })).toBe("127.0.0.1");
});

test.each([
  ["names the client", "198.51.100.1", "198.51.100.1"],
  ["with a port", "198.51.100.1:4711", "198.51.100.1"],
  ["of IPv6", "2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["of IPv6 in brackets", "[2001:db8:1:2::9]", "2001:db8:1:2::/64"],
  ["of IPv6 in brackets with a port", "[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"],
  ["of mapped IPv4", "::ffff:198.51.100.1", "198.51.100.1"],
  ["counts from the right, so that what the client made up is not reached", "6.6.6.6, 198.51.100.1", "198.51.100.1"],
  ["goes on through trusted hops", "6.6.6.6, 198.51.100.1, 10.0.0.3, 127.0.0.1", "198.51.100.1"],
  ["ends at the farthest trusted hop", "10.0.0.4,10.0.0.3", "10.0.0.4"],
  ["ends before what is no address", "6.6.6.6, unknown, 10.0.0.3", "10.0.0.3"],
  ["that is empty leaves the proxy", "", "127.0.0.1"],
  ["that is garbage leaves the proxy", "<script>, ]]]:::, 1.2.3, 010.0.0.1", "127.0.0.1"],
  ["ends before an empty entry", "6.6.6.6,,", "127.0.0.1"],
])("X-Forwarded-For of a trusted proxy %s", async (_what, header, network) => {
  const trustedProxies = [...loopback, "10.0.0.0/8"];
  expect(await networkOf("127.0.0.1", { "x-forwarded-for": header }, { trustedProxies })).toBe(network);
});

test("X-Forwarded-For of a trusted proxy is read from the end of a list that is longer than any chain of proxies", async () => {
  const trustedProxies = [...loopback, "10.0.0.0/8"];
  const header = ["6.6.6.6", ...Array<string>(2_000).fill("10.0.0.1")].join(",");
  expect(await networkOf("::1", { "x-forwarded-for": header }, { trustedProxies })).toBe("10.0.0.1");
  const forwarded = header.replace(/[^,]+/g, "for=$&");
  expect(await networkOf("::1", { forwarded }, { trustedProxies })).toBe("10.0.0.1");
});

test("X-Forwarded-For counts of a single trusted address and of a range of IPv6", async () => {
  const trustedProxies = ["203.0.113.9", "fd00:1::/32"];
  const headers = { "x-forwarded-for": "198.51.100.1" };
  expect(await networkOf("203.0.113.9", headers, { trustedProxies })).toBe("198.51.100.1");
  expect(await networkOf("203.0.113.8", headers, { trustedProxies })).toBe("203.0.113.8");
  expect(await networkOf("fd00:1:2::3", headers, { trustedProxies })).toBe("198.51.100.1");
  expect(await networkOf("fd00:2::3", headers, { trustedProxies })).toBe("fd00:2:0:0::/64");
});

test.each([
  ["names the client", "for=198.51.100.1", "198.51.100.1"],
  ["among other words", "proto=https; For=198.51.100.1;by=203.0.113.43", "198.51.100.1"],
  ["quoted, with brackets and port", 'for="[2001:db8:1:2::9]:4711"', "2001:db8:1:2::/64"],
  ["counts from the right", 'for=6.6.6.6, for="198.51.100.1:80", for=10.0.0.3', "198.51.100.1"],
  ["keeps commas of quotations", 'for=198.51.100.1;ext="a, for=6.6.6.6;b"', "198.51.100.1"],
  ["keeps quotes in quotations", 'for=198.51.100.1;ext="a\\", for=6.6.6.6;b"', "198.51.100.1"],
  ["with a made-up name leaves the proxy", "for=6.6.6.6, for=_hidden", "127.0.0.1"],
  ["unknown leaves the proxy", "for=unknown", "127.0.0.1"],
  ["without for leaves the proxy", "for=6.6.6.6, by=203.0.113.43", "127.0.0.1"],
  ["with two of it leaves the proxy", "for=6.6.6.6;for=198.51.100.1", "127.0.0.1"],
  ["with a quotation that never ends leaves the proxy", 'for=6.6.6.6;x=", for=198.51.100.1', "127.0.0.1"],
  [
    "of which the client's quotation swallows the proxy's leaves the proxy",
    'for=6.6.6.6;x=", for=198.51.100.1;by="[2001:db8::1]"',
    "127.0.0.1",
  ],
])("Forwarded of a trusted proxy %s", async (_what, header, network) => {
  const trustedProxies = [...loopback, "10.0.0.0/8"];
  expect(await networkOf("127.0.0.1", { forwarded: header }, { trustedProxies })).toBe(network);
});

test("Forwarded of a trusted proxy counts beside X-Forwarded-For only where both say the same: a proxy passes on the one it does not write", async () => {
  const ask = (forwardedFor: string, forwarded: string) =>
    networkOf("127.0.0.1", { "x-forwarded-for": forwardedFor, forwarded });
  expect(await ask("198.51.100.1", "for=198.51.100.1")).toBe("198.51.100.1");
  expect(await ask("198.51.100.1", "for=6.6.6.6")).toBe("127.0.0.1");
  expect(await ask("6.6.6.6", "for=198.51.100.1")).toBe("127.0.0.1");
  expect(await ask("198.51.100.1", '"')).toBe("127.0.0.1");
});

const onFly = { trustedProxies: [], behindFly: true };
const named = { "fly-client-ip": "198.51.100.1", "x-forwarded-for": "6.6.6.6, 198.51.100.1, 2001:db8:8280::1" };

test.each(["172.16.3.178", "::ffff:172.19.2.97"])("on Fly.io %s is its proxy, which names the client", async (peer) => {
  expect(await networkOf(peer, named, onFly)).toBe("198.51.100.1");
});

test.each([
  ["another machine of the private network", "fdaa:0:1:a7b:1::2", "fdaa:0:1:a7b::/64"],
  ["this machine", "127.0.0.1", "127.0.0.1"],
  ["the internet", "203.0.113.9", "203.0.113.9"],
])("on Fly.io %s is not", async (_what, peer, network) => {
  expect(await networkOf(peer, named, onFly)).toBe(network);
});

test("elsewhere than on Fly.io the same peer is a stranger", async () => {
  expect(await networkOf("172.16.3.178", named, { trustedProxies: [] })).toBe("172.16.3.178");
});

test("on Fly.io a header that is no address leaves its proxy", async () => {
  expect(await networkOf("172.16.3.178", { "fly-client-ip": "6.6.6.6, 7.7.7.7" }, onFly)).toBe("172.16.3.178");
});

test("on Fly.io a trusted proxy in front of Fly's names the client; one that is not trusted is the client", async () => {
  const headers = {
    "fly-client-ip": "203.0.113.50",
    "x-forwarded-for": "6.6.6.6, 198.51.100.1, 203.0.113.50, 2001:db8:8280::1",
  };
  const trustedProxies = ["203.0.113.0/24"];
  expect(await networkOf("172.16.3.178", headers, { ...onFly, trustedProxies })).toBe("198.51.100.1");
  expect(await networkOf("172.16.3.178", headers, onFly)).toBe("203.0.113.50");
  const without = { ...headers, "x-forwarded-for": "6.6.6.6" };
  expect(await networkOf("172.16.3.178", without, { ...onFly, trustedProxies })).toBe("203.0.113.50");
});
