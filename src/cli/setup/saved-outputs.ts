import { z } from "zod";
import type { KeptRecords } from "../../core/ports/kept-records.ts";
import { type KeptRecord, keptRecord } from "./kept-record.ts";
import type { Outputs } from "./plan-setup.ts";

export const outputsSchema = z.object({
  webhookUrl: z.string().nullable(),
  messengerChannelId: z.string().nullable(),
});

const schema = z.object({
  /**
   * `--webhook-off` has turned the webhook off since: a setup after it finds none, and that is not what there was
   * before.
   */
  turnedOff: z.boolean().optional(),
  savedAt: z.iso.datetime(),
  accountId: z.string(),
  outputs: outputsSchema,
});

export type SavedOutputs = z.output<typeof schema>;

/** What an account had before setup changed it, kept until it is restored. @param source see `lastRunRecord` */
export function savedOutputsRecord(kept: KeptRecords, source?: string): KeptRecord<SavedOutputs> {
  const name = source === undefined ? "outputs-before-setup.json" : `outputs-before-setup-${source}.json`;
  return keptRecord(kept, name, schema, "what the account had before setup");
}

export function toOutputs(outputs: { webhookUrl: string | null; messengerChannelId: string | null }): Outputs {
  return { webhookUrl: outputs.webhookUrl, messengerChannelId: outputs.messengerChannelId };
}
