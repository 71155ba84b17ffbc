import type { AlertFilters } from "../../contract/alert-query.ts";
import { severities } from "../../core/alert.ts";
import { deliveryStates } from "../../core/delivery.ts";
import { choice, instant, text } from "../options.ts";
import type { AlertLog } from "../relay/alert-log.ts";
import type { AlertOnWire } from "../relay/relay-client.ts";

const states = [...deliveryStates, "problem", "unmatched", "dropped", "repeat", "unrouted"] as const;

/** The filters of the log; what they are given is read as the API wants it. */
export const filterOptions = {
  q: text('words, a "phrase", or fields: token:USDC severity:critical value>1000000 route:desk state:failed', {
    short: "q",
    of: "words",
  }),
  severity: choice(severities, "only of this severity"),
  state: choice(states, "a state of at least one delivery, or of the alert itself"),
  destination: text("only what was to go to this destination", { of: "name" }),
  route: text("only what went by this route", { of: "name" }),
  key: text("only alerts with this alert key, as `alerts show` says it"),
  source: text("only what arrived at the hook of this source", { of: "name" }),
  from: instant("received at or after: ISO 8601, or e.g. -6h"),
  to: instant("received at or before"),
};

/** The filters among the options of a command. */
export function pickFilters(options: AlertFilters): AlertFilters {
  const { q, severity, state, destination, route, key, source, from, to } = options;
  return { q, severity, state, destination, route, key, source, from, to };
}

export function isFiltered(filters: AlertFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

/** Of the API. Stated here as well, because the help must not load the schemas. */
export const maxPageSize = 200;

interface AlertPage {
  alerts: AlertOnWire[];
  /** What the next call goes on from; absent at the end of the log. */
  nextCursor?: string;
}

/**
 * A page as full as the log can make it: a relay looks no longer than a moment for alerts that few filters let through,
 * so it is asked to go on.
 */
export async function readFullPage(
  log: Pick<AlertLog, "listAlerts">,
  filters: AlertFilters,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
  signal: AbortSignal,
): Promise<AlertPage> {
  const page: AlertPage = { alerts: [], nextCursor: cursor };
  do {
    signal.throwIfAborted();
    const more = await log.listAlerts({ ...filters, limit: limit - page.alerts.length, cursor: page.nextCursor });
    page.alerts.push(...more.data);
    page.nextCursor = more.meta.nextCursor ?? undefined;
  } while (page.nextCursor !== undefined && page.alerts.length < limit);
  return page;
}
