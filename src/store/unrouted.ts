import type { AlertOrigin } from "../core/alert.ts";
import type { UnroutedRequest } from "../core/ports/routing-desk.ts";

export interface UnroutedRow {
  seq: number;
  id: string;
  request_seq: number;
  item: number;
  origin: AlertOrigin;
  source: string | null;
  received_at: number;
  route_failures: number;
  routing_error: string | null;
}

export const unroutedColumns = "seq, id, request_seq, item, origin, source, received_at, route_failures, routing_error";

/**
 * Alerts that wait for routing, by their requests.
 *
 * @param open is asked with the first alert of each request. Undefined: no more of them are listed
 */
export function toUnrouted<Listed extends UnroutedRow>(
  rows: readonly Listed[],
  open: (row: Listed) => Pick<UnroutedRequest, "contentType" | "body"> | undefined,
): UnroutedRequest[] {
  const requests = new Map<number, UnroutedRequest>();
  for (const row of rows) {
    let request = requests.get(row.request_seq);
    if (request === undefined) {
      const opened = open(row);
      if (opened === undefined) break;
      request = { ...opened, ...(row.source !== null && { source: row.source }), alerts: [] };
      requests.set(row.request_seq, request);
    }
    request.alerts.push({
      seq: row.seq,
      id: row.id,
      item: row.item,
      origin: row.origin,
      receivedAt: row.received_at,
      failures: row.route_failures,
      ...(row.routing_error !== null && { error: row.routing_error }),
    });
  }
  return [...requests.values()];
}
