import { readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { makePrivateFolder } from "../../ground/files/private-folder.ts";
import { replaceFile } from "../../ground/files/replace-file.ts";

/** Something that setup keeps in the data folder, readable by its owner only, over a crash and a power cut. */
export interface KeptFile<T> {
  /** Undefined where there is none. @throws AppError `failed` where it cannot be read. */
  read(): Promise<T | undefined>;
  /** @throws AppError `failed` where it cannot be kept. */
  write(value: T): Promise<void>;
  remove(): Promise<void>;
}

/** @param holds what is in it, for words: "what the account had before setup" */
export function keptFile<T>(path: string, schema: z.ZodType<T>, holds: string): KeptFile<T> {
  const unreadable = (why: string | undefined) =>
    new AppError("failed", `Cannot read ${path}: ${why ?? "unknown"}.`, {
      hint: `Look at the file; it holds ${holds}.`,
    });
  return {
    async read() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw unreadable(error.code);
      });
      if (text === undefined) return undefined;
      try {
        return schema.parse(JSON.parse(text));
      } catch {
        throw unreadable("it is not what setup wrote");
      }
    },
    async write(value) {
      try {
        makePrivateFolder(dirname(path));
        await replaceFile(path, `${JSON.stringify(value, null, 2)}\n`);
      } catch (cause) {
        throw new AppError("failed", `Cannot write ${path}: ${(cause as NodeJS.ErrnoException).code}.`, {
          hint: `Before anything is changed it is to hold ${holds}; see whether DATA_DIR is right.`,
          cause,
        });
      }
    },
    remove: () => rm(path, { force: true }),
  };
}
