import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Registration } from "../core/ports/account.ts";
import type { KeptRecords } from "../core/ports/kept-records.ts";

const followEveryMs = 2_000;

/** A record that setup keeps about an account, safe from a crash. `source` default: the account of `ALERTING_URL`. */
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
      place,
      /** Undefined: there is none. @throws AppError `failed` for an unreadable one, `store_unavailable` */
      async read(): Promise<T | undefined> {
        const [text] = await kept.read(name).catch(fail("read", undefined, look));
        if (text === undefined) return undefined;
        const parse = async () => schema.parse(JSON.parse(text));
        return parse().catch(fail("read", "it is not what setup wrote", look));
      },
      /** @throws AppError `failed` where it cannot be written, `store_unavailable` */
      async write(value: T): Promise<void> {
        const hint = `Before anything is changed it is to hold ${holds}; see whether DATA_DIR is right.`;
        await kept.write(name, `${JSON.stringify(value, null, 2)}\n`).catch(fail("write", undefined, hint));
      },
      remove: () => kept.write(name, undefined),
      /** Calls back about two seconds after a change of the record. @returns a function that ends it */
      follow(onChange: () => void): () => void {
        let known: { text?: string } | undefined;
        const look = async () => {
          const [text] = await kept.read(name);
          if (known !== undefined && text !== known.text) onChange();
          known = { text };
        };
        // A failed look is repeated: the record is not lost.
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

/** Setup writes this record, and the running relay reads it at each look. An unreadable one counts as absent. */
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
  /** `--webhook-off` has turned the webhook off since. A later setup finds none, but there was one before. */
  turnedOff: z.boolean().optional(),
  savedAt: z.iso.datetime(),
  accountId: z.string(),
  outputs: outputsSchema,
});

export type SavedOutputs = z.output<typeof savedSchema>;

/** The account's outputs from before the first change by setup, kept until they are restored. */
export const savedOutputsRecord = recordOf(savedSchema, "outputs-before-setup", "what the account had before setup");

const lastRunSchema = z.discriminatedUnion("step", [
  /** No change was requested. */
  z.object({ step: z.literal("checking"), startedAt: z.iso.datetime() }),
  /** The change may have been requested and made. A test may have been under way. */
  z.object({
    step: z.enum(["changing", "testing"]),
    startedAt: z.iso.datetime(),
    accountId: z.string(),
    before: outputsSchema,
    after: outputsSchema,
  }),
]);

export type LastRun = z.output<typeof lastRunSchema>;

/** Removed at a good end. A record that remains means SIGKILL, a power cut, or a failed or interrupted change. */
export const lastRunRecord = recordOf(lastRunSchema, "setup-run", "how far setup has come");
