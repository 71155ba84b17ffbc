import type { FailedFilters } from "../../contract/alert-query.ts";
import { encode } from "../../contract/encode.ts";
import { resendPreviewView } from "../../contract/views.ts";
import { type Panel, paragraph } from "../../panels/panel.ts";
import { failedPanel, resentPanel } from "../../panels/resend.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import { printAnswer } from "../relay/question.ts";
import { askFirst, requireSomebody } from "../shell/confirm.ts";
import { drawPanel } from "../shell/draw-panel.ts";

export interface ResendFailedOptions {
  yes?: boolean;
  dryRun?: boolean;
}

/**
 * `tocsin alerts resend --failed`: shows what failed and asks, then resends what was shown. Exit status 1 when some
 * of it stays failed.
 */
export async function resendFailed(
  run: RelayRun,
  filters: FailedFilters,
  { yes = false, dryRun = false }: ResendFailedOptions,
): Promise<void> {
  const { output, context } = run;
  const hint = "see the number first with: tocsin alerts resend --failed --dry-run";
  if (!yes && !dryRun) requireSomebody(context, "--failed", hint);
  const { client } = await connectRelay(run);
  const preview = await client.previewResend(filters);
  const draw = (panel: Panel) => drawPanel(panel, output, context.now());
  const question = failedPanel(preview, context.now());
  if (dryRun) {
    const data = { ...encode(resendPreviewView, preview), dryRun: true };
    return output.result(data, () => draw([...question, paragraph`Nothing was resent (--dry-run).`]));
  }
  if (preview.deliveries > 0 && !yes) {
    for (const line of draw(question).trimEnd().split("\n")) await output.note(line);
    await askFirst(context, `Resend these ${preview.deliveries}?`);
  }
  await output.progress.update(`resending ${preview.deliveries}`);
  // Also when nothing is left that could be resent: the answer says what stays failed, and why.
  const result = await client.resendFailed({ ...filters, failedUntil: preview.failedUntil });
  await printAnswer(run, "resendFailed", result, () => resentPanel(result));
  if (result.left.length > 0) context.setExitStatus(1);
}
