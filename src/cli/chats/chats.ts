import { type Command, Option } from "commander";
import { parseDuration } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";
import type { ChatsOptions } from "./run-chats.ts";

/** `tocsin chats`: the chats that the bot is in, with what the configuration needs of them. */
export function registerChats(program: Command, context: CliContext): void {
  const command = program
    .command("chats")
    .description(
      "list the Telegram chats of the bot, with ids, titles, topics and rights: those of the configuration at once, and others as soon as " +
        "something is written there or the bot is added",
    )
    .addOption(
      new Option("--for <duration>", "how long to listen; 0s shows only what already waits; Ctrl-C ends it")
        .argParser(parseDuration)
        .default(60_000, "60s"),
    )
    .option(
      "--confirm",
      "let Telegram forget what was shown: needed where 100 updates wait, and lost for any other program of this bot",
    )
    .option("--config <file>", "the YAML file to read, instead of TOCSIN_CONFIG or ./tocsin.yaml")
    .action(async (options: ChatsOptions & { config?: string }, self: Command) => {
      const { runChats } = await import("./run-chats.ts");
      const env = options.config === undefined ? context.env : { ...context.env, TOCSIN_CONFIG: options.config };
      await runChats({ context: { ...context, env }, output: openOutput(context, self) }, options);
    });
  addExamples(command, "tocsin chats", "tocsin chats --for 5m", "tocsin chats --for 0s --json");
}
