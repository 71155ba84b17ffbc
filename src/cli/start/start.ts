import { command, type GivenOptions } from "../command.ts";
import { duration, flag, list, off, text, yes } from "../options.ts";
import { refuseAlone } from "../shell/confirm.ts";

const options = {
  telegram: flag("a Telegram chat; the token comes from TELEGRAM_BOT_TOKEN, or is asked for"),
  mail: flag("mailboxes; the server comes from SMTP_URL, or is asked for"),
  chat: text("this chat (starts with -), instead of the one that shows up", { of: "id" }),
  to: list("these mailboxes, separated by commas", { of: "addresses" }),
  from: text("the sender of mail (default: EMAIL_FROM, or the mail server's user)", { of: "address" }),
  for: duration("how long to wait for the chat to show up", { default: "5m" }),
  serve: off("end when .env is written, instead of serving"),
  yes: { ...yes, says: "do not ask: take the first chat that shows up, and write .env" },
};

export type StartOptions = GivenOptions<typeof options>;

export const start = command({
  name: "start",
  summary: "from nothing to a message on your phone, without a domain",
  says: "from nothing to a message on your phone: asks for a bot token or mail server, finds the chat, sends a test, writes .env, serves",
  options,
  check: ({ yes: isAgreed }, { context }) =>
    isAgreed ? undefined : refuseAlone(context, "writing .env", "see: tocsin start --help"),
  examples: [
    "tocsin start",
    "TELEGRAM_BOT_TOKEN=… tocsin start --chat -1001234567890 --yes --no-serve",
    "SMTP_URL=smtps://… tocsin start --mail --to desk@example.com --yes",
  ],
  run: async (given, { context, output }) => {
    const { runStart } = await import("./run-start.ts");
    await runStart(given, context, output);
  },
});
