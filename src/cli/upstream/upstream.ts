import { type Command, Option } from "commander";
import { parseInstant, parseList, parsePage } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";
import type { BeginRun } from "./connect.ts";
import type { HistoryOptions } from "./history.ts";
import type { MetricsOptions } from "./metrics.ts";
import { registerPricingCommands } from "./register-pricing.ts";

/** `tocsin upstream …`: every read endpoint of the market-data service, and asset registration. */
export function registerUpstream(program: Command, context: CliContext): void {
  const upstream = program
    .command("upstream")
    .description("ask the market-data service itself: account, metrics, history, tokens, prices");
  addExamples(upstream, "tocsin upstream account", "tocsin upstream metrics --chain eth --json");
  const begin: BeginRun = (command) => {
    const { source } = command.opts<{ source?: string }>();
    return { context, output: openOutput(context, command), source };
  };
  registerAccountCommands(upstream, begin);
  registerMetricCommands(upstream, begin, context);
  registerListCommands(upstream, begin);
  registerPricingCommands(upstream, begin);
}

function registerAccountCommands(upstream: Command, begin: BeginRun): void {
  const account = upstream
    .command("account")
    .description("verify the key and show the account")
    .option("--show-secrets", "show the webhook's address in full", false)
    .action(async (options: { showSecrets: boolean }, command: Command) => {
      const { showAccount } = await import("./account.ts");
      await showAccount(begin(command), options);
    });
  addExamples(ofSource(account), "tocsin upstream account");

  const outputs = upstream
    .command("outputs")
    .description("show where the account's alerts go: its webhook and its messenger channel")
    .option("--show-secrets", "show the webhook's address in full", false)
    .action(async (options: { showSecrets: boolean }, command: Command) => {
      const { showOutputs } = await import("./account.ts");
      await showOutputs(begin(command), options);
    });
  addExamples(ofSource(outputs), "tocsin upstream outputs");
}

function registerMetricCommands(upstream: Command, begin: BeginRun, context: CliContext): void {
  const metrics = upstream
    .command("metrics")
    .description("list the metrics of a chain that relate to any of the given tokens or pools, or have one of the keys")
    .addOption(chainOption())
    .option(
      "--page <n>",
      "one page of at most 100; with --all the page to begin with (default: the service's first)",
      parsePage,
    )
    .option("--all", "read every page, in flat memory")
    .option("--token <addresses>", "token addresses, separated by commas", parseList)
    .option("--pool <addresses>", "pool addresses, separated by commas", parseList)
    .option("--key <keys>", "metric keys, separated by commas", parseList)
    .action(async (options: MetricsOptions, command: Command) => {
      const { listMetrics } = await import("./metrics.ts");
      await listMetrics(begin(command), options);
    });
  addExamples(
    ofSource(metrics),
    "tocsin upstream metrics --chain eth --token 0xdac17f958d2ee523a2206206994597c13d831ec7",
    "tocsin upstream metrics --chain eth --all --json > metrics.json",
  );

  const instant = (text: string) => parseInstant(text, context.now());
  const history = upstream
    .command("history")
    .description("draw the history of a metric (up to 7 days), in the terminal or as a picture")
    .argument("<key>", "metric key")
    .option("--from <time>", "earliest record: ISO 8601, Unix timestamp, or before now like -6h", instant)
    .option("--to <time>", "latest record, written the same way", instant)
    .option("--granularity <interval>", "average the records per bucket; handed to the service as it is")
    .option("--svg <file>", "write the curve as an SVG file too")
    .option("--png <file>", "write the curve as a PNG file too")
    .action(async (key: string, options: Omit<HistoryOptions, "key">, command: Command) => {
      const { showHistory } = await import("./history.ts");
      await showHistory(begin(command), { key, ...options });
    });
  addExamples(
    ofSource(history),
    "tocsin upstream history KEY --from -6h",
    "tocsin upstream history KEY --from -7d --granularity 1h --png tvl.png",
  );
}

function registerListCommands(upstream: Command, begin: BeginRun): void {
  const tokens = upstream
    .command("tokens")
    .description("list the tokens of a chain")
    .addOption(chainOption())
    .option("--address <addresses>", "only these, separated by commas", parseList)
    .action(async (options: { chain: string; address?: string[] }, command: Command) => {
      const { listTokens } = await import("./lists.ts");
      await listTokens(begin(command), options);
    });
  addExamples(ofSource(tokens), "tocsin upstream tokens --chain eth");

  const users = upstream
    .command("users")
    .description("list the account's users")
    .option("--id <ids>", "only these, separated by commas", parseList)
    .action(async (options: { id?: string[] }, command: Command) => {
      const { listUsers } = await import("./lists.ts");
      await listUsers(begin(command), options);
    });
  addExamples(ofSource(users), "tocsin upstream users");

  const subscriptions = upstream
    .command("subscriptions")
    .description("list which metrics the account's users are subscribed to")
    .option("--user <ids>", "only of these users, separated by commas", parseList)
    .action(async (options: { user?: string[] }, command: Command) => {
      const { listSubscriptions } = await import("./lists.ts");
      await listSubscriptions(begin(command), options);
    });
  addExamples(ofSource(subscriptions), "tocsin upstream subscriptions --user 42");
}

/** Each account sees its own users, subscriptions and metrics. */
function ofSource(command: Command): Command {
  return command.option("--source <name>", "ask with the account of a source, instead of ALERTING_URL's");
}

function chainOption(): Option {
  return new Option("--chain <chain>", "chain id, e.g. eth, arbitrum, bsc, base").makeOptionMandatory();
}
