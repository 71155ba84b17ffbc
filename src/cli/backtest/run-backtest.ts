import type { Client } from "../../contract/client.ts";
import { toIso } from "../../contract/encode.ts";
import type { AlertDetailView } from "../../contract/operations.ts";
import { isMadeAtRuntime } from "../../core/rules.ts";
import type { Tally } from "../../explain/backtest.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { factsOf, type Panel, paragraph, type Section, say, tableOf } from "../../panels/panel.ts";
import { findEach, walkLog } from "../alerts/filters.ts";
import { type RelayRun, readConfig, withClient, withConfig } from "../relay/connect-relay.ts";
import { toSeconds } from "../shell/instants.ts";

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
  const span = `${toSeconds(fromAt)} to ${toSeconds(toAt)}`;
  await output.result(data, () => tallyPanel(tally, span, file));
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

function tallyPanel(tally: Tally, span: string, file: string): Panel {
  const { alerts, changed, unmatched, dropped, muted, destinations, mapping = [] } = tally;
  if (alerts === 0) return [paragraph`No alerts of senders were stored from ${span}.`];
  const count = ({ before, after }: Tally["muted"]) => `before ${before}, after ${after}`;
  return [
    paragraph`${countOf(alerts, "alert")} from ${span}; ${changed} would have gone elsewhere by ${file}.`,
    tableOf(destinations, {
      destination: ({ destination }) => destination,
      before: (one) => one.before,
      after: (one) => one.after,
      "newly sent": ({ newlySent }) => newlySent,
      "no longer sent": ({ noLongerSent }) => noLongerSent,
    }),
    factsOf([
      ["wanted by no route", count(unmatched)],
      ["dropped on purpose", count(dropped)],
      ["muted", count(muted)],
      ...mapping.map(({ fact, found }) => [`${fact} by mapping`, say`in ${found}, else guessed`] as const),
    ]),
    ...ringingSections(tally.ringing),
    examplesTable("Newly sent, for example:", tally.newlySent),
    examplesTable("No longer sent, for example:", tally.noLongerSent),
  ];
}

function ringingSections({ places, proposals, judgedFrom }: Tally["ringing"]): (Section | false)[] {
  type Count = Tally["ringing"]["places"][number] | Tally["ringing"]["proposals"][number];
  const worst = ({ heldBack, worst }: Count) => {
    if (heldBack === 0) return "";
    return worst === undefined ? "nothing further" : `${worst.change} at ${toSeconds(Date.parse(worst.receivedAt))}`;
  };
  return [
    tableOf(
      places,
      {
        destination: ({ destination }) => destination,
        route: ({ route }) => route,
        firing: ({ alerts }) => alerts,
        rings: ({ rings }) => rings,
        "held back": ({ heldBack }) => heldBack,
        "wait for others": ({ joined }) => joined ?? "",
        "the furthest held": worst,
      },
      { title: `What would ring, where people read${judgedFrom ? `, of the alerts since ${judgedFrom}` : ""}:` },
    ),
    tableOf(
      proposals,
      {
        route: ({ route }) => route,
        "would have rung": ({ rings }) => rings,
        "instead of": ({ insteadOf }) => insteadOf,
        "the furthest held": worst,
        with: ({ options }) => options,
      },
      { title: "Options that would have rung less:", keep: ["with"] },
    ),
  ];
}

function examplesTable(title: string, examples: Tally["newlySent"]): Section | false {
  const columns = {
    "received (UTC)": ({ receivedAt }) => toSeconds(Date.parse(receivedAt)),
    destination: ({ destination }) => destination,
    alert: (example) => example.title,
    because: ({ reason }) => reason,
    id: ({ id }) => id,
  } satisfies Record<string, (example: Tally["newlySent"][number]) => string>;
  return tableOf(examples, columns, { title, keep: ["received (UTC)", "id"] });
}
