import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** One outgoing webhook as it arrived. */
export interface Received {
  alertIds: string[];
  markedRepeat: boolean;
  webhookId: string;
}

export interface DeliveryReceiver {
  url: string;
  received: Received[];
}

/** A receiver of outgoing webhooks that takes its time, so that a kill finds deliveries in flight. */
export async function createDeliveryReceiver(options: {
  longestMs: number;
  random: () => number;
}): Promise<DeliveryReceiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const body = JSON.parse(text) as { data: { alerts: { id: string }[]; repeat: boolean } };
      received.push({
        alertIds: body.data.alerts.map(({ id }) => id),
        markedRepeat: body.data.repeat,
        webhookId: String(request.headers["webhook-id"]),
      });
      setTimeout(() => response.writeHead(204).end(), options.random() * options.longestMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}
