import { suggest } from "../ground/text/suggest.ts";
import { parseDuration as readDuration } from "../ground/time/duration.ts";
import { toEpochMs } from "../upstream/instants.ts";
import type { CliContext } from "./shell/context.ts";

/** An option or an argument of a command: how it is read, and its help. */
export interface Reader<T, S extends Settings = Settings> {
  says: string;
  settings: S;
  /** Reads one value. @throws Unreadable. Absent: a flag, which has no value. */
  read?(text: string, context: Pick<CliContext, "now">): T;
  /** The value's name in the help. Default: the option's name. */
  word?: string;
  choices?: readonly string[];
  isMany?: true;
  /** May be given without a value, which then is `true`. */
  isBare?: true;
  /** The option has only the form `--no-…`, which makes it `false`. */
  isOff?: true;
  /** The help of `--no-…`, which exists next to the option and makes it `false`. */
  no?: string;
}

export type Readers = Record<string, Reader<unknown>>;

export interface Settings {
  /** Replaces the reader's name for the value. */
  of?: string;
  short?: string;
  /** In the form in which a person writes it. */
  default?: string;
  required?: true;
  optional?: true;
  isHidden?: true;
}

/** The message says what to write: `give a whole number from 1 to 200`. */
export class Unreadable extends Error {}

/** Declares an option or an argument. @param read turns the text into the value */
export function reader<T>(read: NonNullable<Reader<T>["read"]>, more: Pick<Reader<T>, "word" | "choices"> = {}) {
  return <const S extends Settings = Settings>(says: string, settings = {} as S): Reader<T, S> => ({
    ...more,
    says,
    settings,
    read,
  });
}

export const text = reader((given) => given);

/** `A,B` → its parts, without empty ones. */
export const list = reader(parseList);

/** Milliseconds. */
export const duration = reader(parseDuration, { word: "duration" });

/** Epoch milliseconds. */
export const instant = reader((given, { now }) => parseInstant(given, now()), { word: "time" });

export const pair = reader(parsePair, { word: "pair" });

export function whole<const S extends Settings = Settings>(
  says: string,
  settings?: S & { from?: number; to?: number },
): Reader<number, S> {
  const { from = 0, to } = settings ?? {};
  const bounds = to === undefined ? (from === 0 ? "" : ` from ${from}`) : ` from ${from} to ${to}`;
  const read = (given: string) => {
    const number = Number(given);
    if (/^\d{1,9}$/.test(given) && number >= from && number <= (to ?? number)) return number;
    throw new Unreadable(`give a whole number${bounds}`);
  };
  return reader(read, { word: "n" })(says, settings);
}

export function choice<const T extends string, const S extends Settings = Settings>(
  choices: readonly T[],
  says: string,
  settings?: S,
): Reader<T, S> {
  const read = (given: string) => {
    const found = choices.find((one) => one === given);
    if (found !== undefined) return found;
    const near = suggest(given, choices);
    throw new Unreadable(near === undefined ? `write one of ${choices.join(", ")}` : `did you mean ${near}?`);
  };
  return reader(read, { choices })(says, settings);
}

export function flag(says: string, settings: Settings = {}): Reader<boolean> {
  return { says, settings };
}

/** An option `--no-…`: `false` when given, otherwise `true`. */
export function off(says: string): Reader<boolean, { required: true }> {
  return { says, settings: { required: true }, isOff: true };
}

/** Adds the form `--no-…`, which makes the option `false`. */
export function orNo<T, S extends Settings>(one: Reader<T, S>, no: string): Reader<T | false, S> {
  return { ...one, no };
}

export function orBare<T, S extends Settings>(one: Reader<T, S>): Reader<T | true, S> {
  return { ...one, isBare: true };
}

export function many<T, S extends Settings>(one: Reader<T | T[], S>): Reader<T[], S> {
  return { ...(one as Reader<T[], S>), isMany: true };
}

export const yes = flag("do not ask", { short: "y" });

export const configFile = text("the YAML file to read, instead of TOCSIN_CONFIG or ./tocsin.yaml", { of: "file" });

export function parseList(given: string): string[] {
  const parts = given
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (parts.length === 0) throw new Unreadable("give at least one value, several separated by commas");
  return parts;
}

export function parsePair(given: string): string {
  if (/^[^/\s]+\/[^/\s]+$/.test(given)) return given;
  throw new Unreadable("a pair is written BASE/QUOTE, e.g. ETH/USD");
}

/** `90s`, `5m`, `2h`, `1h30m`, `7d`, `2w` → milliseconds. */
export function parseDuration(given: string): number {
  const durationMs = readDuration(given);
  if (durationMs !== undefined) return durationMs;
  throw new Unreadable("a duration is written like 90s, 5m, 2h, 1h30m or 7d");
}

/** Epoch milliseconds from ISO 8601 (UTC without a zone), Unix seconds or milliseconds, `now`, `-6h` or `-1d12h`. */
export function parseInstant(given: string, now: number): number {
  if (given === "now") return now;
  if (/^-\d+(\.\d+)?[smhdw]/.test(given)) {
    const at = now - parseDuration(given.slice(1));
    // An earlier instant fits into no date. A filter with it would be left out, and everything would match.
    return at < 0 ? refuseInstant() : at;
  }
  // Numbers only as a person writes them: no 1e9.
  return (/^(\d+(\.\d+)?$|\d{4}-)/.test(given) ? toEpochMs(given) : undefined) ?? refuseInstant();
}

function refuseInstant(): never {
  throw new Unreadable("write 2026-11-20T18:00Z, a Unix timestamp, now, or a time before now like -6h");
}
