import { z } from "zod";
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

/**
 * @param holds what is in it, for words: "what the account had before setup"
 * @param source whose account it is about. Default: that of `ALERTING_URL`
 */
function openRecord<T>(schema: z.ZodType<T>, file: string, holds: string) {
  return (kept: KeptRecords, source?: string): KeptRecord<T> => {
    const name = `${file}${source === undefined ? "" : `-${source}`}.json`;
    const place = kept.placeOf(name);
    const fail =
      (what: "read" | "write", why: string | undefined, hint: string) =>
      (cause: NodeJS.ErrnoException): never => {
        if (cause instanceof AppError) throw cause;
        throw new AppError("failed", `Cannot ${what} ${place}: ${why ?? cause.code ?? "unknown"}.`, { hint, cause });
      };
    const look = `Look at it; it holds ${holds}.`;
    return {
      place,
      async read() {
        const [text] = await kept.read(name).catch(fail("read", undefined, look));
        if (text === undefined) return undefined;
        const parse = async () => schema.parse(JSON.parse(text));
        return parse().catch(fail("read", "it is not what setup wrote", look));
      },
      async write(value) {
        const hint = `Before anything is changed it is to hold ${holds}; see whether DATA_DIR is right.`;
        await kept.write(name, `${JSON.stringify(value, null, 2)}\n`).catch(fail("write", undefined, hint));
      },
      remove: () => kept.write(name, undefined),
    };
  };
}

const outputsSchema = z.object({ webhookUrl: z.string().nullable(), messengerChannelId: z.string().nullable() });

export type Outputs = z.output<typeof outputsSchema>;

const savedSchema = z.object({
  /**
   * `--webhook-off` has turned the webhook off since: a setup after it finds none, and that is not what there was
   * before.
   */
  turnedOff: z.boolean().optional(),
  savedAt: z.iso.datetime(),
  accountId: z.string(),
  outputs: outputsSchema,
});

export type SavedOutputs = z.output<typeof savedSchema>;

/** What an account had before setup first changed it, kept until it is restored. */
export const savedOutputsRecord = openRecord(savedSchema, "outputs-before-setup", "what the account had before setup");

const lastRunSchema = z.discriminatedUnion("step", [
  /** Nothing has been asked for. */
  z.object({ step: z.literal("checking"), startedAt: z.iso.datetime() }),
  /** The change may have been asked for, and may have been made; a test may have been under way. */
  z.object({
    step: z.enum(["changing", "testing"]),
    startedAt: z.iso.datetime(),
    accountId: z.string(),
    before: outputsSchema,
    after: outputsSchema,
  }),
]);

export type LastRun = z.output<typeof lastRunSchema>;

/**
 * How far a run of setup has come, on disk before each step, and removed when it ends in good order. One that is found did
 * not: it was ended by SIGKILL or a power cut, or its change failed or was interrupted half-way.
 */
export const lastRunRecord = openRecord(lastRunSchema, "setup-run", "how far setup has come");
