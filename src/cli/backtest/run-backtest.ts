import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError } from "../../core/errors.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import type { BodyReader, BodyReading } from "../../core/ports/body-reader.ts";
import type { Store } from "../../core/ports/store.ts";
import type { Mute } from "../../core/rules.ts";
import type { Router, RoutingResult } from "../../routing/router.ts";
import { openDatabaseFile } from "../relay/open-database-file.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { formatTally } from "./format-tally.ts";
import { createTallyBook, type Example } from "./tally.ts";

export interface BacktestOptions {
  config: string;
  /** Milliseconds. */
  last: number;
  limit?: number;
}

const pageSize = 100;

/**
 * Reads the database file itself, whether the relay runs or not: asking for each alert over the API would take the relay's time.
 * Alerts are routed as at the time they came, with the mutes of that time.
 */
export async function runBacktest(
  context: CliContext,
  output: Output,
  { config: file, last, limit = Number.POSITIVE_INFINITY }: BacktestOptions,
): Promise<void> {
  const { loadConfig } = await import("../../config/load-config.ts");
  const { createRouter } = await import("../../routing/router.ts");
  const { createBodyReader } = await import("../../intake/thread/body-reader.ts");
  const config = loadConfig({ env: { ...context.env, TOCSIN_CONFIG: file }, cwd: context.cwd });
  const { createMissingAdvice } = await import("../../routing/near-path.ts");
  const router = createRouter(config.rules, { adviseOnMissing: createMissingAdvice() });
  const { maxBodyBytes } = config.intake;
  const reader = createBodyReader({ entry: context.readingThreadEntry, maxBodyBytes });
  const read = rememberLast(reader);
  const book = createTallyBook(config.rules.routes);
  const toAt = context.now();
  const fromAt = toAt - last;
  const store = await openDatabaseFile(config.dataDir).catch(async (error: unknown) => {
    await reader.close();
    throw error;
  });
  try {
    const mutes = await store.listMutes(toAt, true);
    for await (const alert of walkAlerts(store, fromAt, limit, context.signal)) {
      const rerouted = await reroute(router, alert, mutes, read);
      if (rerouted === undefined) continue;
      book.add(alert, rerouted.title, rerouted.result);
      await output.progress.update(`back to ${new Date(alert.receivedAt).toISOString()}`);
    }
  } finally {
    await reader.close();
    await store.close();
  }
  const tally = book.close();
  const toWire = (example: Example) => ({
    ...example,
    receivedAt: new Date(example.receivedAt).toISOString(),
  });
  const data = {
    configuration: config.configFile,
    from: new Date(fromAt).toISOString(),
    to: new Date(toAt).toISOString(),
    ...tally,
    newlySent: tally.newlySent.map(toWire),
    noLongerSent: tally.noLongerSent.map(toWire),
  };
  await output.result(data, () => formatTally(tally, output, { fromAt, toAt, file }));
}

/** Alerts of senders that have been routed, newest first. Tests and notices follow rules of their own. */
async function* walkAlerts(
  store: Store,
  fromAt: number,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<AlertDetail> {
  let beforeSeq: number | undefined;
  let count = 0;
  for (;;) {
    // The store answers in this thread, so that without this Ctrl-C would wait for the end.
    await nextTurn();
    signal.throwIfAborted();
    const page = await store.listAlerts({ limit: pageSize, beforeSeq, fromAt });
    for (const { id, origin, routedAt } of page) {
      if (origin !== "hook" || routedAt === undefined) continue;
      if (count >= limit) return;
      count += 1;
      const alert = await store.getAlert(id);
      if (alert !== undefined) yield alert;
    }
    if (page.length < pageSize) return;
    beforeSeq = page.at(-1)?.seq;
  }
}

/** Undefined for what no route decides about: another alert's message shows it. */
async function reroute(
  router: Router,
  alert: AlertDetail,
  mutes: Mute[],
  read: (request: NonNullable<AlertDetail["request"]>) => Promise<BodyReading>,
): Promise<{ title: string; result: RoutingResult } | undefined> {
  const { request, origin, receivedAt, facts: known } = alert;
  if (request === undefined || alert.decisions.some(({ result }) => result === "contained")) return undefined;
  const at = alert.routedAt ?? receivedAt;
  const sendUnjudged = (reason: string) => ({
    title: known?.title ?? "Unreadable alert",
    result: router.routeUnjudged(`could not be read: ${reason}; sent as it came`, at),
  });
  if (known?.format === "unreadable") return sendUnjudged("it failed when it came");
  const reading = await read(request);
  if (reading.kind === "not_read") throw new AppError("failed", `alerts cannot be read: ${reading.reason}`);
  if (reading.kind === "unreadable") return sendUnjudged(reading.reason);
  const translation = reading.translations[request.item];
  if (translation === undefined) return undefined;
  const { facts, payload } = translation;
  return { title: facts.title, result: router.route({ facts, payload, origin, receivedAt }, mutes, at) };
}

/** The alerts of a batch stand one after another in the log; its body is read once for all of them. */
function rememberLast(
  reader: BodyReader,
): (request: NonNullable<AlertDetail["request"]>) => Promise<BodyReading> {
  let last: { body: Buffer; contentType: string | undefined; reading: BodyReading } | undefined;
  return async ({ body, contentType }) => {
    if (last === undefined || !last.body.equals(body) || last.contentType !== contentType) {
      const [reading] = await reader.read([{ body, contentType }]);
      last = { body: Buffer.from(body), contentType, reading: reading as BodyReading };
    }
    return last.reading;
  };
}
