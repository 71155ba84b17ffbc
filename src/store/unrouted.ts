import type { UnroutedRequest } from "../core/ports/routing-desk.ts";
import { fromRow } from "./rows.ts";
import type { Row } from "./tables.ts";

const ofAlert = ["seq", "id", "item", "origin", "received_at"] as const;
const columns = [...ofAlert, ...(["request_seq", "source", "route_failures", "routing_error"] as const)];

/** An unrouted alert, whose request still exists. */
export type UnroutedRow = Pick<Row<"alerts">, (typeof columns)[number]> & { request_seq: number };

export const unroutedColumns = columns.join(", ");

/** Waiting alerts by request. `open` gets the first alert of each. Undefined: the list ends before this request. */
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
      ...fromRow<UnroutedRow, (typeof ofAlert)[number]>(row, ofAlert),
      failures: row.route_failures,
      ...(row.routing_error !== null && { error: row.routing_error }),
    });
  }
  return [...requests.values()];
}
