import { z } from "zod";
import { severities } from "../core/alert.ts";
import type { CanarySchedule } from "../core/canary-schedule.ts";
import {
  type AmbiguousSettings,
  type DeliverySettings,
  defaultDeliverySettings,
  type RetrySchedule,
} from "../core/delivery-settings.ts";
import { type MappableFact, mappableFacts } from "../core/mapping.ts";
import type { RetentionRules } from "../core/ports/retention.ts";
import { type Matcher, type Mute, messageDetails, type SilenceRule } from "../core/rules.ts";
import { Secret } from "../core/secret.ts";
import {
  acrossOptions,
  duration,
  field,
  flag,
  httpUrl,
  instant,
  type Json,
  listOf,
  number,
  obsolete,
  oneOf,
  optional,
  orOff,
  readDuration,
  refuseAt,
  secretly,
  size,
  text,
  textLike,
  timeOfDay,
  timeZone,
  whole,
  writtenShort,
} from "../ground/shape/field.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { factFields, readKeyPath } from "../matching/path.ts";
import { conditionKeys, readMatch } from "../matching/read-match.ts";
import { type HeartbeatSettings, heartbeatServiceOf, heartbeatServices } from "../vendors/heartbeat.ts";
import { allowInternal } from "../vendors/vendor.ts";
import { daysOfWeek } from "./days.ts";

/** `docs/configuration.md` and `tocsin schema` come from these options, without destinations, routes and sources. */

const wanted: Json = {
  anyOf: [
    { type: ["string", "number", "boolean"] },
    { type: "array", minItems: 1 },
    { type: "object", minProperties: 1, propertyNames: { enum: conditionKeys } },
  ],
};
/** A group may hold all that a `match` may. */
const itself: Json = { $ref: "#/$defs/match" };
export const match: z.ZodType<Matcher[]> = z
  .unknown()
  .transform((value, context) =>
    readMatch(value, (path, { message, instead }) => refuseAt(context, path, message, instead)),
  )
  .meta({
    id: "match",
    anyOf: [
      { type: "string", pattern: "\\S" },
      { type: "array", items: { type: "string" }, minItems: 1 },
      {
        type: "object",
        minProperties: 1,
        properties: Object.fromEntries(factFields.map((fact) => [fact, wanted])),
        patternProperties: {
          "^payload[.[]": wanted,
          "^(any|all)$": { type: "array", minItems: 1, items: itself },
          "^not$": { not: { type: "array" }, ...itself },
        },
        additionalProperties: false,
      },
    ],
  });

const paceSchema = z.strictObject({
  perSecond: number(0.001, 1000).optional(),
  perMinute: number(0.01, 60_000).optional(),
});

/** Options of every destination. `defaults:` sets them for all. */
export const commonOptions = {
  timeZone: optional(timeZone, "for times in messages and quiet hours: an IANA name such as `Europe/Zurich`", "UTC"),
  onAmbiguous: optional(
    oneOf(["retry", "hold"]),
    'when nobody can know whether a message arrived: `retry` repeats it, marked "(possible repeat)"; `hold` waits for a person',
    "`retry`",
  ),
  digestOver: optional(
    whole(1, 10_000),
    "more waiting alerts than this for one chat or mailbox go out in one message",
    "10",
  ),
  prove: optional(
    orOff(duration("5m", "7d")),
    "a destination without work for this long is [asked whether it works](operations.md#how-a-destination-is-checked), unseen by people",
    "1h",
  ),
  detail: optional(
    oneOf(messageDetails),
    "`short`, `normal` or `full`: [how much a message says](messages.md#what-a-message-says); " +
      "`full` on Telegram in several messages if needed",
    "`normal`",
  ),
  chart: optional(
    flag,
    "`true`: [a picture of the value](messages.md#the-picture-in-a-message) joins messages",
    "`true`",
  ),
  pace: optional(
    paceSchema,
    "`perSecond` and `perMinute`: the most messages for one destination; never above the channel's own bound",
    "see below",
  ),
};
export const defaultsSchema = z.strictObject(commonOptions);
export type Defaults = z.infer<typeof defaultsSchema>;

export const hoursOptions = {
  from: timeOfDay.describe('a time of day, `"22:00"`'),
  to: timeOfDay.describe("the same; before `from` it is on the next day"),
  days: optional(
    daysOfWeek(),
    "days on which the time begins: `[mon, wed]`, `mon-fri`, `fri-mon`, or both; full names work",
    "every day",
  ),
};

export const muteSchema = z
  .strictObject({
    match: match.describe("as in a route"),
    reason: text("migration of the pools").describe("for people who wonder about the silence"),
    from: optional(instant, "date, time and zone: `2026-12-01T18:00:00+01:00`", "now"),
    until: instant.describe("the same"),
    disabled: flag.prefault(false).describe("`true`: it mutes nothing, and decisions say so where it would"),
  })
  .check(
    acrossOptions((context) => {
      const { from = 0, until } = context.value;
      if (until <= from) refuseAt(context, ["until"], "is not after from", "turn the two round");
    }),
  )
  .transform(
    ({ match, reason, from = 0, until, disabled }): Omit<Mute, "id"> => ({
      matchers: match,
      reason,
      ...(disabled && { isDisabled: true }),
      startsAt: from,
      endsAt: until,
      createdAt: from,
      createdBy: "configuration",
    }),
  );

/** A path to one value of the body. A mistake is reported with its position in the list. */
const keyPath = (example: string) => text(example).meta(textLike("payload[.[].*"));

export const intakeSchema = z
  .strictObject({
    maxBodyBytes: whole(1024, 64 * 1024 * 1024)
      .prefault(1024 * 1024)
      .describe("larger bodies get 413, also when they are decompressed (then 16,777,216 at most)"),
    idempotencyPaths: optional(
      listOf(keyPath("payload.eventId"), "[payload.eventId]"),
      "paths such as `payload.eventId` to a sender's own key of an event",
    ),
  })
  .check(
    acrossOptions((context) => {
      for (const [index, path] of (context.value.idempotencyPaths ?? []).entries()) {
        if (path === undefined || readKeyPath(path) !== undefined) continue;
        const message = `${showValue(path)} is not a path to one value of the body`;
        refuseAt(context, ["idempotencyPaths", index], message, "write e.g. payload.eventId");
      }
    }),
  )
  .transform(({ maxBodyBytes, idempotencyPaths = [] }) => ({ maxBodyBytes, idempotencyPaths }));

/** The most paths of one fact. Each costs time for every alert. */
const maxPaths = 16;
const factPaths = Object.fromEntries(
  mappableFacts.map((fact) => [fact, listOf(keyPath("payload.rule.name"), "payload.rule.name").optional()]),
) as Record<MappableFact, z.ZodOptional<z.ZodType<string[]>>>;

export const mappingSchema = z
  .strictObject({
    ...factPaths,
    severities: z.record(z.string().trim().toLowerCase(), oneOf(severities)).optional(),
  })
  .check(
    acrossOptions((context) => {
      for (const fact of mappableFacts) {
        const paths = context.value[fact] ?? [];
        for (const [index, path] of paths.entries()) {
          const refuse = (message: string, instead: string) => refuseAt(context, [fact, index], message, instead);
          if (path === undefined) continue;
          if (readKeyPath(path) === undefined) {
            refuse(`${showValue(path)} is not a path to one value of the payload`, adviseOnPath(path));
          } else if (paths.indexOf(path) < index) refuse(`${showValue(path)} is listed twice`, "remove one of the two");
          else if (index === maxPaths) {
            const message = `is one more than the ${maxPaths} places that a fact may have`;
            refuse(message, "remove those that find nothing");
          }
        }
      }
    }),
  );

/** The usual mistake is a path without `payload.`. */
export function adviseOnPath(path: string): string {
  const whole = `payload.${path.replace(/^\$?\.?/, "")}`;
  const isNear = !path.startsWith("payload") && readKeyPath(whole) !== undefined;
  return isNear ? `write ${whole}` : "write e.g. payload.rule.name; tocsin explain lists the paths of a body";
}

/** `retention: off`, only a time, or limits that may each be off. */
export const retentionSchema = writtenShort(
  z
    .strictObject({
      age: orOff(duration("1d", "36500d")).prefault("90d").describe("alerts that came longer ago are removed"),
      size: orOff(size(64 * 1024 * 1024))
        .prefault("off")
        .describe(
          "the oldest alerts are removed until the log takes no more, never " +
            "those of the last hour (`500 MB`, `20 GB`; 1 KB is 1,024 bytes)",
        ),
    })
    .transform(
      ({ age, size }): RetentionRules => ({
        ...(age !== "off" && { maxAgeMs: age }),
        ...(size !== "off" && { maxBytes: size }),
      }),
    ),
  (value) => {
    if (value === "off" || value === false) return { age: "off" };
    return typeof value === "string" ? { age: value } : value;
  },
  { anyOf: [duration("1d", "36500d").meta(), { enum: ["off", false] }] },
);

const off = { enum: ["off", false] };

/** `market: off`, or its parts. */
export const marketSchema = writtenShort(
  z.strictObject({
    context: flag
      .prefault(true)
      .describe("[one line about the market](log.md#the-line-about-the-market) in messages and pages"),
    symbols: flag
      .prefault(true)
      .describe("addresses are [called by their symbols](log.md#names-of-bare-addresses) in later messages"),
  }),
  (value) => {
    if (value === "off" || value === false) return { context: false, symbols: false };
    return value === "on" || value === true ? {} : value;
  },
  { enum: ["on", "off", true, false] },
);

export const heartbeatSchema = z
  .strictObject({
    url: secretly(httpUrl).describe("a reference to the service's address, which is the secret"),
    every: duration("10s", "1h").prefault("1m").describe("let the service wait at least twice as long"),
    service: optional(
      oneOf(heartbeatServices),
      "`healthchecks`, `uptime-kuma`, `better-stack`, `cronitor` or `other`: how a failure is reported",
      "by the address",
    ),
    method: oneOf(["GET", "POST"]).prefault("GET").describe("`GET` or `POST`"),
    allowInternal,
  })
  .transform(
    ({ url, service = heartbeatServiceOf(url), method, every, allowInternal = [] }): HeartbeatSettings => ({
      url: new Secret(url),
      service,
      method,
      everyMs: every,
      allowInternal,
    }),
  );

export const watchSchema = z
  .strictObject({
    enabled: flag.prefault(true).describe("`false`: the relay never asks the service anything"),
    every: duration("10s", "1h")
      .prefault("1m")
      .describe("the longest time between looks; `1m` makes about 70 calls an hour"),
    putBack: flag
      .prefault(false)
      .describe("changed outputs are put back, at most three times a day; not an address where this relay answers"),
    gaps: orOff(duration("5m", "1d"))
      .prefault("15m")
      .describe("how often [missing alerts](senders.md#alerts-that-should-have-come) are looked for"),
  })
  .transform(({ gaps, every, ...watch }) => ({
    ...watch,
    everyMs: every,
    /** Absent: never. */
    ...(gaps !== "off" && { gapsEveryMs: gaps }),
  }));

/** The time without an alert after which people get a notice. */
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

export const silenceMap = z.strictObject({
  hook: silenceSetting
    .prefault("off")
    .describe("everything at the account's hook; `silence: auto` alone means the same"),
  sources: z
    .record(z.string(), silenceSetting)
    .prefault({})
    .meta({ description: "by the fact `source`, as the log shows it", otherwise: "none" }),
});
export const silenceSchema = z.union([
  silenceSetting.transform((hook): z.infer<typeof silenceMap> => ({ hook, sources: {} })),
  silenceMap,
]);

/** `canary: off`, or its times and receivers. @param destination the allowed names */
export const canarySchema = (destination: z.ZodType<string>) =>
  writtenShort(
    z
      .strictObject({
        every: optional(duration("5m", "7d"), "between one canary and the next", "this or `at` is required"),
        at: optional(
          listOf(timeOfDay, '["07:30", "19:30"]').transform((times) => [...new Set(times)].sort()),
          'times of day, `["07:30", "19:30"]`',
        ),
        days: optional(daysOfWeek(), "with `at`: `mon-fri`", "every day"),
        timeZone: optional(timeZone, "with `at`: an IANA name", "that of `defaults`, else UTC"),
        to: optional(
          listOf(destination, "the names of destinations", { mayBeEmpty: true }),
          "destinations that get each canary as a message",
          "nobody",
        ),
      })
      .meta({ oneOf: [{ required: ["every"] }, { required: ["at"] }] })
      .check(
        acrossOptions((context, isRefused) => {
          const { every, at, days, timeZone } = context.value;
          if (isRefused("every") || isRefused("at")) return;
          const example = 'write one of the two, e.g. every: 1h, or at: ["07:30", "19:30"]';
          if (at === undefined) {
            if (every === undefined) refuseAt(context, ["every"], "is missing, and at as well", example);
            for (const [option, written] of Object.entries(every === undefined ? {} : { days, timeZone })) {
              if (written === undefined) continue;
              const instead = 'write it beside at: ["07:30"], or remove it';
              refuseAt(context, [option], "has no effect together with every", instead, "key");
            }
          } else if (every !== undefined)
            refuseAt(context, ["at"], "cannot be used together with every", example, "key");
        }),
      )
      .transform(({ every, at = [], days, timeZone, to = [] }) => ({
        schedule: (zone = "UTC"): CanarySchedule =>
          every === undefined
            ? { kind: "at", times: at, ...(days && { days }), timeZone: timeZone ?? zone }
            : { kind: "every", everyMs: every },
        to,
      })),
    (value) => value,
    off,
  );

const usual = defaultDeliverySettings();
const schedule = ({ stepsMs }: RetrySchedule) =>
  listOf(duration("100ms", "7d"), "[1s, 5s, 15s, 1m]").prefault(stepsMs.map(writeDuration));
const giveUpAfter = ({ giveUpAfterMs }: RetrySchedule) => duration("1m", "30d").prefault(writeDuration(giveUpAfterMs));
const ambiguous = ({ waitMs, maxRepeats }: AmbiguousSettings) =>
  z
    .strictObject({
      wait: duration("1s", "1d").prefault(writeDuration(waitMs)),
      repeats: whole(0, 10).prefault(maxRepeats),
    })
    .prefault({})
    .transform(({ wait, repeats }): AmbiguousSettings => ({ waitMs: wait, maxRepeats: repeats }));

export const deliverySchema = z
  .strictObject({
    schedule: schedule(usual.schedule).describe("waits after the first, second, … failed attempt"),
    thenEvery: duration("1s", "1d")
      .prefault(writeDuration(usual.schedule.thenEveryMs ?? 0))
      .describe("the wait after those"),
    giveUpAfter: giveUpAfter(usual.schedule).describe(
      "a delivery fails after this time, counted from its beginning or the end of what held it",
    ),
    webhook: z
      .strictObject({ schedule: schedule(usual.webhookSchedule), giveUpAfter: giveUpAfter(usual.webhookSchedule) })
      .prefault({})
      .meta({
        description: "`schedule` and `giveUpAfter` for outgoing webhooks",
        otherwise: "`[5s, 5m, 30m, 2h, 5h, 10h, 14h, 20h, 24h]`, `96h`",
      }),
    ambiguous: ambiguous(usual.ambiguous).meta({
      description: "with `onAmbiguous: retry`: `wait` before a repeat, `repeats` at most, then held",
      otherwise: "`30s`, 2",
    }),
    ambiguousEmail: ambiguous(usual.ambiguousEmail).meta({
      description: "the same for e-mail",
      otherwise: "`5m`, 1",
    }),
    breaker: z
      .strictObject({
        failures: whole(1, 1000).prefault(usual.breaker.openAfter),
        pause: duration("1s", "1d").prefault(writeDuration(usual.breaker.firstPauseMs)),
        maxPause: obsolete("the longest pause is twenty times the first"),
      })
      .prefault({})
      .meta({
        description:
          "after `failures` in a row a destination is left alone for `pause`, doubling to twenty times of it",
        otherwise: "5, `30s`",
      }),
    telegramBotPace: paceSchema.prefault(usual.telegramBotPace).meta({
      description: "`perSecond` and `perMinute` for all chats of one bot",
      otherwise: "25 a second",
    }),
    sendTimeout: duration("1s", "10m")
      .prefault(writeDuration(usual.sendTimeoutMs))
      .describe("the most that one call to a vendor may take"),
    emailSendTimeout: duration("1s", "30m")
      .prefault(writeDuration(usual.emailSendTimeoutMs))
      .describe("the same for a mail server"),
    jitter: obsolete("each wait is up to a fifth longer or shorter by chance"),
    lease: obsolete("it is two minutes, or a minute more than a call may take"),
    shutdown: obsolete("a stop waits 20 s for calls that are under way"),
  })
  .transform(
    ({ schedule, thenEvery, giveUpAfter, webhook, breaker, ...options }): DeliverySettings => ({
      ...usual,
      schedule: { stepsMs: schedule, thenEveryMs: thenEvery, giveUpAfterMs: giveUpAfter },
      webhookSchedule: { stepsMs: webhook.schedule, giveUpAfterMs: webhook.giveUpAfter },
      ambiguous: options.ambiguous,
      ambiguousEmail: options.ambiguousEmail,
      breaker: { openAfter: breaker.failures, firstPauseMs: breaker.pause, maxPauseMs: 20 * breaker.pause },
      telegramBotPace: options.telegramBotPace,
      sendTimeoutMs: options.sendTimeout,
      emailSendTimeoutMs: options.emailSendTimeout,
    }),
  );
