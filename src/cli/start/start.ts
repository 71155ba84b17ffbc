import { type Command, Option } from "commander";
import { parseDuration, parseList } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";

export interface StartOptions {
  telegram?: true;
  mail?: true;
  /** Id of the chat. Default: whichever shows up. */
  chat?: string;
  /** Mailboxes. */
  to?: string[];
  from?: string;
  /** How long to wait for a chat to show up, milliseconds. */
  for: number;
  serve: boolean;
  yes?: true;
}

/** `tocsin start`: from nothing to a message on a phone, without a domain. */
export function registerStart(program: Command, context: CliContext): void {
  const command = program
    .command("start")
    .description(
      "from nothing to a message on your phone: asks for a bot token or a mail server, finds the chat by itself, sends a test, writes .env, and serves",
    )
    .option("--telegram", "a Telegram chat; the token comes from TELEGRAM_BOT_TOKEN, or is asked for")
    .option("--mail", "mailboxes; the server comes from SMTP_URL, or is asked for")
    .option("--chat <id>", "this chat (starts with -), instead of the one that shows up")
    .option("--to <addresses>", "these mailboxes, separated by commas", parseList)
    .option("--from <address>", "the sender of mail (default: EMAIL_FROM, or the mail server's user)")
    .addOption(
      new Option("--for <duration>", "how long to wait for the chat to show up")
        .argParser(parseDuration)
        .default(300_000, "5m"),
    )
    .option("--no-serve", "end when .env is written, instead of serving")
    .option("-y, --yes", "do not ask: take the first chat that shows up, and write .env")
    .action(async (options: StartOptions, self: Command) => {
      const { runStart } = await import("./run-start.ts");
      await runStart(options, context, openOutput(context, self));
    });
  addExamples(
    command,
    "tocsin start",
    "TELEGRAM_BOT_TOKEN=… tocsin start --chat -1001234567890 --yes --no-serve",
    "SMTP_URL=smtps://… tocsin start --mail --to desk@example.com --yes",
  );
}
