import type { z } from "zod";
import { AppError } from "../../core/errors.ts";
import type { KeptRecords } from "../../core/ports/kept-records.ts";

/** Something that setup keeps, over a crash and a power cut. */
export interface KeptRecord<T> {
  /** Where that is, for people. */
  place: string;
  /** Undefined where there is none. @throws AppError `failed` where it cannot be read. */
  read(): Promise<T | undefined>;
  /** @throws AppError `failed` where it cannot be kept. */
  write(value: T): Promise<void>;
  remove(): Promise<void>;
}

/** @param holds what is in it, for words: "what the account had before setup" */
export function keptRecord<T>(kept: KeptRecords, name: string, schema: z.ZodType<T>, holds: string): KeptRecord<T> {
  const place = kept.placeOf(name);
  const unreadable = (why: string | undefined) =>
    new AppError("failed", `Cannot read ${place}: ${why ?? "unknown"}.`, {
      hint: `Look at it; it holds ${holds}.`,
    });
  return {
    place,
    async read() {
      const [text] = await kept.read(name).catch((error: NodeJS.ErrnoException) => {
        throw error instanceof AppError ? error : unreadable(error.code);
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
        await kept.write(name, `${JSON.stringify(value, null, 2)}\n`);
      } catch (cause) {
        if (cause instanceof AppError) throw cause;
        throw new AppError("failed", `Cannot write ${place}: ${(cause as NodeJS.ErrnoException).code}.`, {
          hint: `Before anything is changed it is to hold ${holds}; see whether DATA_DIR is right.`,
          cause,
        });
      }
    },
    remove: () => kept.write(name, undefined),
  };
}
