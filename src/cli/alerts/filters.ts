import { setImmediate as nextTurn } from "node:timers/promises";
import type { AlertFilters } from "../../contract/alert-query.ts";
import type { Said } from "../../contract/api.ts";
import type { Client } from "../../contract/client.ts";
import type { AlertDetailView, AlertView } from "../../contract/operations.ts";
import { stateFilters } from "../../contract/search-language.ts";
import { severities } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { choice, instant, text } from "../options.ts";
import { unlessMissing } from "../relay/connect-relay.ts";

/** The filters of the log; what they are given is read as the API wants it. */
export const filterOptions = {
  q: text('words, a "phrase", or fields: token:USDC severity:critical value>1000000 route:desk state:failed', {
    short: "q",
    of: "words",
  }),
  severity: choice(severities, "only of this severity"),
  state: choice(stateFilters, "a state of at least one delivery, or of the alert itself"),
  destination: text("only what was to go to this destination", { of: "name" }),
  route: text("only what went by this route", { of: "name" }),
  key: text("only alerts with this alert key, as `alerts show` says it"),
  source: text("only what arrived at the hook of this source", { of: "name" }),
  from: instant("received at or after: ISO 8601, or e.g. -6h"),
  to: instant("received at or before"),
};

/** The filters among the options of a command. */
export function filtersOf(options: AlertFilters): AlertFilters {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name in filterOptions));
}

export function isFiltered(options: AlertFilters): boolean {
  return Object.values(filtersOf(options)).some((value) => value !== undefined);
}

/** For `check` of a command: what is wrong with a search together with the other filters. */
export async function refuseSearch(options: AlertFilters): Promise<AppError | undefined> {
  const { readSearch } = await import("../../contract/alert-query.ts");
  const { q, from: _from, to: _to, ...others } = filtersOf(options);
  const { problems } = readSearch(q, others);
  if (problems.length === 0) return undefined;
  return new AppError("usage", `-q cannot be read: ${problems.join("; ")}`, {
    hint: "what it may say: tocsin alerts list --help",
  });
}

/** The API's bound. It is written here as well, because the help must not load the schemas. */
export const maxPageSize = 200;

/**
 * Page after page, newest first, so that a log of any length needs the memory of one page. A relay looks for a moment only, so that a
 * page has few alerts where the filters find few. `limit`: how many in all.
 */
export async function* walkLog(
  client: Pick<Client, "listAlerts">,
  filters: AlertFilters,
  signal: AbortSignal,
  { limit: left = Number.POSITIVE_INFINITY, cursor }: { limit?: number; cursor?: string } = {},
): AsyncGenerator<Said<"listAlerts">> {
  for (;;) {
    signal.throwIfAborted();
    const page = await client.listAlerts({ ...filters, limit: Math.min(left, maxPageSize), cursor });
    yield page;
    left -= page.data.length;
    if (page.meta.nextCursor === null || left <= 0) return;
    cursor = page.meta.nextCursor;
  }
}

/** As many as there are, in one. */
export async function readFullPage(...asked: Parameters<typeof walkLog>): Promise<Said<"listAlerts">> {
  const all: Said<"listAlerts"> = { data: [], meta: { nextCursor: null } };
  for await (const { data, meta } of walkLog(...asked)) {
    all.data.push(...data);
    all.meta = { nextCursor: meta.nextCursor };
  }
  return all;
}

/**
 * Alerts that are asked for at once. One by one, each waits for the way to the relay and back; more at once may be more bodies
 * than memory holds.
 */
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
