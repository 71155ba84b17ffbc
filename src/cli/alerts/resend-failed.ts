import type { FailedFilters } from "../../contract/alert-query.ts";
import { encode } from "../../contract/encode.ts";
import type { FailedAtDestination, ResendPreview, ResendResult } from "../../contract/operations.ts";
import { resendPreviewView } from "../../contract/views.ts";
import { AppError } from "../../core/errors.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import { printAnswer } from "../relay/question.ts";
import { describeAge } from "../shell/amounts.ts";
import { askFirst, canAsk } from "../shell/confirm.ts";
import type { Output } from "../shell/output.ts";
import { terminalText } from "../shell/terminal-text.ts";

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
  if (!yes && !dryRun && !canAsk(context)) {
    throw new AppError("usage", "nobody is there to be asked, so --failed needs --yes", {
      hint: "see the number first with: tocsin alerts resend --failed --dry-run",
    });
  }
  const { client } = await connectRelay(run);
  const preview = await client.previewResend(filters);
  const question = formatPreview(preview, output, context.now());
  if (dryRun) {
    const data = { ...encode(resendPreviewView, preview), dryRun: true };
    return output.result(data, () => `${question}Nothing was resent (--dry-run).\n`);
  }
  if (preview.deliveries > 0 && !yes) {
    for (const line of question.trimEnd().split("\n")) await output.note(line);
    await askFirst(context, `Resend these ${preview.deliveries}?`);
  }
  await output.progress.update(`resending ${preview.deliveries}`);
  // Also when nothing is left that could be resent: the answer says what stays failed, and why.
  const result = await client.resendFailed({ ...filters, failedUntil: preview.failedUntil });
  await printAnswer(run, "resendFailed", result, () => formatResult(result));
  if (result.left.length > 0) context.setExitStatus(1);
}

function formatPreview({ destinations }: ResendPreview, output: Output, now: number): string {
  if (destinations.length === 0) return "Nothing failed that was not resent.\n";
  return output.table(
    [
      { title: "destination", keep: true },
      { title: "failed", align: "right" },
      { title: "alerts", align: "right" },
      { title: "oldest" },
      { title: "newest" },
      { title: "as" },
    ],
    destinations.map(({ destination, deliveries, alerts, oldestAt, newestAt, health, asDigests }) => [
      destination,
      deliveries.toLocaleString("en-US"),
      alerts.toLocaleString("en-US"),
      describeAge(oldestAt, now),
      describeAge(newestAt, now),
      describeWay(health, asDigests),
    ]),
  );
}

function describeWay(health: FailedAtDestination["health"], asDigests: boolean): string {
  if (health === undefined) return "not resent: no longer configured";
  const way = asDigests ? "digests" : "one message each";
  if (health === "dead" || health === "paused") return `${way}, if it works again (it is ${health})`;
  return health === "down" ? `${way}, when it answers (it is down)` : way;
}

const ofPace = 'marked "Resent": one message in four while new alerts come';

function formatResult({ resent, left }: ResendResult): string {
  const lines = left.map(({ destination, deliveries, why }) => `${deliveries} to ${destination} stay failed: ${why}`);
  if (resent > 0) lines.unshift(`${resent} on the way again, ${ofPace}. Follow them with: tocsin status`);
  if (lines.length === 0) lines.push("Nothing failed that was not resent.");
  return lines.map((line) => `${terminalText(line)}\n`).join("");
}
