import { randomFillSync } from "node:crypto";
import type { Now } from "./clock.ts";

/** Makes UUIDv7s (RFC 9562), strictly increasing unless the clock is set back by more than `mostBehindMs`. */
export type NewId = () => string;

/** How far an id's time may be ahead of a clock that was set back. */
export const mostBehindMs = 1_000;

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The 12 bits after the milliseconds count up within one millisecond (RFC 9562, method 1). The last 62 bits are random. */
export function createIdSource(now: Now, fill: (bytes: Uint8Array) => void = randomFillSync): NewId {
  const pool = new Uint8Array(8 * 128);
  let used = pool.length;
  let lastMs = -1;
  let lastTime = "";
  let counter = 0;
  return () => {
    const ms = now();
    counter += 1;
    if (ms < lastMs - mostBehindMs) lastMs = -1;
    if (ms > lastMs || counter > 0xfff) {
      lastMs = Math.max(ms, lastMs + 1);
      lastTime = timePart(lastMs);
      counter = 0;
    }
    if (used === pool.length) {
      fill(pool);
      used = 0;
    }
    const random = pool.subarray(used, used + 8);
    used += 8;
    return formatId(lastTime, counter, random);
  };
}

/** Ids made at `ms` (epoch milliseconds) and later sort at or after this. */
export function firstIdAt(ms: number): string {
  return `${timePart(ms)}-7000-8000-000000000000`;
}

/** Ids made at `ms` (epoch milliseconds) and earlier sort at or before this. */
export function lastIdAt(ms: number): string {
  return `${timePart(ms)}-7fff-bfff-ffffffffffff`;
}

/** When an id was made, epoch milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

function timePart(ms: number): string {
  const within = Math.min(Math.max(Math.floor(ms), 0), 2 ** 48 - 1);
  const time = within.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

function formatId(time: string, counter: number, random: Uint8Array): string {
  const byte = (index: number) => hex[random[index] as number] as string;
  const variant = hex[((random[0] as number) & 0x3f) | 0x80] as string;
  return (
    `${time}-7${counter.toString(16).padStart(3, "0")}-${variant}${byte(1)}-` +
    byte(2) +
    byte(3) +
    byte(4) +
    byte(5) +
    byte(6) +
    byte(7)
  );
}

export const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The beginning or end of an id, at least four characters. It is accepted where only one id fits. */
export const idPartPattern = /^[0-9a-f-]{4,36}$/;
