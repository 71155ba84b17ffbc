import { isIP } from "node:net";

/** An address as its 4 or 16 bytes. */
export type IpBytes = readonly number[];

/** A network: the first `bits` bits of `base`. */
export interface IpRange {
  base: IpBytes;
  bits: number;
}

/** Reads an address in its usual notation, without brackets; a zone (`%eth0`) is dropped. Undefined when it is none. */
export function parseIp(text: string): IpBytes | undefined {
  const bare = text.split("%", 1)[0] ?? "";
  switch (isIP(bare)) {
    case 4:
      return bare.split(".").map(Number);
    case 6:
      return parseIpv6(bare);
    default:
      return undefined;
  }
}

/** Reads `10.0.0.0/8`, `fd00::/8`, or one address. Undefined when it is neither. */
export function parseRange(text: string): IpRange | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const base = parseIp(address);
  if (base === undefined || rest.length > 0) return undefined;
  if (length === undefined) return { base, bits: base.length * 8 };
  if (!/^\d{1,3}$/.test(length)) return undefined;
  const bits = Number(length);
  return bits <= base.length * 8 ? { base, bits } : undefined;
}

export function isInRange(address: IpBytes, range: IpRange): boolean {
  if (address.length !== range.base.length) return false;
  const whole = range.bits >> 3;
  for (let index = 0; index < whole; index++) {
    if (address[index] !== range.base[index]) return false;
  }
  const rest = range.bits & 7;
  if (rest === 0) return true;
  const shift = 8 - rest;
  return (address[whole] ?? 0) >> shift === (range.base[whole] ?? 0) >> shift;
}

function parseIpv6(text: string): IpBytes {
  const [head = "", tail] = text.split("::");
  const left = bytesOfGroups(head);
  if (tail === undefined) return left;
  const right = bytesOfGroups(tail);
  const gap = new Array<number>(16 - left.length - right.length).fill(0);
  return [...left, ...gap, ...right];
}

function bytesOfGroups(groups: string): number[] {
  if (groups === "") return [];
  return groups.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
