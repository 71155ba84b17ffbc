import { isIP } from "node:net";
import { createIpRanges, readIpAddress } from "./ip-ranges.ts";

/** For comparison: lower case, without the brackets of IPv6 and the root's dot. */
export function bareHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

/**
 * The kind of an address that is not public. Undefined for a public one. Source: IANA's special-purpose registries (RFC
 * 6890 and its successors). Only 2000::/3 of IPv6 is assigned, so any other address counts as not public.
 */
export function internalKindOf(address: string): string | undefined {
  const special = internalKinds.find(({ ranges }) => ranges.includes(address))?.kind;
  return special ?? (publicRanges.includes(address) ? undefined : "reserved");
}

/** A range of IPv4, mapped into IPv6 or not, with the translated, NAT64 and 6to4 addresses that lead to it. */
export function allForms(range: string): string[] {
  const [written = "", length] = range.split("/");
  const isIpv6 = isIP(written) === 6;
  const address = readIpAddress(written) ?? "";
  const bits = isIpv6 ? Number(length ?? 128) - 96 : Number(length ?? 32);
  if (isIP(address) !== 4 || bits < 0) return [range];
  const [first, second, third, fourth] = address.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
  return [
    `${address}/${bits}`,
    ...translations.map((prefix) => `${prefix}${address}/${96 + bits}`),
    `2002:${first}${second}:${third}${fourth}::/${16 + bits}`,
  ];
}

/** The /96 networks whose last four bytes are an IPv4 address: RFC 2765 and NAT64 (RFC 6052). */
const translations = ["::ffff:0:", "64:ff9b::"];

const publicRanges = createIpRanges(["2000::/3", ...allForms("0.0.0.0/0")]);

/** The first kind that contains an address applies. */
const internalKinds = [
  ["0.0.0.0/8", "this network"],
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "carrier-grade NAT"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link-local"],
  ["172.16.0.0/12", "private"],
  ["192.0.0.0/24", "reserved"],
  ["192.0.2.0/24", "documentation"],
  ["192.88.99.0/24", "reserved"],
  ["192.168.0.0/16", "private"],
  ["198.18.0.0/15", "benchmarking"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["240.0.0.0/4", "reserved"],
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["64:ff9b:1::/48", "local NAT64"],
  ["2001::/23", "reserved"],
  ["2001:db8::/32", "documentation"],
  ["3fff::/20", "documentation"],
  ["fdaa::/16", "private network of Fly.io"],
  ["fc00::/7", "unique local"],
  ["fe80::/10", "link-local"],
  ["ff00::/8", "multicast"],
].map(([range = "", kind = ""]) => ({ kind, ranges: createIpRanges(allForms(range)) }));
