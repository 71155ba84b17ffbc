import { type Command, InvalidArgumentError, Option } from "commander";
import { addRelayOptions, type RelayFlags } from "../relay/connect-relay.ts";
import { parseDuration } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";
import type { BacktestOptions } from "./run-backtest.ts";

/** `tocsin backtest`: where stored alerts would have gone by another configuration. Changes nothing. */
export function registerBacktest(program: Command, context: CliContext): void {
  const command = program
    .command("backtest")
    .description("route the stored alerts by another configuration, and compare with what happened; changes nothing")
    .requiredOption("--config <file>", "the configuration to try")
    .addOption(
      new Option("--last <duration>", "the alerts of this last time")
        .argParser(parseDuration)
        .default(7 * 86_400_000, "7d"),
    )
    .option("--limit <n>", "at most this many, the newest", parseCount)
    .action(async (options: RelayFlags & BacktestOptions, self: Command) => {
      const { runBacktest } = await import("./run-backtest.ts");
      await runBacktest({ context, flags: options, output: openOutput(context, self) }, options);
    });
  addExamples(addRelayOptions(command), "tocsin backtest --config next.yaml --last 7d");
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("give a whole number above 0");
}
