import { z } from "zod";
import type { CanarySchedule } from "../core/canary-schedule.ts";
import {
  type AmbiguousSettings,
  type DeliverySettings,
  defaultDeliverySettings,
  type RetrySchedule,
} from "../core/delivery-settings.ts";
import { type FactMapping, mappableFacts } from "../core/mapping.ts";
import type { RetentionRules } from "../core/ports/retention.ts";
import type { Mute, Route, SilenceRule } from "../core/rules.ts";
import { Secret } from "../core/secret.ts";
import { referTo } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { readKeyPath } from "../matching/path.ts";
import { type HeartbeatSettings, heartbeatServiceOf } from "../vendors/heartbeat.ts";
import type { IntakeSettings, MarketSettings, SourceSettings, WatchSettings } from "./config.ts";
import {
  adviseOnPath,
  canarySchema,
  deliverySchema,
  heartbeatSchema,
  intakeSchema,
  mappingSchema,
  marketSchema,
  muteSchema,
  retentionSchema,
  silenceSchema,
  silenceSetting,
  watchSchema,
} from "./schema.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";
import { listEntries, readShape, refuseKind } from "./shape/read-shape.ts";

/** The list `mutes:`. The page names an entry by its position, so that is its id: `configuration:1` is the first. */
export function buildMutes(values: unknown, problems: ProblemList): Mute[] {
  return listEntries(values, "mutes", "mute", problems).flatMap((value, index) => {
    const path = ["mutes", index];
    const options = readShape(muteSchema, value, path, problems);
    if (options === undefined) return [];
    const { match, reason, from = 0, until } = options;
    if (until <= from) problems.add([...path, "until"], "is not after from", "turn the two round");
    return [
      {
        id: `configuration:${index + 1}`,
        matchers: match,
        reason,
        startsAt: from,
        endsAt: until,
        createdAt: from,
        createdBy: "configuration",
      },
    ];
  });
}

const defaultMaxBodyBytes = 1024 * 1024;

/** The section `intake:`. */
export function buildIntake(value: unknown, problems: ProblemList): IntakeSettings {
  const options = readShape(intakeSchema, value, ["intake"], problems) ?? {};
  const idempotencyPaths = options.idempotencyPaths ?? [];
  for (const [index, path] of idempotencyPaths.entries()) {
    if (readKeyPath(path) !== undefined) continue;
    problems.add(
      ["intake", "idempotencyPaths", index],
      `${showValue(path)} is not a path to one value of the body`,
      "write e.g. payload.eventId",
    );
  }
  return { maxBodyBytes: options.maxBodyBytes ?? defaultMaxBodyBytes, idempotencyPaths };
}

/** Of one fact. Each costs every alert a look. */
const maxPaths = 16;

/** The section `mapping:`, or that of a source. */
export function buildMapping(value: unknown, problems: ProblemList, section: ConfigPath = ["mapping"]): FactMapping {
  const mapping = readShape(mappingSchema, value, section, problems) ?? {};
  for (const fact of mappableFacts) {
    const paths = mapping[fact] ?? [];
    for (const [index, path] of paths.entries()) {
      const at = [...section, fact, index];
      const isRepeated = paths.indexOf(path) < index;
      if (readKeyPath(path) === undefined) {
        const message = `${showValue(path)} is not a path to one value of the payload`;
        problems.add(at, message, adviseOnPath(path));
      } else if (isRepeated) problems.add(at, `${showValue(path)} is listed twice`, "remove one of the two");
      else if (index === maxPaths) {
        problems.add(
          at,
          `is one more than the ${maxPaths} places that a fact may have`,
          "remove those that find nothing",
        );
      }
    }
  }
  return mapping;
}

const defaultAgeMs = 90 * 86_400_000;

/** The section `retention:`; a time alone is the age. Default: 90 days, and no limit of size. */
export function buildRetention(value: unknown, problems: ProblemList): RetentionRules {
  if (value === "off" || value === false) return {};
  const limits = typeof value === "string" ? { age: value } : (value ?? {});
  const { age = defaultAgeMs, size = "off" } = readShape(retentionSchema, limits, ["retention"], problems) ?? {};
  return { ...(age !== "off" && { maxAgeMs: age }), ...(size !== "off" && { maxBytes: size }) };
}

const defaultHeartbeatMs = 60_000;

/**
 * The section `heartbeat:`.
 * @param isReference whether the text at a path comes from the environment
 */
export function buildHeartbeat(
  value: unknown,
  isReference: (path: string[]) => boolean,
  problems: ProblemList,
): HeartbeatSettings | undefined {
  if (value === undefined || value === null) return undefined;
  const options = readShape(heartbeatSchema, value, ["heartbeat"], problems);
  if (options === undefined) return undefined;
  const { url, service, method = "GET", every = defaultHeartbeatMs, allowInternal = [] } = options;
  if (!isReference(["heartbeat", "url"])) {
    const instead = `write ${referTo("HEARTBEAT_URL")} and set that environment variable`;
    problems.add(["heartbeat", "url"], "is secret and does not belong in the file", instead);
    return undefined;
  }
  return { url: new Secret(url), service: service ?? heartbeatServiceOf(url), method, everyMs: every, allowInternal };
}

const defaultWatchMs = 60_000;
const defaultGapsMs = 15 * 60_000;

/** The section `watch:`. */
export function buildWatch(value: unknown, canWatch: boolean, problems: ProblemList): WatchSettings {
  const options = readShape(watchSchema, value, ["watch"], problems) ?? {};
  const { enabled = true, every = defaultWatchMs, putBack = false, gaps = defaultGapsMs } = options;
  // The rest is how it would be, as in the example file.
  if (putBack && !(enabled && canWatch)) {
    problems.warn(
      problems.whereIs(["watch", "putBack"]),
      "nothing is put back, since the account is not watched",
      "set ALERTING_URL and ALERTING_API_KEY and enabled: true, or leave putBack out",
    );
  }
  return { enabled, everyMs: every, putBack, ...(gaps !== "off" && { gapsEveryMs: gaps }) };
}

/** The section `market:`; `off`, or what of it is wanted. */
export function buildMarket(value: unknown, problems: ProblemList): MarketSettings {
  if (value === "off" || value === false) return { context: false, symbols: false };
  const isOn = value === "on" || value === true;
  const { context = true, symbols = true } =
    readShape(marketSchema, isOn ? {} : (value ?? {}), ["market"], problems) ?? {};
  return { context, symbols };
}

/** The section `silence:`, one setting or a map, and what routes and sources say of it. */
export function buildSilence(
  value: unknown,
  { routes, sources: hooks }: { routes: Route[]; sources: Pick<SourceSettings, "name" | "silence">[] },
  problems: ProblemList,
): SilenceRule[] {
  const isMap = typeof value === "object" && value !== null;
  const options = isMap
    ? readShape(silenceSchema, value, ["silence"], problems)
    : { hook: readSilence("silence", value, [], problems), sources: undefined };
  const { hook, sources } = options ?? {};
  const rules: SilenceRule[] = hook === undefined || hook === "off" ? [] : [{ of: "hook", after: hook }];
  for (const { name, silence: after } of routes) if (after !== undefined) rules.push({ of: "route", name, after });
  const ofHooks = new Set<string>();
  for (const { name, silence: after } of hooks) {
    if (after === undefined) continue;
    ofHooks.add(name);
    if (after !== "off") rules.push({ of: "source", name, after });
  }
  if (sources === undefined) return rules;
  if (typeof sources !== "object" || sources === null || Array.isArray(sources)) {
    const example = 'write the names of sources with a time or auto each, e.g. { "Pyth alerts": auto }';
    const { message, instead } = refuseKind("map", "sources", sources, example);
    problems.add(["silence", "sources"], message, instead);
    return rules;
  }
  for (const [name, setting] of Object.entries(sources)) {
    const after = readSilence(name, setting, ["silence", "sources"], problems);
    if (ofHooks.has(name)) {
      const message = `is said below sources.${name} already`;
      problems.add(["silence", "sources", name], message, "remove one of the two", "key");
    } else if (after !== undefined && after !== "off") rules.push({ of: "source", name, after });
  }
  return rules;
}

function readSilence(name: string, value: unknown, path: ConfigPath, problems: ProblemList) {
  const read = readShape(z.strictObject({ [name]: silenceSetting }), { [name]: value }, path, problems);
  return read?.[name];
}

interface CanaryContext {
  /** Names of destinations. */
  known: string[];
  publicUrl?: string;
  /** Of `defaults:`. */
  timeZone?: string;
}

/** The section `canary:`. It needs an address that leads back here. */
export function buildCanary(
  value: unknown,
  { known, publicUrl, timeZone }: CanaryContext,
  problems: ProblemList,
): { schedule: CanarySchedule; to: string[] } | undefined {
  if (value === undefined || value === "off" || value === false) return undefined;
  const options = readShape(canarySchema, value, ["canary"], problems);
  if (publicUrl === undefined) {
    const message = "needs the address by which senders reach Tocsin, and PUBLIC_URL is not set";
    problems.add(["canary"], message, "set PUBLIC_URL, or remove canary", "key");
  }
  const to = options?.to ?? [];
  for (const [index, name] of to.entries()) {
    if (known.includes(name)) continue;
    problems.add(["canary", "to", index], `there is no destination ${showValue(name)}`, suggestOrList(name, known));
  }
  const schedule = options && buildCanarySchedule(options, timeZone, problems);
  return schedule && { schedule, to };
}

function buildCanarySchedule(
  { every, at, days, timeZone }: Omit<z.infer<typeof canarySchema>, "to">,
  defaultZone: string | undefined,
  problems: ProblemList,
): CanarySchedule | undefined {
  const example = 'write one of the two, e.g. every: 1h, or at: ["07:30", "19:30"]';
  if (at !== undefined && every === undefined)
    return { kind: "at", times: at, ...(days && { days }), timeZone: timeZone ?? defaultZone ?? "UTC" };
  if (every === undefined) {
    problems.add(["canary", "every"], "is missing, and at as well", example);
    return undefined;
  }
  if (at !== undefined) problems.add(["canary", "at"], "cannot be used together with every", example, "key");
  for (const [key, option] of Object.entries({ days, timeZone }))
    if (at === undefined && option !== undefined)
      problems.add(
        ["canary", key],
        "has no effect together with every",
        'write it beside at: ["07:30"], or remove it',
        "key",
      );
  return { kind: "every", everyMs: every };
}

/** The section `delivery:` over the defaults. */
export function buildDelivery(value: unknown, problems: ProblemList): DeliverySettings {
  const settings = defaultDeliverySettings();
  const options = readShape(deliverySchema, value, ["delivery"], problems);
  if (options === undefined) return settings;

  const merged: DeliverySettings = {
    schedule: mergeSchedule(settings.schedule, options),
    webhookSchedule: mergeSchedule(settings.webhookSchedule, options.webhook ?? {}),
    jitter: options.jitter ?? settings.jitter,
    ambiguous: mergeAmbiguous(settings.ambiguous, options.ambiguous),
    ambiguousEmail: mergeAmbiguous(settings.ambiguousEmail, options.ambiguousEmail),
    breaker: {
      openAfter: options.breaker?.failures ?? settings.breaker.openAfter,
      firstPauseMs: options.breaker?.pause ?? settings.breaker.firstPauseMs,
      maxPauseMs: options.breaker?.maxPause ?? settings.breaker.maxPauseMs,
    },
    telegramBotPace: options.telegramBotPace ?? settings.telegramBotPace,
    leaseMs: options.lease ?? settings.leaseMs,
    sendTimeoutMs: options.sendTimeout ?? settings.sendTimeoutMs,
    emailSendTimeoutMs: options.emailSendTimeout ?? settings.emailSendTimeoutMs,
    shutdownMs: options.shutdown ?? settings.shutdownMs,
  };
  refuseConflicts(merged, problems);
  return merged;
}

type Options = z.infer<typeof deliverySchema>;

function mergeSchedule(
  settings: RetrySchedule,
  options: Pick<Options, "schedule" | "thenEvery" | "giveUpAfter">,
): RetrySchedule {
  const thenEveryMs = options.thenEvery ?? settings.thenEveryMs;
  return {
    stepsMs: options.schedule ?? settings.stepsMs,
    ...(thenEveryMs === undefined ? {} : { thenEveryMs }),
    giveUpAfterMs: options.giveUpAfter ?? settings.giveUpAfterMs,
  };
}

function mergeAmbiguous(settings: AmbiguousSettings, options: Options["ambiguous"]): AmbiguousSettings {
  return {
    waitMs: options?.wait ?? settings.waitMs,
    maxRepeats: options?.repeats ?? settings.maxRepeats,
  };
}

function refuseConflicts(settings: DeliverySettings, problems: ProblemList): void {
  const { leaseMs, sendTimeoutMs, breaker } = settings;
  if (leaseMs <= sendTimeoutMs) {
    const message = `is not longer than sendTimeout (${writeDuration(sendTimeoutMs)}), so a slow send would be made twice`;
    problems.add(["delivery", "lease"], message, "make it at least twice as long");
  }
  if (breaker.maxPauseMs < breaker.firstPauseMs) {
    const message = `is shorter than pause (${writeDuration(breaker.firstPauseMs)})`;
    problems.add(["delivery", "breaker", "maxPause"], message, "make it as long, or longer");
  }
}
