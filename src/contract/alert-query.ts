import { z } from "zod";
import { severities } from "../core/alert.ts";
import { failedStates } from "../core/delivery.ts";
import { AppError } from "../core/errors.ts";
import type { AlertLog, AlertQuery, AlertSummary, Position } from "../core/ports/alert-log.ts";
import { writtenInstant } from "./encode.ts";
import type { FailedFilter } from "./operations.ts";
import { parseSearch, type Search, stateFilters } from "./search-language.ts";

/** The hint of refused parameters and bodies. */
export const describedAt = "The parameters and bodies are described at /api.";

export const defaultPageSize = 50;
export const maxPageSize = 200;

export const exportFormats = ["csv", "ndjson"] as const;
export type ExportFormat = (typeof exportFormats)[number];

export const trueOrFalse = z.enum(["true", "false"], { error: "must be true or false" }).optional();

export const alertFilters = z.object({
  q: z.string().max(500, "must be at most 500 characters").optional(),
  severity: z.enum(severities, { error: `must be one of ${severities.join(", ")}` }).optional(),
  state: z.enum(stateFilters, { error: `must be one of ${stateFilters.join(", ")}` }).optional(),
  destination: z.string().min(1, "must name a destination").max(200).optional(),
  route: z.string().min(1, "must name a route").max(200).optional(),
  source: z.string().min(1, "must name a source").max(200).optional(),
  key: z.string().min(1, "must be an alert key").max(1000).optional(),
  from: writtenInstant.optional(),
  to: writtenInstant.optional(),
});
export type AlertFilters = z.infer<typeof alertFilters>;

/** The filters of alerts to resend: those of the log, with states that failed only. */
export const failedFilters = alertFilters.extend({
  state: z.enum(failedStates, { error: `must be one of ${failedStates.join(", ")}` }).optional(),
  failedUntil: writtenInstant.optional(),
  mute: z.string().min(1, "must be the id of a mute").max(200).optional(),
  over: trueOrFalse,
});
export type FailedFilters = z.infer<typeof failedFilters>;

/** @throws AppError `invalid_request` for a search that cannot be read, or that repeats a field of the filters */
export function withSearch<F extends Pick<AlertFilters, "q" | "from" | "to">>(
  filters: F,
): Omit<F, "q" | "from" | "to"> & Search & Pick<AlertQuery, "fromAt" | "toAt"> {
  const { q, from, to, ...others } = filters;
  const { search, problems } = readSearch(q, others);
  if (problems.length > 0) {
    throw new AppError("invalid_request", `q cannot be read: ${problems.join("; ")}.`, { hint: describedAt });
  }
  return { ...others, ...search, fromAt: from, toAt: to };
}

export function readSearch(q: string | undefined, filters: object): ReturnType<typeof parseSearch> {
  if (q === undefined) return { search: {}, problems: [] };
  const { search, problems } = parseSearch(q);
  const given = new Map(Object.entries(filters).filter(([, value]) => value !== undefined));
  const twice = Object.keys(search).filter((name) => given.has(name));
  return { search, problems: [...problems, ...twice.map((name) => `${name} is a filter beside the search already`)] };
}

export function toFailedFilter(filters: FailedFilters): FailedFilter {
  const { state, over, ...others } = withSearch(filters);
  const failed = failedStates.find((one) => one === state);
  if (state !== undefined && failed === undefined) {
    throw new AppError("invalid_request", "Only failed and expired can be resent.", { hint: describedAt });
  }
  return { ...others, state: failed, ...(over === "true" && { over: true }) };
}

/** The position of the last alert of a page. @throws AppError `invalid_request` for any other text */
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
  /** The position for the next page. Absent at the end of the log. */
  nextCursor?: Position;
  /** Set when the page is not full though the log continues: older alerts were not searched yet. */
  searchedTo?: number;
  /** About how many alerts were searched in that case. */
  looked?: number;
}

/** The most matches that are counted. Beyond it the page only says "many". */
const mostMatches = 1_000;
/** The time for counting, after the list itself, milliseconds. */
const mostCountMs = 6;

/** `isMore`: the count is a minimum. */
export function countMatches(
  store: Pick<AlertLog, "countMatches">,
  filters: AlertFilters,
  view: Pick<AlertQuery, "newestOfKey"> = {},
): Promise<{ count: number; isMore: boolean }> {
  return store.countMatches({ ...withSearch(filters), ...view, limit: mostMatches }, mostCountMs);
}

/** The time for one page, milliseconds: its reader waits, and so do other readers. */
const mostListMs = 40;

export async function listAlertPage(
  store: Pick<AlertLog, "listAlertsWithin">,
  filters: AlertFilters,
  page: { limit?: number; cursor?: Position; newestOfKey?: boolean },
): Promise<AlertPage> {
  const limit = page.limit ?? defaultPageSize;
  const query: AlertQuery = {
    ...withSearch(filters),
    limit: limit + 1,
    before: page.cursor,
    newestOfKey: page.newestOfKey,
  };
  const { alerts: found, stopped } = await store.listAlertsWithin(query, mostListMs);
  const alerts = found.slice(0, limit);
  if (found.length > limit) return { alerts, nextCursor: alerts.at(-1)?.position };
  return { alerts, nextCursor: stopped?.position, searchedTo: stopped?.receivedAt, looked: stopped?.looked };
}
