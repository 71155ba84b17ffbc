import { InvalidArgumentError } from "commander";
import { parseDuration as readDuration } from "../../ground/time/duration.ts";
import { toEpochMs } from "../../upstream/instants.ts";

/** Parsers of arguments for commander; what they refuse is wrong usage (exit status 2). */

/** `A,B` → its parts, without empty ones. */
export function parseList(text: string): string[] {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (parts.length === 0) throw new InvalidArgumentError("give at least one value, several separated by commas");
  return parts;
}

export function parsePage(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("a page is a whole number");
  return Number(text);
}

export function parseWhole(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError("give a whole number");
  return Number(text);
}

/** A parser of whole numbers within bounds, those included. */
export function wholeWithin(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,9}$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`give a whole number from ${least} to ${most}`);
  };
}

export function parsePair(text: string): string {
  if (/^[^/\s]+\/[^/\s]+$/.test(text)) return text;
  throw new InvalidArgumentError("a pair is written BASE/QUOTE, e.g. ETH/USD");
}

/** `90s`, `5m`, `2h`, `1h30m`, `7d`, `2w` → milliseconds. */
export function parseDuration(text: string): number {
  const durationMs = readDuration(text);
  if (durationMs !== undefined) return durationMs;
  throw new InvalidArgumentError("a duration is written like 90s, 5m, 2h, 1h30m or 7d");
}

/**
 * An instant as epoch milliseconds: ISO 8601 (UTC when it names no zone), Unix seconds or milliseconds, `now`, or a
 * time before now like `-6h` or `-1d12h`.
 */
export function parseInstant(text: string, now: number): number {
  if (text === "now") return now;
  if (/^-\d+(\.\d+)?[smhdw]/.test(text)) return now - parseDuration(text.slice(1));
  if (/^\d+(\.\d+)?$/.test(text)) return toEpochMs(text) ?? refuseInstant();
  if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?$/i.test(text)) return refuseInstant();
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/i.test(text.slice(10));
  const ms = Date.parse(text.length > 10 && !hasZone ? `${text.replace(" ", "T")}Z` : text.replace(" ", "T"));
  return Number.isNaN(ms) ? refuseInstant() : ms;
}

function refuseInstant(): never {
  throw new InvalidArgumentError("write 2026-11-20T18:00Z, a Unix timestamp, now, or a time before now like -6h");
}
