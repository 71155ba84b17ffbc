import { type Command, InvalidArgumentError, Option } from "commander";
import { parseDuration, parseList, parsePair } from "../shell/arguments.ts";
import { addExamples } from "../shell/output.ts";
import type { BeginRun } from "./connect.ts";

/** The commands of `tocsin upstream` that ask the pricing interface. */
export function registerPricingCommands(upstream: Command, begin: BeginRun): void {
  const pool = upstream
    .command("pool")
    .description("show a liquidity pool now: value locked, tokens, volume, prices")
    .argument("<address>", "the pool's contract address")
    .requiredOption("--chain <chain>", "chain id, e.g. eth, arbitrum, bsc, base")
    .action(async (address: string, options: { chain: string }, command: Command) => {
      const { showPool } = await import("./prices.ts");
      await showPool(begin(command), { address, chainId: options.chain });
    });
  addExamples(pool, "tocsin upstream pool 0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640 --chain eth");

  const ticker = upstream
    .command("ticker")
    .description("show a price over centralized and decentralized markets")
    .argument("<pair>", "BASE/USD; the service quotes in USD only", parsePair)
    .action(async (pair: string, _options: unknown, command: Command) => {
      const { showTicker } = await import("./prices.ts");
      await showTicker(begin(command), pair);
    });
  addExamples(ticker, "tocsin upstream ticker ETH/USD");

  registerEquities(upstream, begin);
  registerAssets(upstream, begin);
}

function registerEquities(upstream: Command, begin: BeginRun): void {
  const equities = upstream.command("equities").description("equities: which there are, and their prices");
  addExamples(equities, "tocsin upstream equities price AAPL,MSFT");
  const symbols = equities
    .command("symbols")
    .description("list the supported equities")
    .action(async (_options: unknown, command: Command) => {
      const { listEquitySymbols } = await import("./prices.ts");
      await listEquitySymbols(begin(command));
    });
  addExamples(symbols, "tocsin upstream equities symbols");
  const price = equities
    .command("price")
    .description("show current prices (where to ask is not documented: PRICING_EQUITIES_PRICE_PATH sets it)")
    .argument("<symbols>", "separated by commas", parseList)
    .action(async (list: string[], _options: unknown, command: Command) => {
      const { showEquityPrices } = await import("./prices.ts");
      await showEquityPrices(begin(command), list);
    });
  addExamples(price, "tocsin upstream equities price AAPL,MSFT");
}

interface AddOptions {
  asset?: string;
  ticker?: string;
  pool?: string;
  chain?: string;
  wait?: boolean;
  timeout: number;
}

function registerAssets(upstream: Command, begin: BeginRun): void {
  const assets = upstream.command("assets").description("register assets with the pricing interface");
  addExamples(assets, "tocsin upstream assets add tether");
  const add = assets
    .command("add")
    .description("register an asset; one that takes longer is followed until it can be queried")
    .argument("[catalog-id]", "its identifier in the external catalogue")
    .option("--asset <file>", "a manual definition: a JSON file with symbol and tokenMapping")
    .option("--ticker <pair>", "follow it by this ticker, e.g. USDT/USD", parsePair)
    .option("--pool <address>", "follow it by this pool (with --chain)")
    .option("--chain <chain>", "the chain of --pool")
    .option("--wait", "wait until it can be queried, even when it was added immediately")
    .option("--no-wait", "do not wait, also when it is still in progress")
    .addOption(
      new Option("--timeout <duration>", "how long to wait, e.g. 90s or 5m")
        .default(300_000, "5m")
        .argParser(parseDuration),
    )
    .action(async (catalogId: string | undefined, options: AddOptions, command: Command) => {
      const { addAsset } = await import("./assets.ts");
      const { asset, ticker, wait, timeout: timeoutMs } = options;
      await addAsset(begin(command), { catalogId, asset, ticker, pool: poolOf(options), wait, timeoutMs });
    });
  addExamples(
    add,
    "tocsin upstream assets add tether --ticker USDT/USD",
    "tocsin upstream assets add --asset token.json --wait",
  );
}

function poolOf({ pool, chain }: AddOptions): { chainId: string; address: string } | undefined {
  if ((pool === undefined) !== (chain === undefined)) {
    throw new InvalidArgumentError("--pool and --chain go together");
  }
  return pool === undefined || chain === undefined ? undefined : { chainId: chain, address: pool };
}
