import { setImmediate as nextTurn } from "node:timers/promises";
import type { AlertFilters } from "../../contract/alert-query.ts";
import type { Said } from "../../contract/api.ts";
import type { Client } from "../../contract/client.ts";
import type { AlertDetailView, AlertView } from "../../contract/operations.ts";
import { severities } from "../../core/alert.ts";
import { deliveryStates } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import { choice, instant, text } from "../options.ts";
import { unlessMissing } from "../relay/relay-client.ts";

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
function pickFilters(options: AlertFilters): AlertFilters {
  const { q, severity, state, destination, route, key, source, from, to } = options;
  return { q, severity, state, destination, route, key, source, from, to };
}

export function isFiltered(options: AlertFilters): boolean {
  return Object.values(pickFilters(options)).some((value) => value !== undefined);
}

/** The same, once their search can be read. @throws AppError `usage` */
export async function readFilters(options: AlertFilters): Promise<AlertFilters> {
  const filters = pickFilters(options);
  const { readSearch } = await import("../../contract/alert-query.ts");
  const { q, from, to, ...others } = filters;
  const { problems } = readSearch(q, others);
  if (problems.length === 0) return filters;
  throw new AppError("usage", `-q cannot be read: ${problems.join("; ")}`, {
    hint: "what it may say: tocsin alerts list --help",
  });
}

/** Of the API. Stated here as well, because the help must not load the schemas. */
export const maxPageSize = 200;

/**
 * A page as full as the log can make it: a relay looks no longer than a moment for alerts that few filters let through,
 * so it is asked to go on.
 */
export async function readFullPage(
  client: Pick<Client, "listAlerts">,
  filters: AlertFilters,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
  signal: AbortSignal,
): Promise<Said<"listAlerts">> {
  const data: AlertView[] = [];
  for (let after = cursor; ; ) {
    signal.throwIfAborted();
    const more = await client.listAlerts({ ...filters, limit: limit - data.length, cursor: after });
    data.push(...more.data);
    const { nextCursor } = more.meta;
    if (nextCursor === null || data.length >= limit) return { data, meta: { nextCursor } };
    after = nextCursor;
  }
}

/** Page after page, newest first: a log of any length needs the memory of one page. */
export async function* walkLog(
  client: Pick<Client, "listAlerts">,
  filters: AlertFilters,
  signal: AbortSignal,
): AsyncGenerator<AlertView[]> {
  for (let cursor: string | undefined; ; ) {
    signal.throwIfAborted();
    const { data, meta } = await client.listAlerts({ ...filters, limit: maxPageSize, cursor });
    yield data;
    if (meta.nextCursor === null) return;
    cursor = meta.nextCursor;
  }
}

/** Asked at once: one by one, each waits for the way to the relay and back; more may be more bodies than memory holds. */
const askedAtOnce = 8;

/** All that the log has of each. One that is missing has been removed since its page was read. */
export async function* findEach(
  client: Pick<Client, "findAlert">,
  alerts: readonly AlertView[],
  signal: AbortSignal,
): AsyncGenerator<AlertDetailView> {
  for (let from = 0; from < alerts.length; from += askedAtOnce) {
    // A database file is read in this thread, so that without this Ctrl-C would wait for the end.
    await nextTurn();
    signal.throwIfAborted();
    const asked = alerts.slice(from, from + askedAtOnce).map(({ id }) => unlessMissing(client.findAlert({ id })));
    for (const alert of await Promise.all(asked)) if (alert !== undefined) yield alert;
  }
}
