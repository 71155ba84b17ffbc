import { type Command, InvalidArgumentError, Option } from "commander";
import type { AlertFilters } from "../../contract/alert-query.ts";
import { severities } from "../../core/alert.ts";
import { deliveryStates } from "../../core/delivery.ts";
import { parseInstant } from "../options.ts";
import type { AlertLog } from "../relay/alert-log.ts";
import type { AlertOnWire } from "../relay/relay-client.ts";
import type { CliContext } from "../shell/context.ts";

/** Adds the filters of the log; what they are given is read as the API wants it. */
export function addFilterOptions(command: Command, context: CliContext): Command {
  return command
    .option(
      "-q, --q <words>",
      'words, a "phrase", or fields: token:USDC severity:critical value>1000000 route:desk state:failed',
    )
    .addOption(new Option("--severity <severity>", "only of this severity").choices(severities))
    .addOption(
      new Option("--state <state>", "a state of at least one delivery, or of the alert itself").choices([
        ...deliveryStates,
        "problem",
        "unmatched",
        "dropped",
        "repeat",
        "unrouted",
      ]),
    )
    .option("--destination <name>", "only what was to go to this destination")
    .option("--route <name>", "only what went by this route")
    .option("--key <key>", "only alerts with this alert key, as `alerts show` says it")
    .option("--source <name>", "only what arrived at the hook of this source")
    .option("--from <time>", "received at or after: ISO 8601, or e.g. -6h", (text) => parseInstant(text, context.now()))
    .option("--to <time>", "received at or before", (text) => parseInstant(text, context.now()));
}

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

export function parseCursor(text: string): string {
  if (/^\d[\w.-]{0,99}$/.test(text)) return text;
  throw new InvalidArgumentError("give meta.nextCursor of the page before");
}

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
