import type { Client } from "../../contract/client.ts";
import { toIso } from "../../contract/encode.ts";
import type { AlertDetailView } from "../../contract/operations.ts";
import { isMadeAtRuntime } from "../../core/rules.ts";
import { tallyPanel } from "../../panels/backtest.ts";
import { findEach, walkLog } from "../alerts/filters.ts";
import { type RelayRun, readConfig, withClient, withConfig } from "../relay/connect-relay.ts";

export interface BacktestOptions {
  config: string;
  /** Milliseconds. */
  last: number;
  limit?: number;
}

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
  const { createProcessing } = await import("../../explain/processing.ts");
  const { createBacktest } = await import("../../explain/backtest.ts");
  const config = await readConfig(context);
  const { readingThreadEntry } = context;
  const { reader, router } = createProcessing(config, { readingThreadEntry, advises: true });
  const toAt = context.now();
  const fromAt = toAt - last;
  const tally = await withClient(run, async (client) => {
    const mutes = (await client.listMutes({ ended: "true" })).filter(isMadeAtRuntime);
    const backtest = createBacktest({ ...config, ...config.rules, reader, router, mutes });
    for await (const alert of walkAlerts(client, fromAt, limit, context.signal)) {
      await backtest.add(alert);
      await output.progress.update(`back to ${toIso(alert.receivedAt)}`);
    }
    return backtest.tally();
  }).finally(() => reader.close());
  const data = { configuration: config.configFile, from: toIso(fromAt), to: toIso(toAt), ...tally };
  await output.result(data, () => tallyPanel(tally, { fromAt, toAt, file }));
}

/** Alerts of senders that have been routed, newest first. Tests and notices follow rules of their own, and repeats none. */
async function* walkAlerts(
  client: Client,
  from: number,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<AlertDetailView> {
  let left = limit;
  for await (const { data } of walkLog(client, { from }, signal)) {
    const routed = data.filter(
      ({ origin, routedAt, repeatOf }) => origin === "hook" && routedAt !== null && repeatOf === undefined,
    );
    yield* findEach(client, routed.slice(0, left), signal);
    left -= routed.length;
    if (left <= 0) return;
  }
}
