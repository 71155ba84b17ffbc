import type { LastRun } from "../../config/account-records.ts";
import type { Outputs } from "../../core/ports/account.ts";
import { maskWebhookUrl } from "../../ground/net/shown-address.ts";
import { toSeconds } from "../../ground/time/time-format.ts";
import type { Cell, Panel } from "../../panels/panel.ts";
import { paragraph, say } from "../../panels/sections.ts";
import { describeDifference, isOwnHook, type OutputsPlan } from "../../watch/plan-outputs.ts";
import { toDeliveries } from "../alerts/one-alert.ts";
import type { AccountRun, Run } from "./run-setup.ts";
import type { ProofTest } from "./send-proof.ts";

export type SetupResult = "dry-run" | "unchanged" | "changed" | "turned-off" | "restored";

interface SetupEnd {
  result: SetupResult;
  /** Absent: no test was wanted. */
  test?: ProofTest;
  canUndo?: boolean;
  /** The former outputs were put back, because the test failed. */
  isUndone?: boolean;
}

/** Reports the change of the account before the test, which may take a minute. */
export async function tellChange(run: AccountRun, plan: OutputsPlan, result: SetupResult): Promise<void> {
  await run.output.print([...changePanel(run, plan), { kind: "text", text: closingLine(run, result, plan) }]);
}

export async function report(run: AccountRun, plan: OutputsPlan, end: SetupEnd): Promise<void> {
  const { output, findings, interrupted, account } = run;
  const { result, test, isUndone = false } = end;
  const { id, accountName, apiKeyExpiresAt: endsAt } = account;
  const keyExpiresAt = endsAt === undefined ? undefined : new Date(endsAt).toISOString();
  const data = {
    result,
    before: masked(plan.before),
    after: masked(isUndone ? plan.before : plan.after),
    changed: result !== "dry-run" && result !== "unchanged" && !isUndone,
    confirmed: test?.ok === true,
    account: { id, name: accountName ?? undefined, keyExpiresAt },
    findings,
    test: test && { ...test, deliveries: toDeliveries(test.deliveries) },
    interrupted,
  };
  await output.result(data, () => (test === undefined ? "" : paragraph`${whatNext(run, test, end)}`));
}

function whatNext({ names }: AccountRun, { ok, page }: ProofTest, end: SetupEnd): Cell {
  if (end.isUndone) return "Put back, and read back: the account has what it had before.";
  const look = page !== undefined && say` The test in the log: ${page}`;
  const doctor = { code: "tocsin doctor" };
  if (ok) {
    const confirmed = { chip: "Confirmed:", tone: "good" } as const;
    return say`${confirmed} alerts of the account arrive here and at every destination. Check again at any time: ${doctor}.${look}`;
  }
  const undo = end.canUndo && say` Or undo the change with: ${{ code: `${names.setup} --restore` }}.`;
  const failed = { chip: "Not confirmed.", tone: "bad" } as const;
  return say`${failed} See what is wrong with: ${doctor}. Then run setup again: it sends another test.${undo}${look}`;
}

export function changePanel({ options }: Run, { before, after }: OutputsPlan): Panel {
  const was = masked(before);
  const will = masked(after);
  // Two addresses that differ only in the hidden part would look the same.
  const differs = was.webhookUrl === will.webhookUrl && before.webhookUrl !== after.webhookUrl;
  const hidden = will.webhookUrl?.endsWith("***") ? "secret" : "path";
  const mark = options.rotateSecret ? " (new secret)" : differs ? ` (another ${hidden})` : "";
  const rows = [
    ["webhook", was.webhookUrl ?? "none", `${will.webhookUrl ?? "none"}${mark}`],
    ["messenger channel", was.messengerChannelId ?? "none", will.messengerChannelId ?? "none"],
  ];
  return [{ kind: "table", columns: [{ title: "output" }, { title: "before" }, { title: "after" }], rows }];
}

function closingLine({ findings, names: { setup } }: AccountRun, result: SetupResult, { isOurs }: OutputsPlan): Cell {
  const undo = say`Undo with: ${{ code: `${setup} --restore` }}`;
  switch (result) {
    case "dry-run":
      return findings.some(({ verdict }) => verdict === "problem")
        ? "Nothing was changed (--dry-run), and setup would stop at what is marked ✗."
        : "Nothing was changed (--dry-run).";
    case "unchanged":
      return "Everything is as it should be; nothing had to change.";
    case "changed":
      return say`Changed, and read back. ${undo}`;
    case "turned-off":
      return say`Changed, and read back: the account sends to no webhook any more. ${
        isOurs ? say`Turn it on again with: ${{ code: setup }}` : undo
      }`;
    case "restored":
      return "Restored, and read back.";
  }
}

/** The account after an interrupted run. `changed`: neither the outputs before the run nor the wanted ones. */
export type LeftAs = "old" | "new" | "changed" | "unknown";

/** @param now undefined where the account could not be read */
export function judgeLastRun(last: LastRun, now: { id: string; outputs: Outputs } | undefined): LeftAs {
  if (last.step === "checking") return "old";
  if (now === undefined || now.id !== last.accountId) return "unknown";
  if (describeDifference(now.outputs, last.after) === undefined) return "new";
  return describeDifference(now.outputs, last.before) === undefined ? "old" : "changed";
}

/** One line for people. @param publicUrl of this relay: only a run that registers it is tested */
export function describeLastRun(last: LastRun, left: LeftAs, publicUrl: string | undefined): string {
  const wanted = last.step === "checking" ? null : last.after.webhookUrl;
  const isTested = wanted !== null && isOwnHook(wanted, publicUrl);
  const words: Record<LeftAs, string> = {
    old: "It changed nothing: the account has what it had before.",
    new: `The account has its change${isTested ? "; a test of it is still to be sent" : ""}.`,
    changed: "Somebody has changed the account since: it has neither the old outputs nor those of setup.",
    unknown: "Whether the account was changed cannot be seen now.",
  };
  return `The setup of ${toSeconds(Date.parse(last.startedAt))} did not finish. ${words[left]}`;
}

/** The path of a hook is its secret, and may be one in any other address. */
export function masked({ webhookUrl, messengerChannelId }: Outputs): Outputs {
  return { webhookUrl: webhookUrl === null ? null : maskWebhookUrl(webhookUrl), messengerChannelId };
}
