import { type Command, Option } from "commander";
import { severities } from "../../core/alert.ts";
import { addRelayOptions, type RelayFlags } from "../relay/connect-relay.ts";
import { parseDuration, parseList } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";
import type { TestOptions } from "./send-test.ts";

/** `tocsin test`: one marked alert the whole real way, or one message straight to a destination. */
export function registerTest(program: Command, context: CliContext): void {
  const command = program
    .command("test")
    .description(
      "send one marked test alert as a sender would, or straight to one destination, and wait for the outcomes",
    )
    .option(
      "--to <destination>",
      "straight to this one, whatever the routes, mutes and quiet hours say; may be repeated, or name several with commas",
      (text: string, before: string[] = []) => [...before, ...parseList(text)],
    )
    .addOption(
      new Option("--severity <severity>", "what the test alert says of itself").choices(severities).default("info"),
    )
    .addOption(
      new Option("--timeout <duration>", "wait at most this long").argParser(parseDuration).default(60_000, "60s"),
    )
    .action(async (options: RelayFlags & TestOptions & { to?: string[] }, self: Command) => {
      const run = { context, flags: options, output: openOutput(context, self) };
      const { to } = options;
      if (to !== undefined) return (await import("./direct-test.ts")).sendDirectTests(run, { ...options, to });
      return (await import("./send-test.ts")).sendTest(run, options);
    });
  addExamples(
    addRelayOptions(command),
    "tocsin test",
    "tocsin test --severity critical --timeout 2m",
    "tocsin test --to desk --to risk-mail",
  );
}
