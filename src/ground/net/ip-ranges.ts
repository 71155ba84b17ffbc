import { BlockList, isIP, SocketAddress } from "node:net";

/** One spelling of an address, without zone (`%eth0`), IPv4 never as IPv6. Undefined with brackets or a port. */
export function readIpAddress(text: string): string | undefined {
  const address = text.split("%", 1)[0] ?? "";
  switch (isIP(address)) {
    case 4:
      return address;
    case 6: {
      const plain = new SocketAddress({ address, family: "ipv6" }).address;
      return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1] ?? plain;
    }
    default:
      return undefined;
  }
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. */
export function isIpRange(text: string): boolean {
  const [address = "", length, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || address.includes("%") || rest.length > 0) return false;
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (family === 6 ? 128 : 32));
}

/** Ranges as `isIpRange` accepts them; throws for others. A mapped range (`::ffff:10.0.0.0/104`) is read as IPv4. */
export function createIpRanges(ranges: readonly string[]) {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    // Not `isIP`: its first call takes some milliseconds to compile a pattern.
    const isIpv6 = address.includes(":");
    list.addSubnet(address, Number(bits ?? (isIpv6 ? 128 : 32)), isIpv6 ? "ipv6" : "ipv4");
  }
  /** @param address as `readIpAddress` returns it */
  return { includes: (address: string) => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4") };
}
