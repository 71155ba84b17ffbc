import { setImmediate as nextTurn } from "node:timers/promises";
import type { Client } from "../../contract/client.ts";
import { toIso } from "../../contract/encode.ts";
import type { AlertDetailView } from "../../contract/operations.ts";
import type { Translation } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { type MappableFact, mappableFacts } from "../../core/mapping.ts";
import type { BodyReader, BodyReading, StoredBody } from "../../core/ports/body-reader.ts";
import { isMadeAtRuntime, isShownByOther, type Mute } from "../../core/rules.ts";
import type { Router, RoutingResult } from "../../routing/router.ts";
import { maxPageSize } from "../alerts/filters.ts";
import { bodyOf } from "../alerts/show.ts";
import { type RelayRun, withConfig } from "../relay/connect-relay.ts";
import { unlessMissing } from "../relay/relay-client.ts";
import { withClient } from "../relay/with-client.ts";
import { formatTally } from "./format-tally.ts";
import { createTallyBook } from "./tally.ts";

export interface BacktestOptions {
  config: string;
  /** Milliseconds. */
  last: number;
  limit?: number;
}

/** Alerts that are asked for at a time: the answers come one after another while few of them are in memory. */
const askedAhead = 4;

/**
 * Asks the running relay for its log page by page, or reads the database that it left. Alerts are routed as at the
 * time they came, with the mutes of that time.
 */
export async function runBacktest(
  base: RelayRun,
  { config: file, last, limit = Number.POSITIVE_INFINITY }: BacktestOptions,
): Promise<void> {
  const run = withConfig(base, file);
  const { context, output } = run;
  const { loadConfig } = await import("../../config/load-config.ts");
  const { createProcessing } = await import("../../explain/processing.ts");
  const config = loadConfig({ env: context.env, cwd: context.cwd });
  const { readingThreadEntry } = context;
  const { reader, router } = createProcessing(config, { readingThreadEntry, advises: true });
  const read = rememberLast(reader);
  const book = createTallyBook(config.rules.routes);
  const mapped: Partial<Record<MappableFact, number>> = {};
  const toAt = context.now();
  const fromAt = toAt - last;
  await withClient(run, async (client) => {
    const mutes = (await client.listMutes({ ended: "true" })).filter(isMadeAtRuntime);
    for await (const alert of walkAlerts(client, fromAt, limit, context.signal)) {
      const rerouted = await reroute(router, alert, mutes, read);
      if (rerouted === undefined) continue;
      book.add(alert, rerouted.title, rerouted.result);
      for (const fact of mappableFacts)
        if (rerouted.mapped?.[fact] !== undefined) mapped[fact] = (mapped[fact] ?? 0) + 1;
      await output.progress.update(`back to ${toIso(alert.receivedAt)}`);
    }
  }).finally(() => reader.close());
  const tally = book.close();
  const facts = mappableFacts.filter((fact) => config.mapping[fact] !== undefined);
  const mapping = facts.map((fact) => ({ fact, found: mapped[fact] ?? 0 }));
  const data = {
    configuration: config.configFile,
    from: new Date(fromAt).toISOString(),
    to: new Date(toAt).toISOString(),
    ...tally,
    ...(facts.length > 0 && { mapping }),
  };
  await output.result(data, () => formatTally(tally, output, { fromAt, toAt, file, mapping }));
}

/**
 * Alerts of senders that have been routed, newest first. Tests and notices follow rules of their own, and repeats
 * none.
 */
async function* walkAlerts(
  client: Client,
  fromAt: number,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<AlertDetailView> {
  let left = limit;
  let cursor: string | undefined;
  do {
    const page = await client.listAlerts({ from: fromAt, limit: maxPageSize, cursor });
    const routed = page.data.filter(
      ({ origin, routedAt, repeatOf }) => origin === "hook" && routedAt !== null && repeatOf === undefined,
    );
    const wanted = routed.slice(0, left);
    for (let start = 0; start < wanted.length; start += askedAhead) {
      // A database file is read in this thread, so that without this Ctrl-C would wait for the end.
      await nextTurn();
      signal.throwIfAborted();
      const some = wanted.slice(start, start + askedAhead);
      for (const alert of await Promise.all(some.map(({ id }) => unlessMissing(client.findAlert({ id })))))
        if (alert !== undefined) yield alert;
    }
    left -= wanted.length;
    cursor = page.meta.nextCursor ?? undefined;
  } while (cursor !== undefined && left > 0);
}

/** Undefined for what no route decides about: another alert's message shows it. */
async function reroute(
  router: Router,
  alert: AlertDetailView,
  mutes: Mute[],
  read: (stored: StoredBody) => Promise<BodyReading>,
): Promise<{ title: string; result: RoutingResult; mapped?: Translation["mapped"] } | undefined> {
  const { request, origin, source, routedAt, title } = alert;
  const body = bodyOf(alert);
  if (request === null || body === undefined) return undefined;
  if (isShownByOther(alert.decisions)) return undefined;
  const at = routedAt ?? alert.receivedAt;
  const sendUnjudged = (why: string) => ({
    title: title ?? "Unreadable alert",
    result: router.routeUnjudged("reading", why, at),
  });
  if (alert.facts?.format === "unreadable") return sendUnjudged("it failed when it arrived");
  const reading = await read({ body, contentType: request.contentType, source });
  if (reading.kind === "not_read") throw new AppError("failed", `alerts cannot be read: ${reading.reason}`);
  if (reading.kind === "unreadable") return sendUnjudged(reading.reason);
  const translation = reading.translations[request.item - 1];
  if (translation === undefined) return undefined;
  const { facts, payload, mapped } = translation;
  return { title: facts.title, result: router.route({ facts, payload, origin }, mutes, at), mapped };
}

/** The alerts of a batch stand one after another in the log; its body is read once for all of them. */
function rememberLast(reader: BodyReader): (stored: StoredBody) => Promise<BodyReading> {
  let last: { stored: StoredBody; reading: BodyReading } | undefined;
  return async (stored) => {
    if (last === undefined || !isSameBody(last.stored, stored)) {
      const [reading] = await reader.read([stored]);
      last = { stored, reading: reading as BodyReading };
    }
    return last.reading;
  };
}

function isSameBody(a: StoredBody, b: StoredBody): boolean {
  return a.contentType === b.contentType && a.source === b.source && Buffer.compare(a.body, b.body) === 0;
}
