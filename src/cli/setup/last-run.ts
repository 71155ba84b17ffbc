import { z } from "zod";
import type { KeptRecords } from "../../core/ports/kept-records.ts";
import { toSeconds } from "../shell/amounts.ts";
import { type KeptRecord, keptRecord } from "./kept-record.ts";
import { describeDifference, isOwnHook, type Outputs } from "./plan-setup.ts";
import { outputsSchema } from "./saved-outputs.ts";

/**
 * How far a run of setup has come, on disk before each step, and removed when it ends in good order. One that is found did
 * not: it was ended by SIGKILL or a power cut, or its change failed or was interrupted half-way.
 */
const schema = z.discriminatedUnion("step", [
  /** Nothing has been asked for. */
  z.object({ step: z.literal("checking"), startedAt: z.iso.datetime() }),
  /** The change may have been asked for, and may have been made. */
  z.object({
    step: z.literal("changing"),
    startedAt: z.iso.datetime(),
    accountId: z.string(),
    before: outputsSchema,
    after: outputsSchema,
  }),
  /** The change was made and read back; a test was under way. */
  z.object({
    step: z.literal("testing"),
    startedAt: z.iso.datetime(),
    accountId: z.string(),
    before: outputsSchema,
    after: outputsSchema,
  }),
]);

export type LastRun = z.output<typeof schema>;

/** @param source whose account it was about. Default: that of `ALERTING_URL` */
export function lastRunRecord(kept: KeptRecords, source?: string): KeptRecord<LastRun> {
  const name = source === undefined ? "setup-run.json" : `setup-run-${source}.json`;
  return keptRecord(kept, name, schema, "how far setup has come");
}

/** `changed`: neither what was there before the run that was cut off nor what it wanted. */
export type LeftAs = "old" | "new" | "changed" | "unknown";

/** What a run that was cut off has left. `now`: undefined where the account could not be read. */
export function judgeLastRun(last: LastRun, now: { accountId: string; outputs: Outputs } | undefined): LeftAs {
  if (last.step === "checking") return "old";
  if (now === undefined || now.accountId !== last.accountId) return "unknown";
  if (describeDifference(now.outputs, last.after) === undefined) return "new";
  return describeDifference(now.outputs, last.before) === undefined ? "old" : "changed";
}

/** One line for people. @param publicUrl of this relay: only what registers it is tested */
export function describeLastRun(last: LastRun, left: LeftAs, publicUrl: string | undefined): string {
  const run = `The setup of ${toSeconds(Date.parse(last.startedAt))} did not finish.`;
  const wanted = last.step === "checking" ? null : last.after.webhookUrl;
  const isTested = wanted !== null && isOwnHook(wanted, publicUrl);
  switch (left) {
    case "old":
      return `${run} It changed nothing: the account has what it had before.`;
    case "new":
      return `${run} The account has its change${isTested ? "; a test of it is still to be sent" : ""}.`;
    case "changed":
      return `${run} Somebody has changed the account since: it has neither the old outputs nor those of setup.`;
    case "unknown":
      return `${run} Whether the account was changed cannot be seen now.`;
    default:
      return left satisfies never;
  }
}
