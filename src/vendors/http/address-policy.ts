import { isIP } from "node:net";
import { AppError } from "../../core/errors.ts";
import { createIpRanges, isIpRange, readIpAddress } from "../../ground/net/ip-ranges.ts";
import { Refusal } from "../../ground/shape/refusal.ts";
import { showValue } from "../../ground/shape/show-value.ts";

/**
 * Which addresses an outgoing request may reach. A destination is a line of configuration, but its host name is
 * resolved by somebody else's name server: without this check a changed record turns the relay into a way to the
 * machine's own network, its cloud metadata, or Fly's private one.
 */
export interface AddressPolicy {
  /** Why `address`, to which `host` has resolved, is out of bounds, in a few words; undefined: it may be reached. */
  refuse(host: string, address: string): string | undefined;
}

/**
 * @param allowInternal host names, addresses or CIDR ranges that may be internal.
 * @throws AppError `config_invalid` for an entry that is none of these.
 */
export function createAddressPolicy(allowInternal: readonly string[]): AddressPolicy {
  const ranges: string[] = [];
  const hosts = new Set<string>();
  for (const entry of allowInternal) {
    const read = readInternalHost(entry);
    if (read instanceof Refusal)
      throw new AppError("config_invalid", `allowInternal: ${read.message}`, { hint: read.instead });
    if (isIpRange(read)) ranges.push(...allForms(read));
    else hosts.add(read);
  }
  // A list a family: `net.BlockList` takes IPv4 for mapped IPv6, so that `::/0` would allow all of IPv4.
  const allowed4 = createIpRanges(ranges.filter((range) => familyOf(range) === 4));
  const allowed6 = createIpRanges(ranges.filter((range) => familyOf(range) === 6));
  return {
    refuse(host, address) {
      const plain = readIpAddress(address);
      if (plain === undefined) return "not an address";
      const reason = internalKindOf(plain);
      if (reason === undefined || hosts.has(bareHost(host))) return undefined;
      return (isIP(plain) === 4 ? allowed4 : allowed6).includes(plain) ? undefined : reason;
    },
  };
}

/** A host name or a range of addresses that may be internal. */
export function readInternalHost(value: unknown): string | Refusal {
  const bare = typeof value === "string" && value.length <= 253 ? bareHost(value) : "";
  if (isIpRange(bare) || /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(bare)) return bare;
  return new Refusal(`${showValue(value)} is neither a host name nor a range`, "write e.g. hooks.lan or 10.0.0.0/8");
}

/** A host as it is compared: lower case, without the brackets of IPv6 and without the root's dot. */
export function bareHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

/**
 * What kind of not-public address this is, or undefined for a public one. Source: IANA's special-purpose registries
 * (RFC 6890 and its successors). Of IPv6 only 2000::/3 has been given out, so everything else is refused unnamed.
 */
function internalKindOf(address: string): string | undefined {
  const special = internalKinds.find(({ ranges }) => ranges.includes(address))?.kind;
  return special ?? (publicRanges.includes(address) ? undefined : "reserved");
}

/** A range of IPv4 (mapped into IPv6 or not), and the translated, NAT64 and 6to4 addresses that lead to it. */
function allForms(range: string): string[] {
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

function familyOf(range: string): number {
  return isIP(range.split("/", 1)[0] ?? "");
}

/** The /96 networks whose last four bytes are the IPv4 address that is reached: RFC 2765 and NAT64 (RFC 6052). */
const translations = ["::ffff:0:", "64:ff9b::"];

const publicRanges = createIpRanges(["2000::/3", ...allForms("0.0.0.0/0")]);

/** The first that holds an address names it. */
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
