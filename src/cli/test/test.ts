import { type Command, Option } from "commander";
import { severities } from "../../core/alert.ts";
import { addRelayOptions, type RelayFlags } from "../relay/connect-relay.ts";
import { parseDuration, parseList } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";
import type { TestOptions } from "./send-test.ts";

/** `tocsin test`: one marked alert the whole real way. */
export function registerTest(program: Command, context: CliContext): void {
  const command = program
    .command("test")
    .description("send one marked test alert the whole real way, and wait for each destination's outcome")
    .option(
      "--to <destinations>",
      "wait for these only, separated by commas; the routes decide where it goes",
      parseList,
    )
    .addOption(
      new Option("--severity <severity>", "what the test alert says of itself").choices(severities).default("info"),
    )
    .addOption(
      new Option("--timeout <duration>", "wait at most this long").argParser(parseDuration).default(60_000, "60s"),
    )
    .action(async (options: RelayFlags & TestOptions, self: Command) => {
      const { sendTest } = await import("./send-test.ts");
      await sendTest({ context, flags: options, output: openOutput(context, self) }, options);
    });
  addExamples(
    addRelayOptions(command),
    "tocsin test",
    "tocsin test --severity critical --to desk,risk-mail --timeout 2m",
  );
}
