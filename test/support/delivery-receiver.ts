import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { listenOnLoopback } from "./loopback.ts";

/** One outgoing webhook as it arrived. */
export interface Received {
  alertIds: string[];
  markedRepeat: boolean;
  webhookId: string;
}

/** A receiver of outgoing webhooks that takes its time, so that a kill finds deliveries in flight. */
export async function createDeliveryReceiver(options: { longestMs: number; random: () => number }) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { data } = (await json(request)) as { data: { alerts: { id: string }[]; repeat: boolean } };
    received.push({
      alertIds: data.alerts.map(({ id }) => id),
      markedRepeat: data.repeat,
      webhookId: String(request.headers["webhook-id"]),
    });
    setTimeout(() => response.writeHead(204).end(), options.random() * options.longestMs);
  });
  const { url } = await listenOnLoopback(server);
  /** Each as often as it came, in their order. */
  const arrived = () => received.flatMap(({ alertIds }) => alertIds);
  return { url, received, arrived };
}
