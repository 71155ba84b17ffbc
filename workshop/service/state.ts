import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../src/core/errors.ts";
import { makePrivateFolder } from "../../src/ground/files/private-folder.ts";
import { replaceFile } from "../../src/ground/files/replace-file.ts";
import { errorMessage } from "../../src/ground/text/error-text.ts";
import { notificationShapes } from "./options.ts";

/** All else follows from the seed. Instants are epoch milliseconds. */

export const conditionSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.enum(["above", "below"]), threshold: z.number() }),
  /** The value differs by at least `percent` from the value `windowMs` earlier. */
  z.strictObject({ kind: z.literal("change_percent"), percent: z.number().positive(), windowMs: z.int().positive() }),
]);

export const severities = ["critical", "warning", "info"] as const;
export const severitySchema = z.enum(severities);

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

const accountSchema = z.strictObject({
  id: z.string(),
  accountName: z.string(),
  webhookUrl: z.string().nullable(),
  messengerChannelId: z.string().nullable(),
  /** SHA-256 of each key, hexadecimal. */
  keys: z.array(z.strictObject({ hash: z.string(), expiresAt: z.number() })),
  users: z.array(z.strictObject({ id: z.string(), name: z.string(), createdAt: z.number() })),
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
  attempts: z.array(
    z.strictObject({
      at: z.number(),
      durationMs: z.number(),
      status: z.number().optional(),
      outcome: z.enum(["accepted", "refused", "unanswered"]),
      detail: z.string(),
    }),
  ),
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
  /** Manual pushes: the metric's value is multiplied by `factor` between two instants. */
  nudges: z.array(
    z.strictObject({ metricKey: z.string(), factor: z.number(), fromAt: z.number(), untilAt: z.number() }),
  ),
  notifications: z.array(notificationSchema),
});
export type SandboxState = z.infer<typeof stateSchema>;

/**
 * `sandbox.json` is replaced as a whole, so a crash leaves the old or the new state. Without a folder nothing is kept.
 * Throws `AppError` "failed" for an unreadable state, "store_unavailable".
 */
export class StateFile {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(private readonly folder: string | undefined) {
    this.#path = join(folder ?? "", "sandbox.json");
  }

  async read(): Promise<SandboxState | undefined> {
    if (this.folder === undefined) return undefined;
    try {
      const parsed = stateSchema.safeParse(JSON.parse(await readFile(this.#path, "utf8")));
      if (parsed.success) return parsed.data;
      const { path = [], message = "" } = parsed.error.issues[0] ?? {};
      throw new Error(`it is no state of a sandbox (${z.core.toDotPath(path) || "all of it"}: ${message})`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.#failure("failed", "read", error, "Move the file away to start over");
    }
  }

  /** Resolves when a write that began after this call is on disk. */
  save(state: SandboxState): Promise<void> {
    const written = this.#writing.then(() => this.#write(state));
    // A failed write rejects for its own callers and must not stop the next.
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(state: SandboxState): Promise<void> {
    if (this.folder === undefined) return;
    try {
      makePrivateFolder(this.folder);
      await replaceFile(this.#path, `${JSON.stringify(state)}\n`);
    } catch (error) {
      throw this.#failure("store_unavailable", "written", error, "Free some room");
    }
  }

  #failure(code: "failed" | "store_unavailable", what: string, cause: unknown, remedy: string): AppError {
    const hint = `${remedy}, or name another folder with --data`;
    const why = errorMessage(cause);
    return new AppError(code, `The sandbox's state in ${this.#path} cannot be ${what}: ${why}`, { hint, cause });
  }
}
