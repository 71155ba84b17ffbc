import { describe, expect, it } from "vitest";
import { createAddressPolicy } from "../../../src/vendors/http/address-policy.ts";

const closed = createAddressPolicy([]);

const refused: Record<string, string> = {
  "this network": "0.0.0.0",
  private: "10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 ::ffff:0:10.0.0.1 64:ff9b::10.0.0.1 2002:c0a8:101::1",
  "carrier-grade NAT": "100.64.0.1 100.127.255.255",
  loopback: "127.0.0.1 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 2002:7f00:1::",
  "link-local": "169.254.169.254 64:ff9b::a9fe:a9fe fe80::1 fe80::1%eth0 febf::1",
  documentation: "192.0.2.1 198.51.100.7 203.0.113.7 2001:db8::1 3fff:fff::1",
  benchmarking: "198.19.255.255",
  multicast: "224.0.0.1 ff02::1",
  reserved: "192.0.0.170 255.255.255.255 ::127.0.0.1 2001::1 2001:2::1 fec0::1 100::1 5f00::1",
  unspecified: "::",
  "local NAT64": "64:ff9b:1::1",
  "unique local": "fc00::1 fd00:ec2::254",
  "private network of Fly.io": "fdaa:0:33::3",
};
const open =
  "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 128.0.0.1 169.253.255.255 172.15.255.255 172.32.0.0 " +
  "192.0.1.0 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2606:4700::1111 2001:200::1 " +
  "2a00:1450:4001:80b::200e ::ffff:1.1.1.1 64:ff9b::101:101 2002:101:101::1";

describe("the addresses that a request may reach", () => {
  const each = Object.entries(refused).flatMap(([why, all]) => all.split(" ").map((address) => [address, why]));
  it.each([...each, ["not an address", "not an address"]])("do not include %s (%s)", (address, reason) => {
    expect(closed.refuse("hooks.example.com", address ?? "")).toBe(reason);
  });

  it.each(open.split(" "))("include %s", (address) => {
    expect(closed.refuse("hooks.example.com", address)).toBeUndefined();
  });
});

describe("the allow-list", () => {
  const policy = createAddressPolicy(["10.1.0.0/16", "Hooks.Internal.", "fdaa::/16", "192.168.7.7"]);

  it.each([
    ["anything.example", "10.1.255.255"],
    ["anything.example", "::ffff:10.1.2.3"],
    ["anything.example", "192.168.7.7"],
    ["anything.example", "fdaa:1::2"],
    ["hooks.internal", "172.16.0.1"],
    ["HOOKS.INTERNAL.", "127.0.0.1"],
  ])("opens %s at %s", (host, address) => {
    expect(policy.refuse(host, address)).toBeUndefined();
  });

  it.each([
    ["anything.example", "10.2.0.0"],
    ["anything.example", "192.168.7.8"],
    ["evil.hooks.internal", "172.16.0.1"],
    ["hooks.internal.evil.example", "127.0.0.1"],
    ["anything.example", "fdab::1"],
  ])("leaves %s at %s closed", (host, address) => {
    expect(policy.refuse(host, address)).toBeDefined();
  });

  it("takes a range of mapped addresses as the IPv4 range that it is", () => {
    const mapped = createAddressPolicy(["::ffff:172.20.0.0/112"]);
    expect(mapped.refuse("anything.example", "172.20.255.1")).toBeUndefined();
    expect(mapped.refuse("anything.example", "::ffff:ac14:1")).toBeUndefined();
    expect(mapped.refuse("anything.example", "172.21.0.0")).toBe("private");
  });

  it.each(["10.0.0.1", "::ffff:10.0.0.1"])("leaves %s closed when all of IPv6 is open", (address) => {
    expect(createAddressPolicy(["::/0"]).refuse("anything.example", address)).toBe("private");
  });

  it.each(["10.0.0.0/33", "10.0.0/8", "::/129", "http://hooks.internal", "*.internal", "", "10.0.0.0/8/8", "a b"])(
    "refuses the entry %j",
    (entry) => {
      expect(() => createAddressPolicy([entry])).toThrow(/neither a host name nor a range/);
    },
  );
});
