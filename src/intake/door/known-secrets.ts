import { timingSafeEqual } from "node:crypto";
import type { Secret } from "../../core/secret.ts";

/** Secrets that a request may show; what is compared takes the same time whatever it is. */
export interface KnownSecrets {
  add(secret: Secret): void;
  has(given: string): boolean;
}

interface Known {
  padded: Buffer;
  length: number;
}

/** A character takes up to four bytes, so that what is cut off never ends where a known secret does. */
const roomBehind = 4;

/** Compares whole pads instead of hashes: on the hook's path a hash took a twentieth of the time. */
export function createKnownSecrets(...first: Secret[]): KnownSecrets {
  const known: Known[] = [];
  let pad = Buffer.alloc(256);

  function add(secret: Secret): void {
    const bytes = Buffer.from(secret.reveal());
    if (bytes.length + roomBehind > pad.length) {
      pad = Buffer.alloc(bytes.length + roomBehind);
      for (const one of known) one.padded = padTo(pad.length, one.padded);
    }
    known.push({ padded: padTo(pad.length, bytes), length: bytes.length });
  }

  function has(given: string): boolean {
    pad.fill(0);
    const length = pad.write(given);
    let isKnown = false;
    for (const one of known) {
      const isSame = timingSafeEqual(pad, one.padded);
      if (isSame && length === one.length) isKnown = true;
    }
    return isKnown;
  }

  for (const secret of first) add(secret);
  return {
    add(secret) {
      if (!has(secret.reveal())) add(secret);
    },
    has,
  };
}

function padTo(length: number, bytes: Buffer): Buffer {
  const padded = Buffer.alloc(length);
  bytes.copy(padded);
  return padded;
}
