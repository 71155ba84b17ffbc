import { z } from "zod";
import { groupThousands } from "../numbers/format-number.ts";
import { formatBytes } from "../text/format-bytes.ts";
import { suggestOrList } from "../text/suggest.ts";
import { parseDuration } from "../time/duration.ts";
import { isTimeZone } from "../time/zoned-time.ts";
import { Refusal, referTo } from "./refusal.ts";
import { showValue } from "./show-value.ts";

type Read<T> = (value: unknown) => T | Refusal;

/** A part of a JSON Schema, for editors. */
export type Json = Readonly<Record<string, unknown>>;

/** Makes a zod type of a reader and the same rule as a JSON Schema. A missing value is read as `undefined`. */
export function field<T>(read: Read<T>, json: Json): z.ZodType<T> {
  return z
    .unknown()
    .transform((value, context) => {
      const result = read(value);
      if (!(result instanceof Refusal)) return result;
      context.issues.push(toIssue(result, value));
      return undefined as T;
    })
    .meta(json);
}

/** One value or a list. The result is always a list. A refusal names its element. */
export function listOf<T>(item: z.ZodType<T>, example: string, { mayBeEmpty = false } = {}): z.ZodType<T[]> {
  const json = item.meta() ?? {};
  const read = readBy(item);
  return z
    .unknown()
    .transform((value, context) => {
      const isEmpty = Array.isArray(value) && value.length === 0;
      if (value === undefined || value === null || (isEmpty && !mayBeEmpty)) {
        const what = value === undefined ? "is missing" : "is empty";
        context.issues.push(toIssue(new Refusal(what, `write ${example}`), value));
        return undefined as unknown as T[];
      }
      const items: unknown[] = Array.isArray(value) ? value : [value];
      return items.map((one, index) => {
        const result = read(one);
        if (!(result instanceof Refusal)) return result;
        context.issues.push({ ...toIssue(result, one), path: Array.isArray(value) ? [index] : [] });
        return undefined as T;
      });
    })
    .meta({
      anyOf: [json, { type: "array", items: json, ...(!mayBeEmpty && { minItems: 1 }) }],
      ...(json.secret === true && { secret: true }),
    });
}

/** Also accepts `off`. Some editors write `false` for it. */
export function orOff<T>(type: z.ZodType<T>): z.ZodType<T | "off"> {
  const { bounds, ...json } = type.meta() ?? {};
  const read = readBy(type);
  return field(
    (value): T | "off" | Refusal => {
      if (value === "off" || value === false) return "off";
      const result = read(value);
      return result instanceof Refusal ? new Refusal(result.message, `${result.instead}, or off`) : result;
    },
    { anyOf: [json, { enum: ["off", false] }], bounds: `${bounds}, or \`off\`` },
  );
}

/** For a type that `field` has made. */
function readBy<T>(type: z.ZodType<T>): Read<T> {
  return (value) => {
    const { data, error } = type.safeParse(value);
    if (error === undefined) return data as T;
    const [issue] = error.issues as z.core.$ZodIssueCustom[];
    return new Refusal(issue?.message ?? "", issue?.params?.instead);
  };
}

/** A secret option. The file must refer to a variable: a literal value is refused. */
export const secretly = <T>(type: z.ZodType<T>) => type.meta({ type: "string", pattern: "\\$\\{", secret: true });

/** @param otherwise what holds without the option. Absent: the description says it */
export const optional = <T extends z.ZodType>(type: T, description: string, otherwise?: string) =>
  type.optional().meta({ description, otherwise });

/** An option without an effect. It is accepted with a warning. @param why what applies instead */
export const obsolete = (why: string) => z.unknown().optional().meta({ deprecated: true, description: why });

/** A map with a short form. @param expand returns the map for a short value, and other values unchanged */
export const writtenShort = <T>(map: z.ZodType<T>, expand: (value: unknown) => unknown, short: Json) =>
  z.preprocess(expand, map).meta({ short });

/**
 * Checks a whole map even when single options have mistakes, so one run reports all. Values that `field` and `listOf`
 * have refused are undefined there, also as elements of a list.
 * @param judge `isRefused` says whether an option, or a part of it, was refused
 */
export function acrossOptions<T>(
  judge: (context: z.core.ParsePayload<T>, isRefused: (option: string) => boolean) => void,
): z.core.$ZodCheck<T> {
  const check = z.check<T>((context) => {
    const refused = new Set(context.issues.map(({ path }) => path?.[0]));
    judge(context, (option) => refused.has(option));
  });
  check._zod.def.when = ({ value }) => typeof value === "object" && value !== null && !Array.isArray(value);
  return check;
}

/** For `acrossOptions`: refuses the value at a place, or the option's name. */
export function refuseAt(
  context: Pick<z.core.ParsePayload, "issues" | "value">,
  path: (string | number)[],
  message: string,
  instead?: string,
  part: "key" | "value" = "value",
): void {
  context.issues.push({ code: "custom", message, input: context.value, path, params: { instead, part } });
}

/** Also accepts a reference to a variable, whose value is unknown to the schema. */
const orReference = (json: Json): Json => ({ anyOf: [json, { type: "string", pattern: "\\$\\{" }] });
/** The pattern must fit the whole text. */
export const textLike = (pattern: string): Json => ({ type: "string", pattern: `^\\s*(${pattern})\\s*$|\\$\\{` });

/** Not empty. @param example for a refusal */
export const text = (example: string) =>
  field(readText(example), { type: "string", pattern: "\\S", examples: [example] });
export const flag = field(readFlag, { type: "boolean" });
/** Both ends are included. */
export const whole = (least: number, most: number) => numberField({ least, most, whole: true });
export const number = (least: number, most: number) => numberField({ least, most, whole: false });
export const oneOf = <const T extends string>(known: readonly T[]) =>
  field(readOneOf(known), orReference({ enum: known }));
/** In milliseconds, both ends included: `duration("10s", "7d")`. */
export const duration = (least: string, most: string) =>
  field(readDuration(least, most), { ...textLike("(\\d+(\\.\\d+)?(ms|[smhdw]))+"), bounds: `${least} to ${most}` });
/** Bytes. */
export const size = (least: number) =>
  field(readSize(least), {
    ...textLike("\\d+(\\.\\d+)?\\s*[kKmMgGtT][iI]?[bB]?"),
    bounds: `at least ${least / 2 ** 20} MB`,
  });
export const timeZone = field(readTimeZone, { type: "string", examples: ["Europe/Zurich", "UTC"] });
export const timeOfDay = field(readTimeOfDay, textLike("([01]\\d|2[0-3]):[0-5]\\d"));
/** Epoch milliseconds. */
export const instant = field(
  readInstant,
  textLike("\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,3})?)?(Z|[+-]\\d\\d:\\d\\d)"),
);
export const httpUrl = field(readHttpUrl, textLike("[hH][tT][tT][pP][sS]?://.*"));

function numberField(bounds: { least: number; most: number; whole: boolean }) {
  const { least, most } = bounds;
  const json = { type: bounds.whole ? "integer" : "number", minimum: least, maximum: most };
  return field(readNumber(bounds), {
    anyOf: [json, { type: "string", pattern: "^\\s*[\\d.]+\\s*$|\\$\\{" }],
    bounds: `${groupThousands(least)} to ${groupThousands(most)}`,
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
    // Empty: a reference that could not be replaced. It was reported already.
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

/** Both ends are included. Milliseconds. */
export function readDuration(least: string, most: string) {
  const [leastMs = 0, mostMs = 0] = [parseDuration(least), parseDuration(most)];
  return (value: unknown): number | Refusal => {
    const example = "write a number with its unit, e.g. 90s, 15m, 2h or 7d";
    const absent = missing(value, example);
    if (absent !== undefined) return absent;
    const durationMs = typeof value === "string" ? parseDuration(value) : undefined;
    if (durationMs === undefined) return new Refusal(`${showValue(value)} is not a duration`, example);
    if (durationMs >= leastMs && durationMs <= mostMs) return durationMs;
    return new Refusal(`${showValue(value)} is out of bounds`, `write ${least} to ${most}`);
  };
}

const sizeUnits: Record<string, number> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** Reads e.g. `20 GB`, in bytes. 1 KB is 1,024 bytes. */
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
  const example = 'write hours and minutes, e.g. "07:00" or "22:30"';
  if (typeof value === "string" && /^([01]\d|2[0-3]):[0-5]\d$/.test(value)) return value;
  return missing(value, example) ?? new Refusal(`${showValue(value)} is not a time of day`, example);
}

/** Reads an instant with its zone. Epoch milliseconds. */
export function readInstant(value: unknown): number | Refusal {
  const example = "write date, time and zone, e.g. 2027-01-31T18:00:00Z or 2027-01-31T19:00:00+01:00";
  const absent = missing(value, example);
  if (absent !== undefined) return absent;
  const shape = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;
  const at = typeof value === "string" && shape.test(value) ? Date.parse(value.replace(" ", "T")) : Number.NaN;
  return Number.isNaN(at) ? new Refusal(`${showValue(value)} is not an instant`, example) : at;
}

/** Reads an http(s) address without user and password. Only a slash at its end is removed. */
export function readHttpUrl(value: unknown): string | Refusal {
  const example = "write e.g. https://example.com/path";
  const text = readText("https://example.com/path")(value);
  if (text instanceof Refusal) return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Programs repair `https:/example.com`. People who copy it cannot open it.
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
