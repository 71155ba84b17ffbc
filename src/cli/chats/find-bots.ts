import { loadConfig } from "../../config/load-config.ts";
import { envText } from "../../config/server-env.ts";
import { ConfigError } from "../../config/shape/problem-list.ts";
import { AppError } from "../../core/errors.ts";
import type { Destination } from "../../core/rules.ts";
import { readHttpUrl } from "../../ground/shape/field.ts";
import { Refusal } from "../../ground/shape/refusal.ts";
import {
  defaultApiRoot,
  readChatId,
  readTelegramBot,
  type TelegramBot,
  type TelegramDestination,
} from "../../vendors/telegram/vendor.ts";
import type { CliContext } from "../shell/context.ts";

/** A bot with the places that the configuration has for it. */
export interface ConfiguredBot {
  bot: TelegramBot;
  /** It is the one of TELEGRAM_BOT_TOKEN, which a destination of the file need not name. */
  isDefault: boolean;
  places: ConfiguredPlace[];
}

export interface ConfiguredPlace {
  chatId: string;
  topicId?: number;
  /** Name of the destination. */
  name: string;
}

export interface FoundBots {
  bots: ConfiguredBot[];
  /** As they stand in TELEGRAM_CHAT_IDS, which is replaced as a whole. */
  envChatIds: string[];
  /** Names of all destinations; none may be given twice. */
  names: string[];
  /** The configuration has mistakes, so only the environment was read. */
  isPartial: boolean;
}

/**
 * A configuration that is not finished is no hindrance: what this command finds out may be just what is missing in it.
 * @throws AppError `config_invalid` when there is no bot.
 */
export function findBots({ env, cwd }: Pick<CliContext, "env" | "cwd">): FoundBots {
  const destinations = readDestinations(env, cwd);
  const own = (destinations ?? []).filter((one): one is TelegramDestination => one.type === "telegram");
  const shared = readSharedBot(env);
  const envChatIds = readEnvChatIds(env);
  const bots = new Map<string, ConfiguredBot>();
  const open = (bot: TelegramBot, isDefault: boolean) => {
    const key = `${bot.token.reveal()} ${bot.apiRoot}`;
    const known = bots.get(key) ?? { bot, isDefault, places: [] };
    bots.set(key, known);
    return known;
  };
  if (shared !== undefined) {
    const { places } = open(shared, true);
    if (destinations === undefined)
      places.push(...envChatIds.map((chatId) => ({ chatId, name: `telegram:${chatId}` })));
  }
  for (const { bot, chatId, topicId, name } of own) open(bot, false).places.push({ chatId, topicId, name });
  if (bots.size === 0) {
    throw new AppError("config_invalid", "there is no bot to ask: TELEGRAM_BOT_TOKEN is not set", {
      hint: "in Telegram write /newbot to @BotFather, and set TELEGRAM_BOT_TOKEN to the token that it answers with",
    });
  }
  return {
    bots: [...bots.values()],
    envChatIds,
    names: (destinations ?? []).map(({ name }) => name),
    isPartial: destinations === undefined,
  };
}

/** Undefined for a configuration with mistakes. */
function readDestinations(env: CliContext["env"], cwd: string): Destination[] | undefined {
  try {
    return loadConfig({ env, cwd }).rules.destinations;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

function readSharedBot(env: CliContext["env"]): TelegramBot | undefined {
  const token = envText(env, "TELEGRAM_BOT_TOKEN");
  if (token === undefined) return undefined;
  const apiRoot = required("TELEGRAM_API_ROOT", readHttpUrl(envText(env, "TELEGRAM_API_ROOT") ?? defaultApiRoot));
  return required("TELEGRAM_BOT_TOKEN", readTelegramBot(token, apiRoot));
}

function required<T>(name: string, value: T | Refusal): T {
  if (!(value instanceof Refusal)) return value;
  throw new AppError("config_invalid", `${name} ${value.message}`, { hint: value.instead });
}

function readEnvChatIds(env: CliContext["env"]): string[] {
  const parts = (envText(env, "TELEGRAM_CHAT_IDS") ?? "").split(",");
  const ids = parts.map((part) => readChatId(part));
  return [...new Set(ids.filter((id): id is string => typeof id === "string"))];
}
