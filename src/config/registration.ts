import { randomUUID } from "node:crypto";
import { type Stats, unwatchFile, watchFile } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Registration } from "../core/ports/account.ts";
import { makePrivateFolder } from "../ground/files/private-folder.ts";
import { replaceFile } from "../ground/files/replace-file.ts";

const schema: z.ZodType<Registration> = z.object({
  accountId: z.string(),
  publicUrl: z.url(),
  webhookOff: z.boolean().optional(),
  messengerChannelId: z.string().nullable().optional(),
  at: z.number(),
});

/**
 * What the account is held to, kept in the data folder: setup writes it, the running relay reads it at each look. Holds
 * no secret.
 */
export interface RegistrationFile {
  /** Undefined: nothing was registered here, or it cannot be read: then there is nothing to hold the account to. */
  read(): Promise<Registration | undefined>;
  /** Throws the file system's own error, as `remove` does. */
  write(registration: Registration): Promise<void>;
  remove(): Promise<void>;
  /** Calls this within two seconds after somebody has written or removed it. @returns what ends that */
  follow(onChange: () => void): () => void;
}

const followEveryMs = 2_000;

/** @param source whose account it is. Default: that of `ALERTING_URL` */
export function registrationFile(dataDir: string, source?: string): RegistrationFile {
  const path = join(dataDir, source === undefined ? "registration.json" : `registration-${source}.json`);
  return {
    async read() {
      try {
        return schema.parse(JSON.parse(await readFile(path, "utf8")));
      } catch {
        return undefined;
      }
    },
    async write(registration) {
      makePrivateFolder(dataDir);
      // Setup and the relay may write at once.
      await replaceFile(path, `${JSON.stringify(registration, null, 2)}\n`, `${path}.${randomUUID()}.new`);
    },
    remove: () => rm(path, { force: true }),
    follow(onChange) {
      const compare = (now: Stats, before: Stats) => {
        if (now.mtimeMs !== before.mtimeMs) onChange();
      };
      watchFile(path, { interval: followEveryMs, persistent: false }, compare);
      return () => unwatchFile(path, compare);
    },
  };
}
