import type { z } from "zod";
import {
  type AmbiguousSettings,
  type DeliverySettings,
  defaultDeliverySettings,
  type RetrySchedule,
} from "../core/delivery-settings.ts";
import type { Mute } from "../core/rules.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { readKeyPath } from "../matching/path.ts";
import type { IntakeSettings } from "./config.ts";
import { deliverySchema, intakeSchema, muteSchema } from "./schema.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { listEntries, readShape } from "./shape/read-shape.ts";

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
