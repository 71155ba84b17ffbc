import { z } from "zod";
import { formatBytes } from "../text/format-bytes.ts";
import { suggestOrList } from "../text/suggest.ts";
import { parseDuration, writeDuration } from "../time/duration.ts";
import { isTimeZone } from "../time/zoned-time.ts";
import { Refusal, referTo } from "./refusal.ts";
import { showValue } from "./show-value.ts";

/**
 * A zod type out of a reader: a `Refusal` becomes an issue with words of ours. A missing value is read as `undefined`.
 */
export function field<T>(read: (value: unknown) => T | Refusal): z.ZodType<T> {
  return z.unknown().transform((value, context) => {
    const result = read(value);
    if (!(result instanceof Refusal)) return result;
    context.issues.push(toIssue(result, value));
    return z.NEVER;
  });
}

/** One value, or a list of them; always read to a list, with the refusal at the element. */
export function listOf<T>(
  read: (value: unknown) => T | Refusal,
  example: string,
  options: { mayBeEmpty?: boolean } = {},
): z.ZodType<T[]> {
  return z.unknown().transform((value, context) => {
    const isEmpty = Array.isArray(value) && value.length === 0;
    if (value === undefined || value === null || (isEmpty && options.mayBeEmpty !== true)) {
      const what = value === undefined ? "is missing" : "is empty";
      context.issues.push(toIssue(new Refusal(what, `write ${example}`), value));
      return z.NEVER;
    }
    const items = Array.isArray(value) ? value : [value];
    return items.flatMap((item, index) => {
      const result = read(item);
      if (!(result instanceof Refusal)) return [result];
      context.issues.push({ ...toIssue(result, item), path: Array.isArray(value) ? [index] : [] });
      return [];
    });
  });
}

function toIssue({ message, instead }: Refusal, input: unknown) {
  return { code: "custom" as const, message, input, params: { instead } };
}

function missing(value: unknown, instead: string): Refusal | undefined {
  return value === undefined || value === null ? new Refusal("is missing", instead) : undefined;
}

export function readText(example: string): (value: unknown) => string | Refusal {
  return (value) => {
    const absent = missing(value, `write e.g. ${example}`);
    if (absent !== undefined) return absent;
    if (typeof value !== "string") {
      return new Refusal(`${showValue(value)} is not a text`, `put it in quotes, e.g. ${example}`);
    }
    // A reference that could not be replaced leaves nothing, and was reported already.
    return value.trim() === "" ? new Refusal("is empty", `write e.g. ${example}`) : value.trim();
  };
}

export function readFlag(value: unknown): boolean | Refusal {
  if (typeof value === "boolean") return value;
  return new Refusal(`${showValue(value)} is neither true nor false`, "write true or false");
}

export function readNumber(bounds: { least: number; most: number; whole: boolean }) {
  const kind = bounds.whole ? "a whole number" : "a number";
  const instead = `write ${kind} from ${bounds.least} to ${bounds.most}`;
  return (value: unknown): number | Refusal => {
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    const fits = typeof number === "number" && number >= bounds.least && number <= bounds.most;
    if (fits && (!bounds.whole || Number.isInteger(number))) return number;
    return new Refusal(`${showValue(value)} is not ${kind} from ${bounds.least} to ${bounds.most}`, instead);
  };
}

export function readOneOf<const T extends string>(known: readonly T[]) {
  return (value: unknown): T | Refusal => {
    const found = known.find((word) => word === value);
    if (found !== undefined) return found;
    return new Refusal(
      `${showValue(value)} is not known`,
      typeof value === "string" ? suggestOrList(value, known) : `known here: ${known.join(", ")}`,
    );
  };
}

/** A duration between two bounds, to milliseconds. */
export function readDuration(leastMs: number, mostMs: number) {
  return (value: unknown): number | Refusal => {
    const example = "write a number with its unit, e.g. 90s, 15m, 2h or 7d";
    const absent = missing(value, example);
    if (absent !== undefined) return absent;
    const durationMs = typeof value === "string" ? parseDuration(value) : undefined;
    if (durationMs === undefined) return new Refusal(`${showValue(value)} is not a duration`, example);
    if (durationMs >= leastMs && durationMs <= mostMs) return durationMs;
    const bounds = `${writeDuration(leastMs)} to ${writeDuration(mostMs)}`;
    return new Refusal(`${showValue(value)} is out of bounds`, `write ${bounds}`);
  };
}

const sizeUnits: Record<string, number> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** An amount of bytes, e.g. `20 GB`; 1 KB is 1,024 bytes, and so on. */
export function readSize(least: number) {
  return (value: unknown): number | Refusal => {
    const example = "write a number with its unit, e.g. 500 MB or 20 GB";
    const [, amount, unit] =
      /^(\d+(?:\.\d+)?)\s*([kmgt])i?b?$/i.exec(typeof value === "string" ? value.trim() : "") ?? [];
    if (amount === undefined || unit === undefined) return new Refusal(`${showValue(value)} is not a size`, example);
    const bytes = Math.floor(Number(amount) * (sizeUnits[unit.toLowerCase()] as number));
    if (bytes >= least && Number.isSafeInteger(bytes)) return bytes;
    return new Refusal(`${showValue(value)} is out of bounds`, `write at least ${formatBytes(least)}`);
  };
}

export function readTimeZone(value: unknown): string | Refusal {
  if (typeof value === "string" && isTimeZone(value)) return value;
  return new Refusal(`${showValue(value)} is not a time zone`, "write an IANA name, e.g. Europe/Zurich or UTC");
}

export function readTimeOfDay(value: unknown): string | Refusal {
  if (typeof value === "string" && /^([01]\d|2[0-3]):[0-5]\d$/.test(value)) return value;
  return new Refusal(`${showValue(value)} is not a time of day`, 'write hours and minutes, e.g. "07:00" or "22:30"');
}

/** An instant with its zone written out, to epoch milliseconds. */
export function readInstant(value: unknown): number | Refusal {
  const example = "write date, time and zone, e.g. 2027-01-31T18:00:00Z or 2027-01-31T19:00:00+01:00";
  const absent = missing(value, example);
  if (absent !== undefined) return absent;
  const shape = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;
  const at = typeof value === "string" && shape.test(value) ? Date.parse(value.replace(" ", "T")) : Number.NaN;
  return Number.isNaN(at) ? new Refusal(`${showValue(value)} is not an instant`, example) : at;
}

/** An http(s) address without user and password, as written but for a trailing slash. */
export function readHttpUrl(value: unknown): string | Refusal {
  const example = "write e.g. https://example.com/path";
  const text = readText("https://example.com/path")(value);
  if (text instanceof Refusal) return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // "https:/example.com" is an address to a program, and to nobody who copies it.
  if (url === undefined || !/^https?:\/\//i.test(text)) {
    return new Refusal("is not an address that begins with https:// or http://", example);
  }
  if (url.username !== "" || url.password !== "") {
    return new Refusal(
      "holds a user name or password",
      `send credentials as a header, with a ${referTo("VARIABLE")} reference`,
    );
  }
  return text.replace(/(?<!\/)\/+$/, "");
}
