import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

const lengths = 2 ** 21;

/** Checksum and length of a body in a number of 53 bits. It finds candidates, and the bytes decide. */
export function fingerprintOf(body: Uint8Array): number {
  return crc32(body) * lengths + (body.length % lengths);
}

/** Equal only for equal bytes. */
export const digestOf = (body: Uint8Array): string => hash("sha256", body);
