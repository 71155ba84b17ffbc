import { connectRelay, type RelayRun } from "../connect-relay.ts";
import { formatOutcomes } from "./outcome-table.ts";
import { hasReached, waitUntilSettled } from "./settle.ts";

export interface ResendOptions {
  to?: string;
  wait?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** `tocsin alerts resend`: once more to where it went, or to the destination named. */
export async function resendAlert(run: RelayRun, id: string, options: ResendOptions): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const startedAt = context.now();
  const made = await client.resend(id, options.to);
  const ids = new Set(made.map((delivery) => delivery.id));
  if (!options.wait) {
    await output.result(
      made,
      () => `Sending it again to ${namesOf(made)}. Follow it with: tocsin alerts show ${id}\n`,
    );
    return;
  }
  const settling = await waitUntilSettled(run, client, id, {
    timeoutMs: options.timeout,
    isWanted: (delivery) => ids.has(delivery.id),
  });
  const deliveries = settling?.deliveries ?? [];
  await output.result(deliveries, () =>
    formatOutcomes(deliveries, output, { startedAt, now: context.now() }),
  );
  if (settling?.timedOut) await output.note("the time ran out; the relay goes on trying");
  if (deliveries.length === 0 || !deliveries.every(hasReached)) context.setExitStatus(1);
}

function namesOf(deliveries: { destination: string }[]): string {
  return [...new Set(deliveries.map(({ destination }) => destination))].join(", ");
}
