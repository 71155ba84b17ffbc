import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../src/core/errors.ts";
import { makePrivateFolder } from "../../src/ground/files/private-folder.ts";
import { replaceFile } from "../../src/ground/files/replace-file.ts";
import { notificationShapes } from "./options.ts";

/** All else follows from the seed. Instants are epoch milliseconds. */

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

const subscriptionSchema = z.strictObject({
  id: z.string(),
  userId: z.string(),
  metricKey: z.string(),
  condition: conditionSchema,
  severity: severitySchema,
  createdAt: z.number(),
  isFiring: z.boolean(),
  changedAt: z.number().optional(),
});
export type WatchSubscription = z.infer<typeof subscriptionSchema>;

const userSchema = z.strictObject({ id: z.string(), name: z.string(), createdAt: z.number() });

const accountSchema = z.strictObject({
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

const registeredAssetSchema = z.strictObject({
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

/** A manual push: the metric's value is multiplied by `factor` between two instants. */
const nudgeSchema = z.strictObject({
  metricKey: z.string(),
  factor: z.number(),
  fromAt: z.number(),
  untilAt: z.number(),
});
export type Nudge = z.infer<typeof nudgeSchema>;

const attemptSchema = z.strictObject({
  at: z.number(),
  durationMs: z.number(),
  status: z.number().optional(),
  outcome: z.enum(["accepted", "refused", "unanswered"]),
  detail: z.string(),
});
export type NotificationAttempt = z.infer<typeof attemptSchema>;

export const notificationStates = ["pending", "delivered", "failed", "cancelled"] as const;

const notificationSchema = z.strictObject({
  id: z.string(),
  accountId: z.string(),
  output: z.enum(["webhook", "messenger"]),
  eventIds: z.array(z.string()),
  summary: z.string(),
  contentType: z.string(),
  body: z.string(),
  createdAt: z.number(),
  state: z.enum(notificationStates),
  /** The instant of the next attempt. Only while pending. */
  dueAt: z.number().optional(),
  attempts: z.array(attemptSchema),
});
export type SandboxNotification = z.infer<typeof notificationSchema>;

const stateSchema = z.strictObject({
  version: z.literal(1),
  seed: z.number(),
  shape: z.enum(notificationShapes),
  /** The first account's key in the clear: this is a stand-in, and its page and command show the key. */
  apiKey: z.string(),
  accounts: z.array(accountSchema),
  assets: z.array(registeredAssetSchema),
  nudges: z.array(nudgeSchema),
  notifications: z.array(notificationSchema),
});
export type SandboxState = z.infer<typeof stateSchema>;

export type StateFile = ReturnType<typeof createStateFile>;

/**
 * `sandbox.json` is replaced as a whole, so a crash leaves the old or the new state. Without a folder nothing is kept.
 * Throws `AppError` "failed" for an unreadable state, "store_unavailable".
 */
export function createStateFile(dataDir: string | undefined) {
  const path = join(dataDir ?? "", "sandbox.json");
  let writing: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;

  return {
    async read(): Promise<SandboxState | undefined> {
      if (dataDir === undefined) return undefined;
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw unreadable(path, error.message, error);
      });
      return text === undefined ? undefined : parseState(path, text);
    },
    /** Resolves when a write that began after this call is on disk. Waiting calls share one write. */
    async save(state: SandboxState): Promise<void> {
      if (dataDir === undefined) return;
      waiting ??= writing.then(() => {
        waiting = undefined;
        // A failed write rejects for its own callers and must not stop the next.
        const write = writeState(dataDir, path, `${JSON.stringify(state)}\n`);
        writing = write.catch(() => undefined);
        return write;
      });
      return waiting;
    },
  };
}

function parseState(path: string, text: string): SandboxState {
  let why = "it is not JSON";
  let cause: unknown;
  try {
    const parsed = stateSchema.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
    const { path: place = [], message = "" } = parsed.error.issues[0] ?? {};
    why = `it is no state of a sandbox (${z.core.toDotPath(place) || "all of it"}: ${message})`;
    cause = parsed.error;
  } catch (error) {
    cause = error;
  }
  throw unreadable(path, why, cause);
}

function unreadable(path: string, why: string, cause: unknown): AppError {
  const hint = "Move the file away to start over, or name another folder with --data";
  return new AppError("failed", `The sandbox's state in ${path} cannot be read: ${why}`, { hint, cause });
}

async function writeState(folder: string, path: string, text: string): Promise<void> {
  try {
    makePrivateFolder(folder);
    await replaceFile(path, text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AppError("store_unavailable", `The sandbox's state in ${path} cannot be written: ${why}`, {
      hint: "Free some room, or name another folder with --data",
      cause: error,
    });
  }
}
