import { AppError } from "../../core/errors.ts";
import { countOf } from "../../ground/text/count-of.ts";
import type { Panel } from "../../panels/panel.ts";
import { factsOf } from "../../panels/sections.ts";
import { command, type GivenOptions, group, type Run } from "../command.ts";
import { duration, flag, instant, list, orNo, pair, text, whole } from "../options.ts";
import {
  accountPanel,
  createLooseTable,
  outputFacts,
  poolPanel,
  pricesPanel,
  showAccount,
  tickerPanel,
} from "./panels.ts";

const chain = text("chain id, e.g. eth, arbitrum, bsc, base", { required: true });
/** Each account sees its own users, subscriptions and metrics. */
const source = text("ask with the account of a source, instead of ALERTING_URL's", { of: "name" });
const showSecrets = flag("show the webhook's address in full");

const alerting = async (run: Run<{ source?: string }>) => (await import("./connect.ts")).connectAlerting(run);
const pricing = async (run: Run) => (await import("./connect.ts")).connectPricing(run);

/** Prints the service's answer: unchanged for machines, as a panel for people. */
async function tell<T>({ output }: Run, asked: Promise<T>, panel: (answer: T) => Panel): Promise<void> {
  const answer = await asked;
  await output.result(answer, () => panel(answer));
}

type Listed = { data: object[]; meta?: Record<string, unknown> | null };

async function tellList({ output }: Run, noun: string, asked: Promise<object[] | Listed>): Promise<void> {
  const answer = await asked;
  const { data, meta }: Listed = Array.isArray(answer) ? { data: answer } : answer;
  await output.result(data, () => createLooseTable(output)(data), meta ?? undefined);
  if (!output.json) await output.note(countOf(data.length, noun));
}

const metricsOptions = {
  chain,
  page: whole("one page of at most 100; with --all the page to begin with (default: the service's first)"),
  all: flag("read every page"),
  token: list("token addresses, separated by commas", { of: "addresses" }),
  pool: list("pool addresses, separated by commas", { of: "addresses" }),
  key: list("metric keys, separated by commas", { of: "keys" }),
  source,
};
export type MetricsOptions = GivenOptions<typeof metricsOptions>;

const historyOptions = {
  from: instant("earliest record: ISO 8601, Unix timestamp, or before now like -6h"),
  to: instant("latest record, written the same way"),
  granularity: text("average the records per bucket; handed to the service as it is", { of: "interval" }),
  svg: text("write the curve as an SVG file too", { of: "file" }),
  png: text("write the curve as a PNG file too", { of: "file" }),
  source,
};
export type HistoryOptions = GivenOptions<typeof historyOptions>;

const assetOptions = {
  asset: text("a manual definition: a JSON file with symbol and tokenMapping", { of: "file" }),
  ticker: pair("follow it by this ticker, e.g. USDT/USD"),
  pool: text("follow it by this pool (with --chain)", { of: "address" }),
  chain: text("the chain of --pool"),
  wait: orNo(
    flag("wait until it can be queried, even when it was added immediately"),
    "do not wait, also when it is still in progress",
  ),
  timeout: duration("how long to wait, e.g. 90s or 5m", { default: "5m" }),
};
export type AddAssetOptions = GivenOptions<typeof assetOptions> & { catalogId?: string };

export const upstream = group({
  name: "upstream",
  summary: "ask the service: account, metrics, history, tokens, prices",
  says: "ask the market-data service itself: account, metrics, history, tokens, prices",
  examples: ["tocsin upstream account", "tocsin upstream metrics --chain eth --json"],
  commands: [
    command({
      name: "account",
      says: "verify the key and show the account",
      options: { showSecrets, source },
      examples: ["tocsin upstream account"],
      run: async (given, run) => {
        const { message, account } = await (await alerting(run)).readAccount(run.context);
        const shown = showAccount(account, given);
        const meta = message === undefined ? undefined : { message };
        await run.output.result(shown, () => accountPanel(shown, message), meta);
      },
    }),
    command({
      name: "outputs",
      says: "show where the account's alerts go: its webhook and its messenger channel",
      options: { showSecrets, source },
      examples: ["tocsin upstream outputs"],
      run: async (given, run) => {
        const { account } = await (await alerting(run)).readAccount(run.context);
        const { alertOutputs } = showAccount(account, given);
        await run.output.result(alertOutputs, () => factsOf(outputFacts(alertOutputs)));
      },
    }),
    command({
      name: "metrics",
      says: "list the metrics of a chain that relate to any of the given tokens or pools, or have one of the keys",
      options: metricsOptions,
      examples: [
        "tocsin upstream metrics --chain eth --token 0xdac17f958d2ee523a2206206994597c13d831ec7",
        "tocsin upstream metrics --chain eth --all --json > metrics.json",
      ],
      run: async (given, run) => (await import("./metrics.ts")).listMetrics(run, given),
    }),
    command({
      name: "history",
      says: "draw the history of a metric (up to 7 days), in the terminal or as a picture",
      args: { key: text("metric key") },
      options: historyOptions,
      check: ({ from, to }, { context }) => {
        if (from === undefined || from < (to ?? context.now())) return undefined;
        return new AppError("usage", "--from must be earlier than --to", {
          hint: "e.g. --from -6h, or --from -2d --to -1d",
        });
      },
      examples: [
        "tocsin upstream history KEY --from -6h",
        "tocsin upstream history KEY --from -7d --granularity 1h --png tvl.png",
      ],
      run: async (given, run) => (await import("./history.ts")).showHistory(run, given),
    }),
    command({
      name: "tokens",
      says: "list the tokens of a chain",
      options: { chain, address: list("only these, separated by commas", { of: "addresses" }), source },
      examples: ["tocsin upstream tokens --chain eth"],
      run: async ({ chain: chainId, address: addresses }, run) =>
        tellList(run, "token", (await alerting(run)).listTokens({ chainId, addresses }, run.context)),
    }),
    command({
      name: "users",
      says: "list the account's users",
      options: { id: list("only these, separated by commas", { of: "ids" }), source },
      examples: ["tocsin upstream users"],
      run: async ({ id: ids }, run) => tellList(run, "user", (await alerting(run)).listUsers({ ids }, run.context)),
    }),
    command({
      name: "subscriptions",
      says: "list which metrics the account's users are subscribed to",
      options: { user: list("only of these users, separated by commas", { of: "ids" }), source },
      examples: ["tocsin upstream subscriptions --user 42"],
      run: async ({ user: userIds }, run) =>
        tellList(run, "subscription", (await alerting(run)).listSubscriptions({ userIds }, run.context)),
    }),
    command({
      name: "pool",
      says: "show a liquidity pool now: value locked, tokens, volume, prices",
      args: { address: text("the pool's contract address") },
      options: { chain },
      examples: ["tocsin upstream pool 0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640 --chain eth"],
      run: async ({ address, chain: chainId }, run) =>
        tell(run, (await pricing(run)).readPoolState({ address, chainId }, run.context), poolPanel),
    }),
    command({
      name: "ticker",
      says: "show the price of a pair on centralized and decentralized markets",
      args: { pair: pair("BASE/USD; the service quotes in USD only") },
      examples: ["tocsin upstream ticker ETH/USD"],
      run: async (given, run) => tell(run, (await pricing(run)).readTicker(given.pair, run.context), tickerPanel),
    }),
    group({
      name: "equities",
      says: "list equities, and show their prices",
      examples: ["tocsin upstream equities price AAPL,MSFT"],
      commands: [
        command({
          name: "symbols",
          says: "list the supported equities",
          examples: ["tocsin upstream equities symbols"],
          run: async (_, run) => tellList(run, "symbol", (await pricing(run)).listEquitySymbols(run.context)),
        }),
        command({
          name: "price",
          says: "show current prices (where to ask is not documented: PRICING_EQUITIES_PRICE_PATH sets it)",
          args: { symbols: list("separated by commas") },
          examples: ["tocsin upstream equities price AAPL,MSFT"],
          run: async ({ symbols }, run) => {
            const asked = (await pricing(run)).readEquityPrices(symbols, run.context);
            await tell(run, asked, pricesPanel);
            const answered = (await asked).map(({ symbol }) => symbol);
            const missing = symbols.filter((symbol) => !answered.some((one) => isSameSymbol(one, symbol)));
            if (missing.length > 0) await run.output.note(`no price for ${missing.join(", ")}`);
          },
        }),
      ],
    }),
    group({
      name: "assets",
      says: "register assets with the pricing interface",
      examples: ["tocsin upstream assets add tether"],
      commands: [
        command({
          name: "add",
          says: "register an asset; one that takes longer is followed until it can be queried",
          args: { catalogId: text("its identifier in the external catalogue", { optional: true }) },
          options: assetOptions,
          check({ catalogId, asset, pool, chain: ofPool }) {
            if (catalogId === undefined && asset === undefined)
              return "give a catalogue id, or a definition with --asset FILE";
            return (pool === undefined) === (ofPool === undefined) ? undefined : "--pool and --chain go together";
          },
          examples: [
            "tocsin upstream assets add tether --ticker USDT/USD",
            "tocsin upstream assets add --asset token.json --wait",
          ],
          run: async (given, run) => (await import("./assets.ts")).addAsset(run, given),
        }),
      ],
    }),
  ],
});

/** The answer's symbol is "exchange-qualified": `XNAS:AAPL` or `AAPL.US` answers `AAPL`. */
function isSameSymbol(qualified: string, asked: string): boolean {
  const [given, wanted] = [qualified.toUpperCase(), asked.toUpperCase()];
  const isPart = given.endsWith(`:${wanted}`) || given.startsWith(`${wanted}.`) || given.startsWith(`${wanted}:`);
  return given === wanted || isPart;
}
