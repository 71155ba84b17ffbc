import { setImmediate as nextTurn } from "node:timers/promises";
import type { Translation } from "../../core/alert.ts";
import type { AlertDetail, Store } from "../../core/store.ts";
import type { CliContext } from "../context.ts";
import { openDatabaseFile } from "../open-database-file.ts";
import type { Output } from "../output.ts";
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
  const { translateRequest } = await import("../../intake/translate.ts");
  const config = loadConfig({ env: { ...context.env, TOCSIN_CONFIG: file }, cwd: context.cwd });
  const { createMissingAdvice } = await import("../../routing/near-path.ts");
  const router = createRouter(config.rules, { adviseOnMissing: createMissingAdvice() });
  const translate = rememberLast(translateRequest);
  const book = createTallyBook(config.rules.routes);
  const toAt = context.now();
  const fromAt = toAt - last;
  const store = await openDatabaseFile(config.dataDir);
  try {
    const mutes = await store.listMutes(toAt, true);
    for await (const alert of walkAlerts(store, fromAt, limit, context.signal)) {
      const translation = translate(alert);
      if (translation === undefined) continue;
      const { facts, payload } = translation;
      const { origin, receivedAt } = alert;
      const rerouted = router.route(
        { facts, payload, origin, receivedAt },
        mutes,
        alert.routedAt ?? receivedAt,
      );
      book.add(alert, facts.title, rerouted);
      await output.progress.update(`back to ${new Date(receivedAt).toISOString()}`);
    }
  } finally {
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

type Translate = (body: Uint8Array, contentType: string | undefined) => Translation[];

/** The alerts of a batch stand one after another in the log; its body is read once for all of them. */
function rememberLast(translate: Translate): (alert: AlertDetail) => Translation | undefined {
  let body: Buffer | undefined;
  let contentType: string | undefined;
  let translations: Translation[] = [];
  return ({ request }) => {
    if (request === undefined) return undefined;
    const isSame = body?.equals(request.body) === true && contentType === request.contentType;
    if (!isSame) {
      body = Buffer.from(request.body);
      contentType = request.contentType;
      translations = translate(request.body, contentType);
    }
    return translations[request.item];
  };
}
