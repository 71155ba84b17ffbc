import { crc32 } from "node:zlib";
import { readRequest } from "../read/read-request.ts";
import { namesItself } from "./dedupe.ts";

const lengths = 2 ** 21;

/** Checksum and length in one number of 53 bits. It only has to find a candidate: the store compares the bytes. */
export function fingerprintOf(body: Uint8Array): number {
  return crc32(body) * lengths + (body.length % lengths);
}

/**
 * Remembers of recent bodies whether an identical one is a resend. Deciding that means reading the body, which most
 * requests never need: only a body that has been seen before is read.
 */
export interface IdenticalBodies {
  /** What the store is to do with a body like this one. */
  policyFor(fingerprint: number): "duplicate" | "store" | "ask";
  /** Reads the body and remembers the answer. */
  decide(fingerprint: number, body: Uint8Array, contentType: string | undefined): "duplicate" | "store";
}

const remembered = 2048;

export function createIdenticalBodies(): IdenticalBodies {
  const known = new Map<number, "duplicate" | "store">();
  return {
    policyFor: (fingerprint) => known.get(fingerprint) ?? "ask",
    decide(fingerprint, body, contentType) {
      const policy = namesItself(readRequest(body, contentType)) ? "duplicate" : "store";
      if (known.size >= remembered) known.delete(known.keys().next().value as number);
      known.set(fingerprint, policy);
      return policy;
    },
  };
}
