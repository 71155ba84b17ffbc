import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { makePrivateFolder } from "../../ground/files/private-folder.ts";
import { replaceFile } from "../../ground/files/replace-file.ts";
import type { Outputs } from "./plan-setup.ts";

const schema = z.object({
  /**
   * `--webhook-off` has turned the webhook off since: a setup after it finds none, and that is not what there was
   * before.
   */
  turnedOff: z.boolean().optional(),
  savedAt: z.iso.datetime(),
  accountId: z.string(),
  outputs: z.object({ webhookUrl: z.string().nullable(), messengerChannelId: z.string().nullable() }),
});

export type SavedOutputs = z.output<typeof schema>;

/** What an account had before setup changed it, kept in the data folder until it is restored. */
export interface SavedOutputsFile {
  read(): Promise<SavedOutputs | undefined>;
  /** @throws AppError `failed` where it cannot be kept. */
  write(saved: SavedOutputs): Promise<void>;
  remove(): Promise<void>;
}

export function savedOutputsFile(dataDir: string): SavedOutputsFile {
  const path = join(dataDir, "outputs-before-setup.json");
  return {
    async read() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw unreadable(path, error.code);
      });
      if (text === undefined) return undefined;
      try {
        return schema.parse(JSON.parse(text));
      } catch {
        throw unreadable(path, "it is not what setup wrote");
      }
    },
    async write(saved) {
      try {
        makePrivateFolder(dataDir);
        await replaceFile(path, `${JSON.stringify(saved, null, 2)}\n`);
      } catch (cause) {
        throw new AppError("failed", `Cannot write ${path}: ${(cause as NodeJS.ErrnoException).code}.`, {
          hint: "What the account has now is kept there before anything is changed; see whether DATA_DIR is right.",
          cause,
        });
      }
    },
    remove: () => rm(path, { force: true }),
  };
}

function unreadable(path: string, why: string | undefined): AppError {
  return new AppError("failed", `Cannot read ${path}: ${why ?? "unknown"}.`, {
    hint: "Look at the file; it holds what the account had before setup.",
  });
}

export function toOutputs(outputs: { webhookUrl: string | null; messengerChannelId: string | null }): Outputs {
  return { webhookUrl: outputs.webhookUrl, messengerChannelId: outputs.messengerChannelId };
}
