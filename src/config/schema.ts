import { z } from "zod";
import { severities } from "../core/alert.ts";
import { type MappableFact, mappableFacts } from "../core/mapping.ts";
import { type Matcher, messageDetails, type SilenceRule } from "../core/rules.ts";
import type { KeyPlace } from "../core/source.ts";
import {
  duration,
  field,
  flag,
  httpUrl,
  instant,
  listOf,
  number,
  oneOf,
  orOff,
  readDuration,
  readText,
  size,
  text,
  timeOfDay,
  timeZone,
  whole,
} from "../ground/shape/field.ts";
import { Refusal, referTo } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggest } from "../ground/text/suggest.ts";
import { readKeyPath } from "../matching/path.ts";
import { readMatch } from "../matching/read-match.ts";
import { heartbeatServices } from "../vendors/heartbeat.ts";
import { allowInternal } from "../vendors/options.ts";

/** The shapes of `tocsin.yaml`. Unknown keys are refused; what refers to other parts is checked where it is built. */

export const match: z.ZodType<Matcher[]> = z.unknown().transform((value, context) =>
  readMatch(value, (path, { message, instead }) => {
    context.issues.push({ code: "custom", message, input: undefined, path, params: { instead } });
  }),
);

const paceSchema = z.strictObject({
  perSecond: number(0.001, 1000).optional(),
  perMinute: number(0.01, 60_000).optional(),
});

export const quietHoursSchema = z.strictObject({
  from: timeOfDay,
  to: timeOfDay,
  days: daysOfWeek().optional(),
  /** May be empty: then nothing comes through. */
  except: listOf(oneOf(severities), "[critical]", { mayBeEmpty: true }).optional(),
});

const common = {
  timeZone: timeZone.optional(),
  onAmbiguous: oneOf(["retry", "hold"]).optional(),
  digestOver: whole(1, 10_000).optional(),
  detail: oneOf(messageDetails).optional(),
  chart: flag.optional(),
  pace: paceSchema.optional(),
  prove: orOff(duration("5m", "7d")).optional(),
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
  return listOf(field(readDays, { type: "string", examples: ["mon-fri"] }), "e.g. mon-fri or [sat, sun]").transform(
    (days) => [...new Set(days.flat())].sort(),
  );
}

/** The section `defaults:`. */
export const defaultsSchema = z.strictObject(common);
export type Defaults = z.infer<typeof defaultsSchema>;

/** After how long without an alert people are told. */
export const silenceSetting = field(
  (value): SilenceRule["after"] | "off" | Refusal => {
    if (value === "auto") return "auto";
    if (value === "off" || value === false) return "off";
    const read = readDuration("5m", "60d")(value);
    if (!(read instanceof Refusal)) return read;
    return new Refusal(read.message, "write a time from 5m to 60d, e.g. 6h, or auto, or off");
  },
  { anyOf: [duration("5m", "60d").meta(), { enum: ["auto", "off", false] }], bounds: "5m to 60d, `auto` or `off`" },
);

/** The section `silence:`, where it is more than one setting for the whole hook. */
export const silenceSchema = z.strictObject({
  hook: silenceSetting.optional(),
  sources: z.unknown().optional(),
});

/** The section `canary:`. */
export const canarySchema = z.strictObject({
  every: duration("5m", "7d").optional(),
  at: listOf(timeOfDay, '["07:30", "19:30"]')
    .transform((times) => [...new Set(times)].sort())
    .optional(),
  days: daysOfWeek().optional(),
  timeZone: timeZone.optional(),
  to: listOf(text("archive"), "the names of destinations", { mayBeEmpty: true }).optional(),
});

export const muteSchema = z.strictObject({
  match,
  reason: text("migration of the pools"),
  from: instant.optional(),
  until: instant,
});

export const intakeSchema = z.strictObject({
  maxBodyBytes: whole(1024, 64 * 1024 * 1024).optional(),
  idempotencyPaths: listOf(text("payload.eventId"), "[payload.eventId]").optional(),
});

/** The section `mapping:`. */
export const mappingSchema = z.strictObject({
  ...(Object.fromEntries(
    mappableFacts.map((fact) => [fact, listOf(text("payload.rule.name"), "payload.rule.name").optional()]),
  ) as Record<MappableFact, z.ZodOptional<z.ZodType<string[]>>>),
  severities: z.record(z.string().trim().toLowerCase(), oneOf(severities)).optional(),
});

/** One entry of `sources:`. */
export const sourceSchema = z.strictObject({
  secret: listOf(text(referTo("GITHUB_HOOK_SECRET")), referTo("GITHUB_HOOK_SECRET")).optional(),
  check: z.unknown().optional(),
  account: z.strictObject({ url: httpUrl, apiKey: text(referTo("OTHER_API_KEY")) }).optional(),
  idempotency: listOf(field(readKeyPlace, { type: "string" }), "payload.eventId or header:X-Event-Id").optional(),
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

const scheduleSteps = listOf(duration("100ms", "7d"), "[1s, 5s, 15s, 1m]").optional();
const ambiguousSchema = z.strictObject({
  wait: duration("1s", "1d").optional(),
  repeats: whole(0, 10).optional(),
});

/** `off`, or limits of which each may be off. */
export const retentionSchema = z.strictObject({
  age: orOff(duration("1d", "36500d")).optional(),
  size: orOff(size(64 * 1024 * 1024)).optional(),
});

export const deliverySchema = z.strictObject({
  schedule: scheduleSteps,
  thenEvery: duration("1s", "1d").optional(),
  giveUpAfter: duration("1m", "30d").optional(),
  webhook: z.strictObject({ schedule: scheduleSteps, giveUpAfter: duration("1m", "30d").optional() }).optional(),
  jitter: number(0, 0.5).optional(),
  ambiguous: ambiguousSchema.optional(),
  ambiguousEmail: ambiguousSchema.optional(),
  breaker: z
    .strictObject({
      failures: whole(1, 1000).optional(),
      pause: duration("1s", "1d").optional(),
      maxPause: duration("1s", "1d").optional(),
    })
    .optional(),
  telegramBotPace: paceSchema.optional(),
  lease: duration("10s", "1d").optional(),
  sendTimeout: duration("1s", "10m").optional(),
  emailSendTimeout: duration("1s", "30m").optional(),
  shutdown: duration("0s", "10m").optional(),
});

export const watchSchema = z.strictObject({
  enabled: flag.optional(),
  every: duration("10s", "1h").optional(),
  putBack: flag.optional(),
  gaps: orOff(duration("5m", "1d")).optional(),
});

/** The section `market:`, where it is not `off`. */
export const marketSchema = z.strictObject({ context: flag.optional(), symbols: flag.optional() });

export const heartbeatSchema = z.strictObject({
  url: httpUrl,
  service: oneOf(heartbeatServices).optional(),
  method: oneOf(["GET", "POST"]).optional(),
  every: duration("10s", "1h").optional(),
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
