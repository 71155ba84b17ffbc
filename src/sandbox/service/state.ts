import { z } from "zod";
import { notificationShapes } from "./options.ts";

/** What the sandbox remembers. Everything else follows from the seed. Instants are epoch milliseconds. */

export const conditionSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("above"), threshold: z.number() }),
  z.strictObject({ kind: z.literal("below"), threshold: z.number() }),
  /** The value differs by at least `percent` from the value `windowMs` earlier. */
  z.strictObject({
    kind: z.literal("change_percent"),
    percent: z.number().positive(),
    windowMs: z.number().int().positive(),
  }),
]);
export type WatchCondition = z.infer<typeof conditionSchema>;

export const severitySchema = z.enum(["critical", "warning", "info"]);

export const subscriptionSchema = z.strictObject({
  id: z.string(),
  userId: z.string(),
  metricKey: z.string(),
  condition: conditionSchema,
  severity: severitySchema,
  createdAt: z.number(),
  /** Whether the condition held at the last look. */
  isFiring: z.boolean(),
  changedAt: z.number().optional(),
});
export type WatchSubscription = z.infer<typeof subscriptionSchema>;

const userSchema = z.strictObject({ id: z.string(), name: z.string(), createdAt: z.number() });

export const accountSchema = z.strictObject({
  id: z.string(),
  accountName: z.string(),
  webhookUrl: z.string().nullable(),
  messengerChannelId: z.string().nullable(),
  /** SHA-256 of each key, hexadecimal. */
  keys: z.array(z.strictObject({ hash: z.string(), expiresAt: z.number() })),
  users: z.array(userSchema),
  subscriptions: z.array(subscriptionSchema),
  createdAt: z.number(),
  updatedAt: z.number(),
});
export type SandboxAccount = z.infer<typeof accountSchema>;

export const registeredAssetSchema = z.strictObject({
  id: z.string(),
  symbol: z.string(),
  name: z.string(),
  /** Chain to token address, lower case. */
  tokenMapping: z.record(z.string(), z.string()),
  startedAt: z.number(),
  discoveredAt: z.number(),
  queryableAt: z.number(),
});
export type RegisteredAsset = z.infer<typeof registeredAssetSchema>;

const attemptSchema = z.strictObject({
  at: z.number(),
  durationMs: z.number(),
  /** HTTP status, when an answer came. */
  status: z.number().optional(),
  outcome: z.enum(["accepted", "refused", "unanswered"]),
  detail: z.string(),
});
export type NotificationAttempt = z.infer<typeof attemptSchema>;

export const notificationStates = ["pending", "delivered", "failed", "cancelled"] as const;

export const notificationSchema = z.strictObject({
  id: z.string(),
  accountId: z.string(),
  output: z.enum(["webhook", "messenger"]),
  eventIds: z.array(z.string()),
  summary: z.string(),
  contentType: z.string(),
  body: z.string(),
  createdAt: z.number(),
  state: z.enum(notificationStates),
  /** When the next attempt is due; set while pending. */
  dueAt: z.number().optional(),
  attempts: z.array(attemptSchema),
});
export type SandboxNotification = z.infer<typeof notificationSchema>;

export const stateSchema = z.strictObject({
  version: z.literal(1),
  seed: z.number(),
  shape: z.enum(notificationShapes),
  /** The first account's key in the clear: this is a stand-in, and its page and command show it. */
  apiKey: z.string(),
  accounts: z.array(accountSchema),
  assets: z.array(registeredAssetSchema),
  nudges: z.array(
    z.strictObject({
      metricKey: z.string(),
      factor: z.number(),
      fromAt: z.number(),
      untilAt: z.number(),
    }),
  ),
  notifications: z.array(notificationSchema),
});
export type SandboxState = z.infer<typeof stateSchema>;
