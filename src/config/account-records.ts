import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Registration } from "../core/ports/account.ts";
import type { KeptRecords } from "../core/ports/kept-records.ts";

const followEveryMs = 2_000;

/**
 * Something that setup keeps of an account, over a crash and a power cut.
 * @param holds what is in it, for words: "what the account had before setup"
 * @returns opens it. `source`: whose account it is about; default: that of `ALERTING_URL`
 */
function recordOf<T>(schema: z.ZodType<T>, file: string, holds: string) {
  return (kept: KeptRecords, source?: string) => {
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
      /** The place of the record, for people. */
      place,
      /**
       * Undefined where there is none.
       * @throws AppError `failed` where it cannot be read, `store_unavailable` when the database that keeps it is away
       */
      async read(): Promise<T | undefined> {
        const [text] = await kept.read(name).catch(fail("read", undefined, look));
        if (text === undefined) return undefined;
        const parse = async () => schema.parse(JSON.parse(text));
        return parse().catch(fail("read", "it is not what setup wrote", look));
      },
      /** @throws AppError `failed` where it cannot be kept, `store_unavailable` as `read` */
      async write(value: T): Promise<void> {
        const hint = `Before anything is changed it is to hold ${holds}; see whether DATA_DIR is right.`;
        await kept.write(name, `${JSON.stringify(value, null, 2)}\n`).catch(fail("write", undefined, hint));
      },
      /** Rejects as `KeptRecords` does. */
      remove: () => kept.write(name, undefined),
      /** Calls this about two seconds after somebody has written or removed it. @returns what ends that */
      follow(onChange: () => void): () => void {
        let known: { text?: string } | undefined;
        const look = async () => {
          const [text] = await kept.read(name);
          if (known !== undefined && text !== known.text) onChange();
          known = { text };
        };
        // What is away is looked at again: nothing of it is lost.
        const lookIfThere = () => void look().catch(() => {});
        lookIfThere();
        const timer = setInterval(lookIfThere, followEveryMs).unref();
        return () => clearInterval(timer);
      },
    };
  };
}

const registrationSchema: z.ZodType<Registration> = z.object({
  accountId: z.string(),
  publicUrl: z.url(),
  webhookOff: z.boolean().optional(),
  messengerChannelId: z.string().nullable().optional(),
  at: z.number(),
});

const openRegistration = recordOf(registrationSchema, "registration", "what the account is held to");

/**
 * What the account is held to: setup writes it, the running relay reads it at each look. Holds no secret. One that cannot be
 * read is none: then there is nothing to hold the account to.
 */
export function registrationRecord(kept: KeptRecords, source?: string) {
  const record = openRegistration(kept, source);
  const unlessAway = (error: AppError) => {
    if (error.code === "failed") return undefined;
    throw error;
  };
  return { ...record, read: () => record.read().catch(unlessAway) };
}

const outputsSchema = z.object({ webhookUrl: z.string().nullable(), messengerChannelId: z.string().nullable() });

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
export const savedOutputsRecord = recordOf(savedSchema, "outputs-before-setup", "what the account had before setup");

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
export const lastRunRecord = recordOf(lastRunSchema, "setup-run", "how far setup has come");
