import { setImmediate as nextTurn } from "node:timers/promises";
import type { Client } from "../../contract/client.ts";
import { toIso } from "../../contract/encode.ts";
import { isMadeAtRuntime } from "../../core/rules.ts";
import { tallyPanel } from "../../panels/backtest.ts";
import type { LeftLog } from "../../start/open-left.ts";
import { findEach, walkLog } from "../alerts/alerts.ts";
import { type RelayRun, readConfig, withClient, withConfig } from "../relay/connect-relay.ts";
import type { BacktestOptions } from "./backtest.ts";

/** Reads the database here, or else asks the relay alert by alert. Alerts are routed with the mutes of their time. */
export async function runBacktest(
  base: RelayRun,
  { config: file, last, limit = Number.POSITIVE_INFINITY }: BacktestOptions,
): Promise<void> {
  const run = withConfig(base, file);
  const { context, output } = run;
  const { createProcessing } = await import("../../explain/processing.ts");
  const { Backtest } = await import("../../explain/backtest.ts");
  const { packPast, walkPast } = await import("../../explain/past-pages.ts");
  const config = await readConfig(context);
  const { readingThreadEntry } = context;
  const { reader, router } = createProcessing(config, { readingThreadEntry, advises: true });
  const toAt = context.now();
  const fromAt = toAt - last;
  async function walk(client: Client, database?: LeftLog) {
    const mutes = (await client.listMutes({ ended: "true" })).filter(isMadeAtRuntime);
    const backtest = new Backtest({ ...config, reader, router, mutes });
    const pages = database
      ? walkPast(database.store, { fromAt, most: limit })
      : packPast(walkAlerts(client, fromAt, limit, context.signal));
    for await (const page of pages) {
      await backtest.add(page);
      await output.progress.update(`back to ${toIso(page.at(-1)?.receivedAt ?? fromAt)}`);
      // A database file is read in this thread, so without this Ctrl-C would wait for the end.
      await nextTurn();
      context.signal.throwIfAborted();
    }
    return backtest.tally(limit);
  }
  const tally = await withClient(run, walk, { readsMuch: true }).finally(() => reader.close());
  const data = { configuration: config.configFile, from: toIso(fromAt), to: toIso(toAt), ...tally };
  await output.result(data, () => tallyPanel(tally, { fromAt, toAt, file }));
}

/** Only alerts of senders: tests and notices have their own rules, and repeats have none. */
async function* walkAlerts(client: Client, from: number, limit: number, signal: AbortSignal) {
  let left = limit;
  for await (const { data } of walkLog(client, { from }, signal)) {
    const routed = data.filter((one) => one.origin === "hook" && one.routedAt !== null && one.repeatOf === undefined);
    yield* findEach(client, routed.slice(0, left), signal);
    left -= routed.length;
    if (left <= 0) return;
  }
}
