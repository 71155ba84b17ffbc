import { command, type GivenOptions } from "../command.ts";
import { configFile, duration, flag } from "../options.ts";
import { withConfig } from "../relay/connect-relay.ts";

const options = {
  for: duration("how long to listen; 0s shows only what already waits; Ctrl-C ends it", { default: "60s" }),
  confirm: flag(
    "let Telegram forget what was shown: needed where 100 updates wait, and lost for any other program of this bot",
  ),
  config: configFile,
};
export type ChatsOptions = GivenOptions<typeof options>;

export const chats = command({
  name: "chats",
  summary: "the chats of the Telegram bot, with their ids",
  says: "list the bot's Telegram chats with ids, titles, topics, rights; a new chat appears once the bot is added or somebody writes there",
  options,
  examples: ["tocsin chats", "tocsin chats --for 5m", "tocsin chats --for 0s --json"],
  run: async (given, run) => (await import("./run-chats.ts")).runChats(withConfig(run, given.config), given),
});
