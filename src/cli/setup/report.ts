import { maskWebhookUrl } from "../../ground/net/shown-address.ts";
import type { AccountNames } from "../../watch/judge-account.ts";
import { toDeliveries } from "../alerts/outcomes.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import type { LeftAs } from "./last-run.ts";
import type { Outputs, SetupPlan } from "./plan-setup.ts";
import { formatProof, type ProofTest } from "./send-proof.ts";
import type { SetupOptions } from "./setup.ts";
import type { Stages } from "./stages.ts";

/** What a report tells of the run itself. */
export interface ReportedRun {
  options: Pick<SetupOptions, "rotateSecret">;
  context: CliContext;
  output: Output;
  /** Whose account it is about, and what to say for it. */
  names: AccountNames;
  stages: Stages;
  /** A run before this one was cut off or not confirmed, and left the account so. */
  interrupted?: { startedAt: string; account: LeftAs };
}

type SetupResult = "dry-run" | "unchanged" | "changed" | "turned-off" | "restored";

export interface SetupOutcome {
  account: { id: string; name?: string; keyExpiresAt?: string };
  plan: SetupPlan;
  result: SetupResult;
  /** Absent: none is to be sent. */
  sendsTest?: () => Promise<ProofTest | undefined>;
  /**
   * Asks whether the account is to get back what it had before, after a test that failed, and does it. False: not done.
   * Absent: there is nothing of before.
   */
  offersUndo?: () => Promise<boolean>;
}

/** Says what has become of the account before the test, which may take a minute, and then what has become of that. */
export async function report(run: ReportedRun, outcome: SetupOutcome): Promise<void> {
  const { output, context, stages, interrupted } = run;
  const { account, plan, result, sendsTest, offersUndo } = outcome;
  await output.print(`${describeChange(run, plan)}\n${output.asTyped(closingLine(run, result, plan))}\n`);
  const test = await sendsTest?.();
  if (test !== undefined) await output.print(`\n${formatProof(test, output, context.now())}\n`);
  const isUndone = test?.ok === false && (await offersUndo?.()) === true;
  const { id, name, keyExpiresAt } = account;
  const data = {
    result: isUndone ? "restored" : result,
    before: masked(plan.before),
    after: masked(isUndone ? plan.before : plan.after),
    changed: result !== "dry-run" && result !== "unchanged" && !isUndone,
    confirmed: test?.ok === true,
    account: { id, name, keyExpiresAt },
    findings: stages.findings,
    test: test && {
      ok: test.ok,
      id: test.id,
      page: test.page,
      detail: test.words,
      deliveries: toDeliveries(test.deliveries),
    },
    interrupted,
  };
  const undo = offersUndo && !isUndone ? ` Or undo the change with: ${run.names.setup} --restore.` : "";
  const next = isUndone ? "Put back, and read back: the account has what it had before." : undefined;
  await output.result(data, () =>
    test === undefined ? "" : `${next ?? output.asTyped(whatNext(test, undo, output))}\n`,
  );
}

function whatNext({ ok, page }: ProofTest, undo: string, { style }: Output): string {
  const look = page === undefined ? "" : ` The test in the log: ${page}`;
  if (ok) {
    return `${style("green", "Confirmed:")} alerts of the account arrive here and at every destination. Check again at any time: tocsin doctor.${look}`;
  }
  return `${style("red", "Not confirmed.")} See what is wrong with: tocsin doctor. Then run setup again: it sends another test.${undo}${look}`;
}

/** A table of before and after. */
export function describeChange({ options, output }: ReportedRun, { before, after }: SetupPlan): string {
  const was = masked(before);
  const will = masked(after);
  const show = (value: string | null) => value ?? "none";
  // Two addresses that differ in what is hidden would read as the same.
  const differs = was.webhookUrl === will.webhookUrl && before.webhookUrl !== after.webhookUrl;
  const secretMark = options.rotateSecret ? " (new secret)" : differs ? " (another secret)" : "";
  return output
    .table(
      [{ title: "output" }, { title: "before" }, { title: "after" }],
      [
        ["webhook", show(was.webhookUrl), show(will.webhookUrl) + secretMark],
        ["messenger channel", show(was.messengerChannelId), show(will.messengerChannelId)],
      ],
    )
    .trimEnd();
}

function closingLine({ stages, names: { setup } }: ReportedRun, result: SetupResult, { isOurs }: SetupPlan): string {
  switch (result) {
    case "dry-run":
      return stages.findings.some(({ verdict }) => verdict === "problem")
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

/** The path of a hook is its secret. */
export function masked({ webhookUrl, messengerChannelId }: Outputs): Outputs {
  return { webhookUrl: webhookUrl === null ? null : maskWebhookUrl(webhookUrl), messengerChannelId };
}
