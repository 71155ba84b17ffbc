import { AppError } from "../../core/errors.ts";
import { type CommandSpec, command, type Entry, type GivenOptions, group, type Run, together } from "../command.ts";
import { duration, flag, instant, list, orNo, pair, type Readers, text, whole } from "../options.ts";
import { countOf } from "../shell/amounts.ts";

const chain = text("chain id, e.g. eth, arbitrum, bsc, base", { required: true });
/** Each account sees its own users, subscriptions and metrics. */
const source = text("ask with the account of a source, instead of ALERTING_URL's", { of: "name" });
const showSecrets = flag("show the webhook's address in full");

const alerting = async (run: Run<{ source?: string }>) => (await import("./connect.ts")).connectAlerting(run);
const pricing = async (run: Run) => (await import("./connect.ts")).connectPricing(run);

interface Listing<O extends Readers> extends Omit<CommandSpec<Readers, O>, "args" | "run"> {
  /** Of one item. */
  noun: string;
  call(given: GivenOptions<O>, run: Run<GivenOptions<O>>): Promise<Listed | object[]>;
}

interface Listed {
  data: object[];
  meta?: Record<string, unknown> | null;
}

/** A command that prints what is in a list of the service, whatever fields the items have. */
function listing<O extends Readers>({ noun, call, ...spec }: Listing<O>): Entry {
  return command({
    ...spec,
    run: async (given, run) => {
      const answer = await call(given, run);
      const { data, meta }: Listed = Array.isArray(answer) ? { data: answer } : answer;
      const { formatLooseTable } = await import("./loose-table.ts");
      await run.output.result(data, () => formatLooseTable(data, run.output), meta ?? undefined);
      if (!run.output.json) await run.output.note(countOf(data.length, noun));
    },
  });
}

const metricsOptions = {
  chain,
  page: whole("one page of at most 100; with --all the page to begin with (default: the service's first)"),
  all: flag("read every page, in flat memory"),
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

const equities = group({
  name: "equities",
  says: "equities: which there are, and their prices",
  examples: ["tocsin upstream equities price AAPL,MSFT"],
  commands: [
    listing({
      name: "symbols",
      says: "list the supported equities",
      examples: ["tocsin upstream equities symbols"],
      noun: "symbol",
      call: async (_, run) => (await pricing(run)).listEquitySymbols({ signal: run.context.signal }),
    }),
    command({
      name: "price",
      says: "show current prices (where to ask is not documented: PRICING_EQUITIES_PRICE_PATH sets it)",
      args: { symbols: list("separated by commas") },
      examples: ["tocsin upstream equities price AAPL,MSFT"],
      run: async ({ symbols }, run) => (await import("./prices.ts")).showEquityPrices(run, symbols),
    }),
  ],
});

const assets = group({
  name: "assets",
  says: "register assets with the pricing interface",
  examples: ["tocsin upstream assets add tether"],
  commands: [
    command({
      name: "add",
      says: "register an asset; one that takes longer is followed until it can be queried",
      args: { catalogId: text("its identifier in the external catalogue", { optional: true }) },
      options: assetOptions,
      check: together("pool", "chain"),
      examples: [
        "tocsin upstream assets add tether --ticker USDT/USD",
        "tocsin upstream assets add --asset token.json --wait",
      ],
      run: async (given, run) => (await import("./assets.ts")).addAsset(run, given),
    }),
  ],
});

/** `tocsin upstream …`: every read endpoint of the market-data service, and asset registration. */
export const upstream = group({
  name: "upstream",
  summary: "ask it: account, metrics, history, tokens, prices",
  says: "ask the market-data service itself: account, metrics, history, tokens, prices",
  examples: ["tocsin upstream account", "tocsin upstream metrics --chain eth --json"],
  commands: [
    command({
      name: "account",
      says: "verify the key and show the account",
      options: { showSecrets, source },
      examples: ["tocsin upstream account"],
      run: async (given, run) => (await import("./account.ts")).showAccount(run, given),
    }),
    command({
      name: "outputs",
      says: "show where the account's alerts go: its webhook and its messenger channel",
      options: { showSecrets, source },
      examples: ["tocsin upstream outputs"],
      run: async (given, run) => (await import("./account.ts")).showOutputs(run, given),
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
    listing({
      name: "tokens",
      says: "list the tokens of a chain",
      options: { chain, address: list("only these, separated by commas", { of: "addresses" }), source },
      examples: ["tocsin upstream tokens --chain eth"],
      noun: "token",
      call: async ({ chain: chainId, address: addresses }, run) =>
        (await alerting(run)).listTokens({ chainId, addresses }, { signal: run.context.signal }),
    }),
    listing({
      name: "users",
      says: "list the account's users",
      options: { id: list("only these, separated by commas", { of: "ids" }), source },
      examples: ["tocsin upstream users"],
      noun: "user",
      call: async ({ id: ids }, run) => (await alerting(run)).listUsers({ ids }, { signal: run.context.signal }),
    }),
    listing({
      name: "subscriptions",
      says: "list which metrics the account's users are subscribed to",
      options: { user: list("only of these users, separated by commas", { of: "ids" }), source },
      examples: ["tocsin upstream subscriptions --user 42"],
      noun: "subscription",
      call: async ({ user: userIds }, run) =>
        (await alerting(run)).listSubscriptions({ userIds }, { signal: run.context.signal }),
    }),
    command({
      name: "pool",
      says: "show a liquidity pool now: value locked, tokens, volume, prices",
      args: { address: text("the pool's contract address") },
      options: { chain },
      examples: ["tocsin upstream pool 0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640 --chain eth"],
      run: async ({ address, chain: chainId }, run) =>
        (await import("./prices.ts")).showPool(run, { address, chainId }),
    }),
    command({
      name: "ticker",
      says: "show a price over centralized and decentralized markets",
      args: { pair: pair("BASE/USD; the service quotes in USD only") },
      examples: ["tocsin upstream ticker ETH/USD"],
      run: async (given, run) => (await import("./prices.ts")).showTicker(run, given.pair),
    }),
    equities,
    assets,
  ],
});
