import { AppError } from "../../core/errors.ts";
import { type IpBytes, type IpRange, isInRange, parseIp, parseRange } from "./ip-address.ts";

/**
 * Which addresses an outgoing request may reach. A destination is a line of configuration, but its host name is
 * resolved by somebody else's name server: without this check a changed record turns the relay into a way to the
 * machine's own network, its cloud metadata, or Fly's private one.
 */
export interface AddressPolicy {
  /** Says in a few words why `address`, to which `host` has resolved, is out of bounds; undefined when it may be reached. */
  refuse(host: string, address: string): string | undefined;
}

/**
 * @param allowInternal host names, addresses or CIDR ranges that may be internal.
 * @throws AppError `config_invalid` for an entry that is none of these.
 */
export function createAddressPolicy(allowInternal: readonly string[]): AddressPolicy {
  const ranges: IpRange[] = [];
  const hosts = new Set<string>();
  for (const entry of allowInternal) {
    const range = parseRange(bareHost(entry));
    if (range !== undefined) ranges.push(range);
    else if (/^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?$/i.test(entry)) hosts.add(bareHost(entry));
    else throw invalidEntry(entry);
  }
  return {
    refuse(host, address) {
      const bytes = parseIp(address);
      if (bytes === undefined) return "not an address";
      const reason = internalKindOf(bytes);
      if (reason === undefined || hosts.has(bareHost(host))) return undefined;
      const forms = [bytes, embeddedIpv4(bytes)].filter((form) => form !== undefined);
      return ranges.some((range) => forms.some((form) => isInRange(form, range))) ? undefined : reason;
    },
  };
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
export function internalKindOf(address: IpBytes): string | undefined {
  const embedded = embeddedIpv4(address);
  if (embedded !== undefined) return internalKindOf(embedded);
  const table = address.length === 4 ? ipv4Kinds : ipv6Kinds;
  const special = table.find(({ range }) => isInRange(address, range))?.kind;
  if (special !== undefined || address.length === 4) return special;
  return isInRange(address, globalUnicast) ? undefined : "reserved";
}

/** The IPv4 address that a mapped, translated, NAT64 or 6to4 address leads to. */
function embeddedIpv4(address: IpBytes): IpBytes | undefined {
  if (address.length !== 16) return undefined;
  if (trailing4.some((range) => isInRange(address, range))) return address.slice(12);
  if (isInRange(address, sixToFour)) return address.slice(2, 6);
  return undefined;
}

function invalidEntry(entry: string): AppError {
  return new AppError("config_invalid", `allowInternal: "${entry}" is neither a host name nor a CIDR range`, {
    hint: "Write for example hooks.internal, 10.1.2.3 or 10.0.0.0/8.",
  });
}

function range(text: string): IpRange {
  const parsed = parseRange(text);
  if (parsed === undefined) throw new TypeError(`not a range: ${text}`);
  return parsed;
}

const trailing4 = ["::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"].map(range);
const sixToFour = range("2002::/16");
const globalUnicast = range("2000::/3");

const ipv4Kinds = [
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
].map(kindOfRange);

const ipv6Kinds = [
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
].map(kindOfRange);

function kindOfRange([text = "", kind = ""]: string[]): { range: IpRange; kind: string } {
  return { range: range(text), kind };
}
