import { setTimeout } from "node:timers/promises";
import { startFakeService } from "../upstream/fake-service.ts";

/** One outgoing webhook as it arrived. */
export type Received = { alertIds: string[]; markedRepeat: boolean; webhookId: string };

/** A receiver of outgoing webhooks that takes its time, so that a kill finds deliveries in flight. */
export async function createDeliveryReceiver(options: { longestMs: number; random: () => number }) {
  const received: Received[] = [];
  const { url } = await startFakeService(async ({ body, headers }) => {
    const { data } = JSON.parse(body) as { data: { alerts: { id: string }[]; repeat: boolean } };
    const alertIds = data.alerts.map(({ id }) => id);
    received.push({ alertIds, markedRepeat: data.repeat, webhookId: String(headers["webhook-id"]) });
    await setTimeout(options.random() * options.longestMs);
    return { status: 204, text: "" };
  });
  /** Each as often as it came, in their order. */
  const arrived = () => received.flatMap(({ alertIds }) => alertIds);
  return { url, received, arrived };
}
