import { standingDeliveries } from "../../core/delivery.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import { printAnswer } from "../relay/question.ts";
import type { RelayClient } from "../relay/relay-client.ts";
import { askFirst, canAsk } from "../shell/confirm.ts";
import { formatOutcomes, hasReached, toDeliveries, waitUntilSettled } from "./outcomes.ts";
import { resolveId } from "./resolve-id.ts";

export interface ResendOptions {
  to?: string;
  /** Do not ask. */
  yes?: boolean;
  wait?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** `tocsin alerts resend`: once more to where it went, or to the destination named. */
export async function resendAlert(run: RelayRun, idOrPart: string, options: ResendOptions): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const id = await resolveId(client, idOrPart);
  if (options.to === undefined && !options.yes && canAsk(context)) await askWhether(run, client, id);
  const made = await client.resend({ id, destination: options.to });
  const ids = new Set(made.map((delivery) => delivery.id));
  if (!options.wait) {
    const follow = `Follow it with: tocsin alerts show ${id}`;
    return printAnswer(run, "resend", made, () => `Sending it again to ${namesOf(made)}. ${follow}\n`);
  }
  const settling = await waitUntilSettled(run, client, id, {
    timeoutMs: options.timeout,
    isWanted: (delivery) => ids.has(delivery.id),
  });
  const deliveries = settling?.deliveries ?? [];
  await output.result(toDeliveries(deliveries), () => formatOutcomes(deliveries, output, context.now()));
  if (settling?.timedOut) await output.note("the time is over; the relay keeps trying");
  if (deliveries.length === 0 || !deliveries.every(hasReached)) context.setExitStatus(1);
}

/** One destination needs no question; before several it asks, since phones may ring. */
async function askWhether({ context }: RelayRun, client: RelayClient, id: string): Promise<void> {
  const { deliveries } = await client.findAlert({ id });
  const names = new Set(standingDeliveries(deliveries, hasSeveralRecipients).map(({ destination }) => destination));
  if (names.size > 1) await askFirst(context, `Resend it to ${names.size} destinations: ${[...names].join(", ")}?`);
}

function namesOf(deliveries: { destination: string }[]): string {
  return [...new Set(deliveries.map(({ destination }) => destination))].join(", ");
}
