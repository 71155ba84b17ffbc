import { maskWebhookUrl } from "../../ground/net/shown-address.ts";
import { toDeliveries } from "../alerts/outcomes.ts";
import { toSeconds } from "../shell/amounts.ts";
import { isOwnHook, type LeftAs, type SetupPlan } from "./plan-setup.ts";
import type { LastRun, Outputs } from "./records.ts";
import type { AccountRun, Run } from "./run-setup.ts";
import type { ProofTest } from "./send-proof.ts";

export type SetupResult = "dry-run" | "unchanged" | "changed" | "turned-off" | "restored";

interface SetupEnd {
  result: SetupResult;
  /** Absent: none was to be sent. */
  test?: ProofTest;
  /** There is something of before to put back. */
  canUndo?: boolean;
  /** It was put back, because of a test that failed. */
  isUndone?: boolean;
}

/** What has become of the account, which is said before a test that may take a minute. */
export async function tellChange(run: AccountRun, plan: SetupPlan, result: SetupResult): Promise<void> {
  const { output } = run;
  await output.print(`${describeChange(run, plan)}\n${output.asTyped(closingLine(run, result, plan))}\n`);
}

/** What has become of all of it. */
export async function report(run: AccountRun, plan: SetupPlan, end: SetupEnd): Promise<void> {
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
  await output.result(data, () => (test === undefined ? "" : `${output.asTyped(whatNext(run, test, end))}\n`));
}

function whatNext({ output: { style }, names }: AccountRun, { ok, page }: ProofTest, end: SetupEnd): string {
  if (end.isUndone) return "Put back, and read back: the account has what it had before.";
  const look = page === undefined ? "" : ` The test in the log: ${page}`;
  if (ok) {
    return `${style("green", "Confirmed:")} alerts of the account arrive here and at every destination. Check again at any time: tocsin doctor.${look}`;
  }
  const undo = end.canUndo ? ` Or undo the change with: ${names.setup} --restore.` : "";
  return `${style("red", "Not confirmed.")} See what is wrong with: tocsin doctor. Then run setup again: it sends another test.${undo}${look}`;
}

/** A table of before and after. */
export function describeChange({ options, output }: Run, { before, after }: SetupPlan): string {
  const was = masked(before);
  const will = masked(after);
  const show = (value: string | null) => value ?? "none";
  // Two addresses that differ in what is hidden would read as the same.
  const differs = was.webhookUrl === will.webhookUrl && before.webhookUrl !== after.webhookUrl;
  const hidden = will.webhookUrl?.endsWith("***") ? "secret" : "path";
  const mark = options.rotateSecret ? " (new secret)" : differs ? ` (another ${hidden})` : "";
  const rows = [
    ["webhook", show(was.webhookUrl), show(will.webhookUrl) + mark],
    ["messenger channel", show(was.messengerChannelId), show(will.messengerChannelId)],
  ];
  return output.table([{ title: "output" }, { title: "before" }, { title: "after" }], rows).trimEnd();
}

function closingLine({ findings, names: { setup } }: AccountRun, result: SetupResult, { isOurs }: SetupPlan): string {
  switch (result) {
    case "dry-run":
      return findings.some(({ verdict }) => verdict === "problem")
        ? "Nothing was changed (--dry-run), and setup would stop at what is marked ✗."
        : "Nothing was changed (--dry-run).";
    case "unchanged":
      return "Everything is as it should be; nothing had to change.";
    case "changed":
      return `Changed, and read back. Undo with: ${setup} --restore`;
    case "turned-off":
      return `Changed, and read back: the account sends to no webhook any more. ${
        isOurs ? `Turn it on again with: ${setup}` : `Undo with: ${setup} --restore`
      }`;
    case "restored":
      return "Restored, and read back.";
  }
}

/** One line for people. @param publicUrl of this relay: only what registers it is tested */
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

/** The path of a hook is its secret, and so may be that of another address. */
export function masked({ webhookUrl, messengerChannelId }: Outputs): Outputs {
  return { webhookUrl: webhookUrl === null ? null : maskWebhookUrl(webhookUrl), messengerChannelId };
}
