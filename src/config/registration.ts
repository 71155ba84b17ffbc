import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Registration } from "../core/ports/account.ts";
import type { KeptRecords } from "../core/ports/kept-records.ts";

const schema: z.ZodType<Registration> = z.object({
  accountId: z.string(),
  publicUrl: z.url(),
  webhookOff: z.boolean().optional(),
  messengerChannelId: z.string().nullable().optional(),
  at: z.number(),
});

/**
 * What the account is held to: setup writes it, the running relay reads it at each look. Holds no secret.
 */
export interface RegistrationRecord {
  /**
   * Undefined: nothing was registered here, or it cannot be read: then there is nothing to hold the account to.
   * @throws AppError `store_unavailable` when the database that keeps it is away
   */
  read(): Promise<Registration | undefined>;
  /** Rejects as `KeptRecords` does, and so does `remove`. */
  write(registration: Registration): Promise<void>;
  remove(): Promise<void>;
  /** Calls this within two seconds after somebody has written or removed it. @returns what ends that */
  follow(onChange: () => void): () => void;
}

/** @param source whose account it is. Default: that of `ALERTING_URL` */
export function registrationRecord(kept: KeptRecords, source?: string): RegistrationRecord {
  const name = source === undefined ? "registration.json" : `registration-${source}.json`;
  return {
    async read() {
      try {
        const [text] = await kept.read(name);
        return schema.parse(JSON.parse(text ?? ""));
      } catch (error) {
        if (error instanceof AppError) throw error;
        return undefined;
      }
    },
    write: (registration) => kept.write(name, `${JSON.stringify(registration, null, 2)}\n`),
    remove: () => kept.write(name, undefined),
    follow: (onChange) => kept.follow(name, onChange),
  };
}
