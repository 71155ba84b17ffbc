// The schemas of it can be described for the API document, whichever module is loaded first.
import { z } from "@hono/zod-openapi";
import { severities } from "../core/alert.ts";
import { deliveryStates, failedStates } from "../core/delivery.ts";
import { AppError } from "../core/errors.ts";
import type { FailedFilter } from "../core/operations.ts";
import type { AlertLog, AlertQuery, AlertSummary, Position } from "../core/ports/alert-log.ts";

/** The hint of what is refused in an address or a body. */
export const describedAt = "The parameters and bodies are described at /api.";

export const defaultPageSize = 50;
export const maxPageSize = 200;

/** What `state` may be: a state of at least one delivery, or of the alert itself. */
export const stateFilters = [...deliveryStates, "unmatched", "dropped", "repeat", "unrouted"] as const;

const instant = z.iso
  .datetime({ offset: true, error: "must be a time in ISO 8601 with its zone, e.g. 2026-11-21T14:00:00Z" })
  .transform((text) => Date.parse(text));

/** The filters of the log, as they stand in an address. */
export const alertFilters = z.object({
  q: z.string().max(500, "must be at most 500 characters").optional(),
  severity: z.enum(severities, { error: `must be one of ${severities.join(", ")}` }).optional(),
  state: z.enum(stateFilters, { error: `must be one of ${stateFilters.join(", ")}` }).optional(),
  destination: z.string().min(1, "must name a destination").max(200).optional(),
  source: z.string().min(1, "must name a source").max(200).optional(),
  from: instant.optional(),
  to: instant.optional(),
});
export type AlertFilters = z.infer<typeof alertFilters>;

/** What of the log is to be resent: its filters, of the states only those that failed. */
export const failedFilters = alertFilters.extend({
  state: z.enum(failedStates, { error: `must be one of ${failedStates.join(", ")}` }).optional(),
  failedUntil: instant.optional(),
});
export type FailedFilters = z.infer<typeof failedFilters>;

export function toFailedFilter(filters: FailedFilters): FailedFilter {
  const { from, to, ...others } = filters;
  return { ...others, fromAt: from, toAt: to };
}

/**
 * The cursor of an address: the position of the last alert of a page.
 *
 * @throws AppError `invalid_request` for what is none.
 */
export function readCursor(store: Pick<AlertLog, "isPosition">, text: string | undefined): Position | undefined {
  if (text === undefined || store.isPosition(text)) return text;
  throw new AppError("invalid_request", "cursor is not a cursor; take meta.nextCursor of the answer before.", {
    hint: describedAt,
  });
}

export const limitSchema = z.coerce
  .number({ error: `must be a whole number from 1 to ${maxPageSize}` })
  .int(`must be a whole number from 1 to ${maxPageSize}`)
  .min(1, `must be at least 1`)
  .max(maxPageSize, `must be at most ${maxPageSize}`)
  .optional();

export interface AlertPage {
  alerts: AlertSummary[];
  /** Position to go on from; absent at the end of the log. */
  nextCursor?: Position;
  /** The page is not full though the log goes on: alerts older than this were not looked at yet. */
  searchedTo?: number;
}

/** Whoever asked waits for the page, and other readers for their turn. */
const mostListMs = 40;

/** One keyset page, newest first. Asks for one more than it returns, to know whether more follow. */
export async function listAlertPage(
  store: Pick<AlertLog, "listAlertsWithin">,
  filters: AlertFilters,
  page: { limit?: number; cursor?: Position },
): Promise<AlertPage> {
  const limit = page.limit ?? defaultPageSize;
  const query: AlertQuery = {
    limit: limit + 1,
    before: page.cursor,
    q: filters.q,
    severity: filters.severity,
    state: filters.state,
    destination: filters.destination,
    source: filters.source,
    fromAt: filters.from,
    toAt: filters.to,
  };
  const { alerts: found, stopped } = await store.listAlertsWithin(query, mostListMs);
  const alerts = found.slice(0, limit);
  if (found.length > limit) return { alerts, nextCursor: alerts.at(-1)?.position };
  return { alerts, nextCursor: stopped?.position, searchedTo: stopped?.receivedAt };
}
