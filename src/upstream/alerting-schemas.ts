import { z } from "zod";
import type { AccountReading } from "../core/ports/account.ts";
import { oneLine } from "../ground/text/clean.ts";
import { toEpochMs } from "./instants.ts";

/**
 * The alerting interface's objects as documented. Every object is loose: members that the document does not name are
 * kept, so that they reach `--json` and the tables.
 */

/** Absent, `null` and an empty text all mean: this output is off. */
const output = z
  .string()
  .nullish()
  .transform((value) => value || null);

const alertOutputsSchema = z.looseObject({ webhookUrl: output, messengerChannelId: output });

const noOutputs = { webhookUrl: null, messengerChannelId: null };

/** A member that only accompanies others: one of another type than documented counts as absent, and hinders nothing. */
const decoration = z.string().nullish().catch(undefined);

/**
 * `alertOutputs` may be `null` ("by default no output is configured") but not missing: a caller that overwrites outputs
 * must not take an answer that does not have them for one that says there are none.
 */
const accountSchema = z
  .looseObject({
    id: z.preprocess((id) => (typeof id === "number" ? String(id) : id), z.string()),
    accountName: decoration,
    alertOutputs: alertOutputsSchema.nullable().transform((value) => value ?? noOutputs),
    apiKeyHash: decoration,
    /** A key that never ends may have anything here. */
    apiKeyExpirationTimestamp: z.unknown().optional(),
    createdAt: decoration,
    updatedAt: decoration,
  })
  .transform((account) => ({
    ...account,
    /** Epoch milliseconds; absent when the key has no expiry that can be read. */
    apiKeyExpiresAt: toEpochMs(account.apiKeyExpirationTimestamp),
  }));

export const accountAnswerSchema = z.looseObject({ message: z.string().nullish(), data: accountSchema });

/**
 * Whatever can be read of an account, for who has to go on when a member is missing or is something else than documented.
 */
export const accountReadingSchema = z.looseObject({ data: z.looseObject({}).transform(readLoosely) });

function readLoosely(account: Record<string, unknown>): AccountReading {
  const { id, accountName, alertOutputs, apiKeyExpirationTimestamp: expiry } = account;
  // `null` says that no output is configured.
  const outputs = alertOutputs === null ? noOutputs : alertOutputs;
  const { webhookUrl, messengerChannelId } = (typeof outputs === "object" ? outputs : {}) as Record<string, unknown>;
  return {
    id: textOrNothing(id),
    name: textOrNothing(accountName),
    webhookUrl: outputOrNothing(webhookUrl),
    messengerChannelId: outputOrNothing(messengerChannelId),
    keyExpiresAt: toEpochMs(expiry),
  };
}

/** No id or name is that long, and it is shown to people. */
const longestText = 300;

function textOrNothing(value: unknown): string | undefined {
  const text = typeof value === "number" || typeof value === "string" ? oneLine(String(value), longestText) : "";
  return text === "" ? undefined : text;
}

/** Null: the output is off. Undefined: the answer does not say. */
function outputOrNothing(value: unknown): string | null | undefined {
  if (value === null || value === "") return null;
  return typeof value === "string" ? value : undefined;
}

export const setOutputsAnswerSchema = z.looseObject({
  data: z.looseObject({ alertOutputs: alertOutputsSchema, message: z.string().nullish() }),
});

/** Points that cannot all be read, under a wrong key, or without any: what is there is taken. */
export const recordsReadingSchema = z.looseObject({
  data: z
    .union([z.looseObject({ points: z.array(z.unknown()) }).transform(({ points }) => points), z.array(z.unknown())])
    .transform(readRecords),
});

function readRecords(given: readonly unknown[]) {
  const points = given.flatMap((point) => {
    const { timestamp, value } = (typeof point === "object" && point !== null ? point : {}) as Record<string, unknown>;
    const isTime = typeof timestamp === "number" || typeof timestamp === "string";
    const at = isTime ? toEpochMs(timestamp) : undefined;
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (!isTime || at === undefined || typeof number !== "number" || !Number.isFinite(number)) return [];
    return [{ timestamp, at, value: number }];
  });
  return { points, unread: given.length - points.length };
}

/** Entries of any form. */
export const subscriptionsReadingSchema = z.looseObject({ data: z.array(z.unknown()) }).transform((answer) => {
  const meta = typeof answer.meta === "object" && answer.meta !== null ? answer.meta : {};
  const { total, count } = { ...answer, ...meta } as Record<string, unknown>;
  const said = typeof total === "number" ? total : typeof count === "number" ? count : undefined;
  return { data: { entries: answer.data, total: said } };
});

/** A point whose value is `null` is a bucket without records. */
const pointSchema = z
  .looseObject({ timestamp: z.union([z.number(), z.string()]), value: z.number().nullable() })
  .transform((point, context) => {
    const at = toEpochMs(point.timestamp);
    if (at === undefined) {
      context.addIssue({ code: "custom", path: ["timestamp"], message: "expected a Unix timestamp" });
      return z.NEVER;
    }
    return { ...point, /** Epoch milliseconds. */ at };
  });

export const historyAnswerSchema = z.looseObject({
  data: z.looseObject({ key: z.string(), points: z.array(pointSchema) }),
});

/** A metric, a token, a user: fields are not documented. */
const undocumented = z.looseObject({});
const subscriptionSchema = z.looseObject({ subscription: undocumented, metric: undocumented.nullish() });

export const listAnswerSchema = z.looseObject({ data: z.array(undocumented) });
export const subscriptionsAnswerSchema = z.looseObject({ data: z.array(subscriptionSchema) });

export type AlertOutputs = z.output<typeof alertOutputsSchema>;
export type Account = z.output<typeof accountSchema>;
export type MetricHistory = z.output<typeof historyAnswerSchema>["data"];
export type Metric = z.output<typeof undocumented>;
