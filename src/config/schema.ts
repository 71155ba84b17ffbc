import { z } from "zod";
import { severities } from "../core/alert.ts";
import { type MappableFact, mappableFacts } from "../core/mapping.ts";
import { type Matcher, messageDetails, type SilenceRule, type UpdatePolicy } from "../core/rules.ts";
import type { KeyPlace } from "../core/source.ts";
import {
  field,
  listOf,
  readDuration,
  readFlag,
  readInstant,
  readNumber,
  readOneOf,
  readSize,
  readText,
  readTimeOfDay,
  readTimeZone,
} from "../ground/shape/field.ts";
import { Refusal, referTo } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggest } from "../ground/text/suggest.ts";
import { readKeyPath } from "../matching/path.ts";
import { readMatch } from "../matching/read-match.ts";
import { heartbeatServices } from "../vendors/heartbeat.ts";
import { allowInternal, httpUrl } from "../vendors/options.ts";

/** The shapes of `tocsin.yaml`. Unknown keys are refused; what refers to other parts is checked where it is built. */

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const updatePolicies: readonly UpdatePolicy[] = ["auto", "edit", "reply", "new"];
const text = (example: string) => field(readText(example));
const duration = (leastMs: number, mostMs: number) => field(readDuration(leastMs, mostMs));
const whole = (least: number, most: number) => field(readNumber({ least, most, whole: true }));
const number = (least: number, most: number) => field(readNumber({ least, most, whole: false }));
const flag = field(readFlag);

const match: z.ZodType<Matcher[]> = z.unknown().transform((value, context) =>
  readMatch(value, (path, { message, instead }) => {
    context.issues.push({ code: "custom", message, input: undefined, path, params: { instead } });
  }),
);

const paceSchema = z.strictObject({
  perSecond: number(0.001, 1000).optional(),
  perMinute: number(0.01, 60_000).optional(),
});

export const quietHoursSchema = z.strictObject({
  from: field(readTimeOfDay),
  to: field(readTimeOfDay),
  days: daysOfWeek().optional(),
  /** May be empty: then nothing comes through. */
  except: listOf(readOneOf(severities), "[critical]", { mayBeEmpty: true }).optional(),
});

/** How long a destination may have nothing to do until it is probed; `off` (or false): it never is. */
function readProve(value: unknown): number | "off" | Refusal {
  if (value === "off" || value === false) return "off";
  const read = readDuration(5 * minute, 7 * day)(value);
  return read instanceof Refusal ? new Refusal(read.message, `${read.instead}, or off`) : read;
}

const common = {
  timeZone: field(readTimeZone).optional(),
  onAmbiguous: field(readOneOf(["retry", "hold"])).optional(),
  digestOver: whole(1, 10_000).optional(),
  detail: field(readOneOf(messageDetails)).optional(),
  chart: flag.optional(),
  pace: paceSchema.optional(),
  prove: field(readProve).optional(),
};
/** The options of every destination, whatever its vendor. */
export const destinationOptions = {
  type: z.unknown(),
  ...common,
  quietHours: quietHoursSchema.optional(),
  notices: flag.optional(),
};

/** From Sunday, as `Date.getDay` counts. */
const dayNames = [
  ["sun", "sunday"],
  ["mon", "monday"],
  ["tue", "tuesday", "tues"],
  ["wed", "wednesday", "weds"],
  ["thu", "thursday", "thur", "thurs"],
  ["fri", "friday"],
  ["sat", "saturday"],
];
const allNames = dayNames.flat();
const daysExample = "write days or ranges of days, e.g. [mon, wed], mon-fri or fri-mon";

/**
 * One entry of `days:`: a day (`mon`, `Monday`), a range with both its ends (`mon-fri`; `fri-mon` goes over the end
 * of the week), or several of both with commas between them.
 */
function readDays(value: unknown): number[] | Refusal {
  if (typeof value !== "string") return new Refusal(`${showValue(value)} is not a day of the week`, daysExample);
  const days: number[] = [];
  for (const part of value.split(",")) {
    const ends = part.trim().split(/\s*(?:-|–|\.\.)\s*|\s+to\s+/i);
    const from = dayIndex(ends[0] ?? "");
    const to = dayIndex(ends.at(-1) ?? "");
    if (ends.length > 2 || from === undefined || to === undefined) return refuseDays(value, part.trim(), ends);
    for (let day = from; ; day = (day + 1) % 7) {
      days.push(day);
      if (day === to) break;
    }
  }
  return days;
}

function dayIndex(name: string): number | undefined {
  const index = dayNames.findIndex((names) => names.includes(name.toLowerCase()));
  return index < 0 ? undefined : index;
}

function refuseDays(value: string, part: string, ends: string[]): Refusal {
  const shown = part === value.trim() ? showValue(value) : `${showValue(part)} in ${showValue(value)}`;
  const message = `${shown} is not a day of the week, nor a range of days`;
  const listed = part.split(/[/;&+\s]+|\band\b/i).filter((name) => name !== "");
  if (listed.length > 1 && listed.every((name) => dayIndex(name) !== undefined)) {
    return new Refusal(message, `write [${listed.join(", ").toLowerCase()}]`);
  }
  if (/^(week|work(ing)?)\s*days?$/i.test(part)) return new Refusal(message, "write mon-fri");
  if (/^week\s*ends?$/i.test(part)) return new Refusal(message, "write [sat, sun]");
  if (/^(daily|every\s*day|all|\*)$/i.test(part))
    return new Refusal(message, "leave days out: every day is the default");
  const wrong = ends.find((name) => dayIndex(name) === undefined) ?? part;
  const near = suggest(wrong, allNames);
  return new Refusal(message, near === undefined ? daysExample : `did you mean ${near}? Otherwise ${daysExample}`);
}

/** In their order, each once. */
function daysOfWeek() {
  return listOf(readDays, "e.g. mon-fri or [sat, sun]").transform((days) => [...new Set(days.flat())].sort());
}

/** The section `defaults:`. */
export const defaultsSchema = z.strictObject(common);
export type Defaults = z.infer<typeof defaultsSchema>;

/** `false` is what some editors make of `off`. */
export const silenceSetting = field((value): SilenceRule["after"] | "off" | Refusal => {
  if (value === "auto") return "auto";
  if (value === "off" || value === false) return "off";
  const read = readDuration(5 * minute, 60 * day)(value);
  if (!(read instanceof Refusal)) return read;
  return new Refusal(read.message, "write a time from 5m to 60d, e.g. 6h, or auto, or off");
});

/** The section `silence:`, where it is more than one setting for the whole hook. */
export const silenceSchema = z.strictObject({
  hook: silenceSetting.optional(),
  sources: z.unknown().optional(),
});

/** The section `canary:`. */
export const canarySchema = z.strictObject({
  every: duration(5 * minute, 7 * day).optional(),
  at: listOf(readTimeOfDay, '["07:30", "19:30"]')
    .transform((times) => [...new Set(times)].sort())
    .optional(),
  days: daysOfWeek().optional(),
  timeZone: field(readTimeZone).optional(),
  to: listOf(readText("archive"), "the names of destinations", { mayBeEmpty: true }).optional(),
});

export const routeSchema = z.strictObject({
  name: text("critical").optional(),
  match: match.optional(),
  /** May be empty: then what it takes is dropped. */
  to: listOf(readText("ops"), "the names of destinations, or [] to drop what it takes", {
    mayBeEmpty: true,
  }).optional(),
  drop: flag.optional(),
  continue: flag.optional(),
  default: flag.optional(),
  updates: field(readOneOf(updatePolicies)).optional(),
  fallback: z.strictObject({ to: text("ops"), after: duration(10 * second, 7 * day).optional() }).optional(),
  freshness: duration(10 * second, 30 * day).optional(),
  silence: silenceSetting.optional(),
});

export const muteSchema = z.strictObject({
  match,
  reason: text("migration of the pools"),
  from: field(readInstant).optional(),
  until: field(readInstant),
});

export const intakeSchema = z.strictObject({
  maxBodyBytes: whole(1024, 64 * 1024 * 1024).optional(),
  idempotencyPaths: listOf(readText("payload.eventId"), "[payload.eventId]").optional(),
});

/** The section `mapping:`. */
export const mappingSchema = z.strictObject({
  ...(Object.fromEntries(
    mappableFacts.map((fact) => [fact, listOf(readText("payload.rule.name"), "payload.rule.name").optional()]),
  ) as Record<MappableFact, z.ZodOptional<z.ZodType<string[]>>>),
  severities: z.record(z.string().trim().toLowerCase(), field(readOneOf(severities))).optional(),
});

/** One entry of `sources:`. */
export const sourceSchema = z.strictObject({
  secret: listOf(readText(referTo("GITHUB_HOOK_SECRET")), referTo("GITHUB_HOOK_SECRET")).optional(),
  check: z.unknown().optional(),
  account: z.strictObject({ url: httpUrl, apiKey: text(referTo("OTHER_API_KEY")) }).optional(),
  idempotency: listOf(readKeyPlace, "payload.eventId or header:X-Event-Id").optional(),
  mapping: z.unknown().optional(),
  silence: silenceSetting.optional(),
});

/** `header:X-Event-Id` or `payload.eventId`. */
function readKeyPlace(value: unknown): KeyPlace | Refusal {
  const text = readText("payload.eventId")(value);
  if (text instanceof Refusal) return text;
  const [, header] = /^header:\s*(\S*)$/i.exec(text) ?? [];
  if (header !== undefined) {
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(header)) return { header: header.toLowerCase() };
    return new Refusal(`${showValue(text)} names no header`, "write e.g. header:X-Event-Id");
  }
  if (readKeyPath(text) !== undefined) return { path: text };
  const message = `${showValue(text)} is neither a path to one value of the body nor a header`;
  return new Refusal(message, `${adviseOnPath(text)}, or e.g. header:X-Event-Id`);
}

/** Nearly all that goes wrong is a path from the payload's own beginning. */
export function adviseOnPath(path: string): string {
  const whole = `payload.${path.replace(/^\$?\.?/, "")}`;
  const isNear = !path.startsWith("payload") && readKeyPath(whole) !== undefined;
  return isNear ? `write ${whole}` : "write e.g. payload.rule.name; tocsin explain lists the paths of a body";
}

const scheduleSteps = listOf(readDuration(100, 7 * day), "[1s, 5s, 15s, 1m]").optional();
const ambiguousSchema = z.strictObject({
  wait: duration(1 * second, 1 * day).optional(),
  repeats: whole(0, 10).optional(),
});

/** `off`, or limits of which each may be off. */
const orOff = (read: (value: unknown) => number | Refusal) =>
  field((value): number | "off" | Refusal => (value === "off" || value === false ? "off" : read(value)));
export const retentionSchema = z.strictObject({
  age: orOff(readDuration(1 * day, 36_500 * day)).optional(),
  size: orOff(readSize(64 * 1024 * 1024)).optional(),
});

export const deliverySchema = z.strictObject({
  schedule: scheduleSteps,
  thenEvery: duration(1 * second, 1 * day).optional(),
  giveUpAfter: duration(1 * minute, 30 * day).optional(),
  webhook: z
    .strictObject({ schedule: scheduleSteps, giveUpAfter: duration(1 * minute, 30 * day).optional() })
    .optional(),
  jitter: number(0, 0.5).optional(),
  ambiguous: ambiguousSchema.optional(),
  ambiguousEmail: ambiguousSchema.optional(),
  breaker: z
    .strictObject({
      failures: whole(1, 1000).optional(),
      pause: duration(1 * second, 1 * day).optional(),
      maxPause: duration(1 * second, 1 * day).optional(),
    })
    .optional(),
  telegramBotPace: paceSchema.optional(),
  lease: duration(10 * second, 1 * day).optional(),
  sendTimeout: duration(1 * second, 10 * minute).optional(),
  emailSendTimeout: duration(1 * second, 30 * minute).optional(),
  shutdown: duration(0, 10 * minute).optional(),
});

export const watchSchema = z.strictObject({
  enabled: flag.optional(),
  every: duration(10 * second, 1 * hour).optional(),
  putBack: flag.optional(),
  gaps: orOff(readDuration(5 * minute, 1 * day)).optional(),
});

/** The section `market:`, where it is not `off`. */
export const marketSchema = z.strictObject({ context: flag.optional(), symbols: flag.optional() });

export const heartbeatSchema = z.strictObject({
  url: httpUrl,
  service: field(readOneOf(heartbeatServices)).optional(),
  method: field(readOneOf(["GET", "POST"])).optional(),
  every: duration(10 * second, 1 * hour).optional(),
  allowInternal,
});

/** Only the names of the sections; each is read by its own shape, so that a mistake in one hides none in another. */
export const fileSchema = z.strictObject({
  defaults: z.unknown().optional(),
  destinations: z.unknown().optional(),
  routes: z.unknown().optional(),
  mutes: z.unknown().optional(),
  intake: z.unknown().optional(),
  mapping: z.unknown().optional(),
  delivery: z.unknown().optional(),
  retention: z.unknown().optional(),
  watch: z.unknown().optional(),
  market: z.unknown().optional(),
  heartbeat: z.unknown().optional(),
  silence: z.unknown().optional(),
  canary: z.unknown().optional(),
  sources: z.unknown().optional(),
});
