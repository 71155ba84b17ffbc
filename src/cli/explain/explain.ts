import type { Command } from "commander";
import { addRelayOptions, type RelayFlags } from "../relay/connect-relay.ts";
import { parseInstant, parseList } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";
import type { ExplainOptions } from "./run-explain.ts";

/** `tocsin explain`: what would be decided of an alert and what people would read. Sends nothing. */
export function registerExplain(program: Command, context: CliContext): void {
  const command = program
    .command("explain")
    .description("one alert: what is read from it, each route's decision with its reason, each message; sends nothing")
    .argument(
      "<alert>",
      "id of a stored alert (its last 8 characters will do), a file that holds a body, or - for stdin",
    )
    .option("--content-type <type>", "of a file or stdin (default: by the file's ending)")
    .option("--source <name>", "a file or stdin: as if it arrived at this source's hook (default: the account's)")
    .option("--config <file>", "try another configuration")
    .option("--all", "each alert of a batch (default: the first 20)")
    .option("--messages", "show each destination's message in full, also where several get the same")
    .option(
      "--expect <names>",
      "exit status 1 unless it would reach exactly these destinations, separated by commas (`nobody`: none)",
      parseList,
    )
    .option("--at <time>", "as if it arrived then: quiet hours and mutes count (default: now)", (text) =>
      parseInstant(text, context.now()),
    )
    .action(async (subject: string, options: RelayFlags & ExplainOptions, self: Command) => {
      const { runExplain } = await import("./run-explain.ts");
      await runExplain({ context, flags: options, output: openOutput(context, self) }, subject, options);
    });
  addExamples(
    addRelayOptions(command),
    "tocsin explain ac120002",
    'echo \'{"title":"TVL fell","severity":"critical"}\' | tocsin explain - --config staging.yaml',
    "tocsin explain push.json --source github",
    "tocsin explain whale.json --config next.yaml --expect desk,risk-mail",
  );
}
