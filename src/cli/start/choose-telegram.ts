import { envText } from "../../config/server-env.ts";
import { AppError } from "../../core/errors.ts";
import { Refusal } from "../../ground/shape/refusal.ts";
import { type BotDescription, type BotSession, openBotSession } from "../../vendors/telegram/bot-session.ts";
import { defaultApiRoot, readChatId, readTelegramBot, type TelegramBot } from "../../vendors/telegram/vendor.ts";
import { createChatBook, type KnownChat } from "../chats/chat-book.ts";
import { listen, otherBot } from "../chats/listen.ts";
import { describeNews, pressInTelegram } from "../chats/show-chats.ts";
import { describeSpan } from "../shell/amounts.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { hangText, terminalText } from "../shell/terminal-text.ts";
import type { Prompts } from "./prompts.ts";
import type { StartOptions } from "./start.ts";

/** What a way of sending needs in the environment, and the destinations that it makes. */
export interface Choice {
  values: Record<string, string>;
  destinations: string[];
}

interface ChoosingRun {
  context: CliContext;
  output: Output;
  prompts: Prompts | undefined;
  options: StartOptions;
}

const tokenHint =
  "in Telegram write /newbot to @BotFather, and set TELEGRAM_BOT_TOKEN to the token that it answers with";

/**
 * A bot that Telegram knows, and a group or channel that it may write to: the one of `--chat`, or the one that shows up.
 * @throws AppError for what cannot be used, where nobody can be asked for something else
 */
export async function chooseTelegram(run: ChoosingRun): Promise<Choice> {
  const { context, output, options } = run;
  const { session, description, token } = await findBot(run);
  try {
    const chatId = options.chat === undefined ? await waitForChat(run, session, description) : readChat(options.chat);
    const report = await session.lookAt(chatId, context.signal);
    if (report.canPost === false) {
      throw new AppError("failed", `@${description.username} cannot write to ${chatId}: ${report.rights}`, {
        hint: "change that in Telegram, and run this again",
      });
    }
    if (report.title !== undefined) await output.note(`Alerts go to "${report.title}" (${chatId}).`);
    const known = (envText(context.env, "TELEGRAM_CHAT_IDS") ?? "").split(",").map((id) => id.trim());
    const ids = [...new Set([...known.filter((id) => id !== ""), chatId])];
    for (const id of ids.filter((one) => one !== chatId)) {
      const other = await session.lookAt(id, context.signal);
      if (other.canPost !== false) continue;
      const remedy = "take it out of .env, or add the bot there";
      await output.note(`warning: TELEGRAM_CHAT_IDS has ${id} as well, where this bot cannot write: ${remedy}`);
    }
    return {
      values: { TELEGRAM_BOT_TOKEN: token, TELEGRAM_CHAT_IDS: ids.join(",") },
      destinations: [`telegram:${chatId}`],
    };
  } finally {
    await session.close();
  }
}

function readChat(text: string): string {
  const id = readChatId(text);
  if (id instanceof Refusal) throw new AppError("usage", `--chat ${id.message}`, { hint: id.instead });
  return id;
}

interface FoundBot {
  session: BotSession;
  description: BotDescription;
  token: string;
}

/** That of the environment, or one that is asked for until Telegram knows it. */
async function findBot({ context, output, prompts }: ChoosingRun): Promise<FoundBot> {
  const apiRoot = envText(context.env, "TELEGRAM_API_ROOT") ?? defaultApiRoot;
  let given = envText(context.env, "TELEGRAM_BOT_TOKEN");
  for (;;) {
    const check = (text: string) => {
      const bot = readTelegramBot(text, apiRoot);
      return bot instanceof Refusal ? `It ${bot.message}: ${bot.instead}.` : undefined;
    };
    if (given === undefined && prompts === undefined) {
      throw new AppError("usage", "there is no bot: TELEGRAM_BOT_TOKEN is not set", { hint: tokenHint });
    }
    const token = given ?? (await prompts?.secret("Bot token (write /newbot to @BotFather in Telegram)", check)) ?? "";
    let session: BotSession | undefined;
    try {
      const bot = readTelegramBot(token, apiRoot);
      if (bot instanceof Refusal)
        throw new AppError("usage", `TELEGRAM_BOT_TOKEN ${bot.message}`, { hint: bot.instead });
      session = openBotSession(bot as TelegramBot);
      const description = await session.describe(context.signal);
      return { session, description, token };
    } catch (error) {
      await session?.close();
      if (context.signal.aborted) throw context.signal.reason;
      // Whoever can be asked has another one, also where the environment has a wrong one.
      if (prompts === undefined || !(error instanceof AppError)) throw error;
      await output.note(`${error.message}${error.hint === undefined ? "" : `; ${error.hint}`}`);
      given = undefined;
    }
  }
}

/** Of the first chat that shows up, or with somebody to ask, of the first that is agreed to. */
async function waitForChat(
  { context, output, prompts, options }: ChoosingRun,
  session: BotSession,
  description: BotDescription,
): Promise<string> {
  if (prompts === undefined && !options.yes) {
    throw new AppError("usage", "nobody is there to be asked whether a chat that shows up is the right one", {
      hint: "name it with --chat ID, or take the first one with --yes",
    });
  }
  if (description.webhookHost !== undefined) {
    const message = `a webhook sends this bot's updates to ${description.webhookHost}, so its chats cannot be found`;
    throw new AppError("upstream_conflict", message, { hint: `name the chat with --chat ID, or ${otherBot}` });
  }
  // A bot that is in a group already may have one to propose, and then nothing is to be done in Telegram.
  async function onWaiting() {
    for (const line of pressInTelegram(session.botId, description)) {
      for (const part of hangText(terminalText(line), context.columns, 11).split("\n")) await output.note(part);
    }
    await output.progress.update(waiting);
  }
  const found = new AbortController();
  const book = createChatBook(session);
  const refused = new Set<string>();
  let chosen: KnownChat | undefined;
  const waiting = `waiting for a chat, at most ${describeSpan(options.for)}; Ctrl-C ends it`;
  await output.progress.update("looking for a chat");
  await listen({ ...context, signal: AbortSignal.any([context.signal, found.signal]) }, session, {
    endAt: context.now() + options.for,
    confirm: false,
    onWaiting,
    async onUpdate({ chat: seen }) {
      if (seen === undefined || chosen !== undefined) return;
      for (const { chat, isChat, topic } of await book.addSeen(seen, context.signal)) {
        if (!isChat || refused.has(chat.id)) continue;
        await output.note(describeNews({ chat, isChat, topic }, { ...output, style: (_name, text) => text }).trimEnd());
        if (chat.canPost === false) continue;
        const question = `Send alerts to ${chat.type ?? "chat"} ${chat.title === undefined ? chat.id : `"${chat.title}"`}?`;
        if (options.yes || (await prompts?.confirm(question))) {
          chosen = chat;
          found.abort();
          return;
        }
        refused.add(chat.id);
        await output.progress.update(waiting);
      }
      if (seen.isPrivate)
        await output.note("That was a private chat. Tocsin writes to groups and channels: add the bot to one.");
    },
    onFull: () =>
      output.note("100 updates wait at Telegram, and newer ones are out of sight until: tocsin chats --confirm"),
    onFailed: (why) => output.note(`${why}; trying on`),
  });
  await output.progress.clear();
  if (context.signal.aborted) throw context.signal.reason;
  if (chosen !== undefined) return chosen.id;
  throw new AppError("timeout", `no chat has shown up within ${describeSpan(options.for)}`, {
    hint: `write /start@${description.username} in the group while this runs, or wait longer: --for 15m`,
  });
}
