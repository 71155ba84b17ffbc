import { isIP } from "node:net";
import { AppError } from "../../core/errors.ts";
import { allForms, bareHost, internalKindOf } from "../../ground/net/internal-address.ts";
import { createIpRanges, isIpRange, readIpAddress } from "../../ground/net/ip-ranges.ts";
import { Refusal } from "../../ground/shape/refusal.ts";
import { showValue } from "../../ground/shape/show-value.ts";

export type AddressPolicy = ReturnType<typeof createAddressPolicy>;

/**
 * The addresses that an outgoing request may reach. A configured host is resolved by somebody's name server: a changed
 * record could point into the machine's own network, its cloud metadata or Fly's private network.
 * @throws AppError `config_invalid` unless each of `allowInternal` is a host name, an address or a CIDR range.
 */
export function createAddressPolicy(allowInternal: readonly string[]) {
  const ranges: string[] = [];
  const hosts = new Set<string>();
  for (const entry of allowInternal) {
    const read = readInternalHost(entry);
    if (read instanceof Refusal)
      throw new AppError("config_invalid", `allowInternal: ${read.message}`, { hint: read.instead });
    if (isIpRange(read)) ranges.push(...allForms(read));
    else hosts.add(read);
  }
  // One list a family: `net.BlockList` takes IPv4 for mapped IPv6, so `::/0` would allow all of IPv4.
  const allowed4 = createIpRanges(ranges.filter((range) => familyOf(range) === 4));
  const allowed6 = createIpRanges(ranges.filter((range) => familyOf(range) === 6));
  return {
    /** Why `address` is forbidden, in a few words. Undefined: it may be reached. `host` has resolved to it. */
    refuse(host: string, address: string): string | undefined {
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

function familyOf(range: string): number {
  return isIP(range.split("/", 1)[0] ?? "");
}
