import type { FailedFilters } from "../../contract/alert-query.ts";
import type { Said } from "../../contract/api.ts";
import { encode } from "../../contract/encode.ts";
import { resendPreviewView } from "../../contract/views/destinations.ts";
import { standingOf } from "../../contract/words.ts";
import { deliveriesTable } from "../../panels/alert.ts";
import { failedPanel, resentPanel } from "../../panels/resend.ts";
import { paragraph } from "../../panels/sections.ts";
import { connectRelay, type RelayClient, type RelayRun } from "../relay/connect-relay.ts";
import { printAnswer } from "../relay/question.ts";
import { askFirst, canAsk } from "../shell/confirm.ts";
import type { ResendOptions } from "./alerts.ts";
import { hasReached, outcomeContext, resolveId, toDeliveries, waitUntilSettled } from "./one-alert.ts";

export async function resendAlert(run: RelayRun, idOrPart: string, options: ResendOptions): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const id = await resolveId(client, idOrPart);
  if (options.to === undefined && !options.yes && canAsk(context)) await askWhether(run, client, id);
  const made = await client.resend({ id, destination: options.to });
  if (!options.wait) {
    const names = [...new Set(made.map(({ destination }) => destination))].join(", ");
    const follow = { code: `tocsin alerts show ${id}` };
    return printAnswer(run, "resend", made, () => paragraph`Sending it again to ${names}. Follow it with: ${follow}`);
  }
  const ids = new Set(made.map((delivery) => delivery.id));
  const settling = await waitUntilSettled(run, client, id, {
    timeoutMs: options.timeout,
    isWanted: (delivery) => ids.has(delivery.id),
  });
  const deliveries = settling?.deliveries ?? [];
  await output.result(toDeliveries(deliveries), async () =>
    settling === undefined
      ? []
      : [deliveriesTable({ ...settling.alert, deliveries }, await outcomeContext(client, output))],
  );
  if (settling?.timedOut) await output.note("the time is over; the relay keeps trying");
  if (deliveries.length === 0 || !deliveries.every(hasReached)) context.setExitStatus(1);
}

/** Asks where an alert goes to several destinations, since phones may ring. */
async function askWhether({ context }: RelayRun, client: RelayClient, id: string): Promise<void> {
  const { deliveries } = await client.findAlert({ id });
  const names = new Set(standingOf({ deliveries }).map(({ destination }) => destination));
  if (names.size > 1) await askFirst(context, `Resend it to ${names.size} destinations: ${[...names].join(", ")}?`);
}

/** Shows the deliveries and asks, then resends them. Exit status 1 when some stay failed. */
export async function resendFailed(
  run: RelayRun,
  filters: FailedFilters,
  { yes = false, dryRun = false }: { yes?: boolean; dryRun?: boolean },
): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const preview = await client.previewResend(filters);
  const question = failedPanel(preview, context.now());
  const isRelease = filters.mute !== undefined;
  const sent = isRelease ? "released" : "resent";
  if (dryRun) {
    const data = { ...encode(resendPreviewView, preview), dryRun: true };
    return output.result(data, () => [...question, paragraph`Nothing was ${{ words: sent }} (--dry-run).`]);
  }
  if (preview.deliveries > 0 && !yes) {
    for (const line of output.draw(question).trimEnd().split("\n")) await output.note(line);
    await askFirst(context, `${isRelease ? "Release" : "Resend"} these ${preview.deliveries}?`);
  }
  await output.progress.update(`sending ${preview.deliveries}`);
  // Also when nothing can be resent: the answer says what stays failed, and why.
  const result = await client.resendFailed({ ...filters, failedUntil: preview.failedUntil });
  await printAnswer(run, "resendFailed", result, () => resentPanel(result, isRelease));
  if (result.left.length > 0) context.setExitStatus(1);
}

/** Sends the alerts that quiet hours hold. Asks first, with the numbers, unless alerts are named. */
export async function release(
  client: RelayClient,
  { ids = [], destination, yes }: { ids?: string[]; destination?: string; yes?: boolean },
  { context }: RelayRun,
): Promise<Said<"release">> {
  if (ids.length === 0 && !yes) {
    // The relay refuses an unknown destination later.
    const held = (await client.listDestinations()).flatMap(({ name, heldByQuietHours }) =>
      heldByQuietHours !== undefined && (destination ?? name) === name ? `${heldByQuietHours.count} for ${name}` : [],
    );
    if (held.length > 0) await askFirst(context, `Send now what quiet hours hold: ${held.join(", ")}?`);
  }
  const alerts: string[] = [];
  for (const id of ids) alerts.push(await resolveId(client, id));
  return client.release({ destination, alerts: ids.length === 0 ? undefined : alerts });
}
