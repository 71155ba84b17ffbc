import { Hono } from "hono";
import { expect, test } from "vitest";
import type { ProxyTrust } from "../../src/ground/net/client-address.ts";
import type { WebEnv } from "../../src/web/web-env.ts";
import { createClientNetwork } from "../../src/web/web-env.ts";

type Sent = Record<string, string>;

const trustedProxies = ["127.0.0.0/8", "::1/128", "10.0.0.0/8"];

/** The network that a request of `peer` with these headers is counted for. */
async function networkOf(peer: string | undefined, headers: Sent = {}, trust: Partial<ProxyTrust> = {}) {
  const find = createClientNetwork({ trustedProxies, behindFly: false, ...trust });
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
  ["is read from the end of more entries than proxies make", `6.6.6.6${",10.0.0.1".repeat(2_000)}`, "10.0.0.1"],
])("X-Forwarded-For of a trusted proxy %s", async (_what, header, network) => {
  expect(await networkOf("127.0.0.1", { "x-forwarded-for": header })).toBe(network);
});

const swallowing = 'for=6.6.6.6;x=", for=198.51.100.1;by="[2001:db8::1]"';

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
  ["of which the client's quotation swallows the proxy's leaves the proxy", swallowing, "127.0.0.1"],
  ["is read from the end of a long list", `for=6.6.6.6${",for=10.0.0.1".repeat(2_000)}`, "10.0.0.1"],
])("Forwarded of a trusted proxy %s", async (_what, header, network) => {
  expect(await networkOf("127.0.0.1", { forwarded: header })).toBe(network);
});

const client = { "x-forwarded-for": "198.51.100.1" };
const both = (forwardedFor: string, forwarded: string) => ({ "x-forwarded-for": forwardedFor, forwarded });
const one = { trustedProxies: ["203.0.113.9", "fd00:1::/32"] };
const onFly = { trustedProxies: [], behindFly: true };
const fly = "172.16.3.178";
const named = { "fly-client-ip": "198.51.100.1", "x-forwarded-for": "6.6.6.6, 198.51.100.1, 2001:db8:8280::1" };
const hops = "6.6.6.6, 198.51.100.1, 203.0.113.50, 2001:db8:8280::1";
const inFront = { "fly-client-ip": "203.0.113.50", "x-forwarded-for": hops };
const unnamed = { ...inFront, "x-forwarded-for": "6.6.6.6" };
const trustInFront = { trustedProxies: ["203.0.113.0/24"], behindFly: true };
const ofStrangers = ["x-forwarded-for", "forwarded", "fly-client-ip", "x-real-ip", "true-client-ip", "x-client-ip"];
const notFlys = { "fly-client-ip": "6.6.6.6, 7.7.7.7" };

test.each<[what: string, peer: string, headers: Sent, trust: Partial<ProxyTrust>, network: string]>([
  ...ofStrangers.flatMap((name) =>
    [false, true].map((behindFly): [string, string, Sent, Partial<ProxyTrust>, string] => {
      const value = name === "forwarded" ? "for=198.51.100.1" : "198.51.100.1";
      return [`${name} of a stranger`, "192.0.2.7", { [name]: value }, { behindFly }, "192.0.2.7"];
    }),
  ),
  ["this machine, where none is trusted", "127.0.0.1", client, { trustedProxies: [] }, "127.0.0.1"],
  ["this machine by Forwarded", "127.0.0.1", { forwarded: "for=198.51.100.1" }, { trustedProxies: [] }, "127.0.0.1"],
  ["a single trusted address", "203.0.113.9", client, one, "198.51.100.1"],
  ["its neighbour", "203.0.113.8", client, one, "203.0.113.8"],
  ["a trusted range of IPv6", "fd00:1:2::3", client, one, "198.51.100.1"],
  ["an address outside that range", "fd00:2::3", client, one, "fd00:2:0:0::/64"],
  // A proxy passes on the one of both that it does not write.
  ["both headers that say the same", "127.0.0.1", both("198.51.100.1", "for=198.51.100.1"), {}, "198.51.100.1"],
  ["a made-up Forwarded", "127.0.0.1", both("198.51.100.1", "for=6.6.6.6"), {}, "127.0.0.1"],
  ["a made-up X-Forwarded-For", "127.0.0.1", both("6.6.6.6", "for=198.51.100.1"), {}, "127.0.0.1"],
  ["a Forwarded that is none", "127.0.0.1", both("198.51.100.1", '"'), {}, "127.0.0.1"],
  ["Fly's proxy", fly, named, onFly, "198.51.100.1"],
  ["Fly's proxy as mapped IPv4", "::ffff:172.19.2.97", named, onFly, "198.51.100.1"],
  ["another machine of Fly's private network", "fdaa:0:1:a7b:1::2", named, onFly, "fdaa:0:1:a7b::/64"],
  ["this machine on Fly", "127.0.0.1", named, onFly, "127.0.0.1"],
  ["the internet on Fly", "203.0.113.9", named, onFly, "203.0.113.9"],
  ["the address of Fly's proxy elsewhere", fly, named, { trustedProxies: [] }, fly],
  ["Fly's proxy with what is no address", fly, notFlys, onFly, fly],
  ["a trusted proxy in front of Fly's", fly, inFront, trustInFront, "198.51.100.1"],
  ["one in front of Fly's that is not trusted", fly, inFront, onFly, "203.0.113.50"],
  ["one in front of Fly's that names nobody", fly, unnamed, trustInFront, "203.0.113.50"],
])("the client of %s (%s)", async (_what, peer, headers, trust, network) => {
  expect(await networkOf(peer, headers, trust)).toBe(network);
});
