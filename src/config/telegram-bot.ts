import type { TelegramBot } from "../core/rules.ts";
import { Secret } from "../core/secret.ts";
import { Refusal } from "../ground/shape/refusal.ts";

/** Reads a bot's token; no part but the bot's public id is ever shown. */
export function readTelegramBot(token: string, apiRoot: string): TelegramBot | Refusal {
  const [, id] = /^(\d{1,20}):[A-Za-z0-9_-]{10,}$/.exec(token) ?? [];
  if (id !== undefined) return { id, token: new Secret(token), apiRoot };
  return new Refusal(
    "is not a bot token (it is not shown)",
    "copy the whole token that @BotFather gave you: digits, a colon, and about 35 letters",
  );
}
