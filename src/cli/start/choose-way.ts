import { envText } from "../../config/variables.ts";
import { AppError } from "../../core/errors.ts";
import { isMailAddress, parseMailAddress } from "../../ground/text/mail-address.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import {
  type BotDescription,
  type BotSession,
  openBotSession,
  webhookSet,
} from "../../vendors/telegram/bot-session.ts";
import { type KnownChat, KnownChats, type News } from "../../vendors/telegram/known-chats.ts";
import { listen } from "../../vendors/telegram/listen.ts";
import { describeNews, howToAdd } from "../../vendors/telegram/new-chat.ts";
import { readChat, readTelegramEnv, tokenHint } from "../chats/find-bots.ts";
import type { CliContext } from "../shell/context.ts";
import { hangText, type Output, terminalText } from "../shell/output.ts";
import { ask, type Prompts } from "./prompts.ts";
import type { StartOptions } from "./start.ts";

/** The environment variables of a way of sending, and its destinations. */
export interface Choice {
  values: Record<string, string>;
  destinations: string[];
}

export interface ChoosingRun {
  context: CliContext;
  output: Output;
  prompts: Prompts | undefined;
  options: StartOptions;
}

type FoundBot = Awaited<ReturnType<typeof findBot>>;

/**
 * A bot that Telegram knows, and a chat in which it may write: that of `--chat`, or the first that the bot hears of.
 * @throws AppError for unusable values, where nobody can be asked for others
 */
export async function chooseTelegram(run: ChoosingRun): Promise<Choice> {
  const { context, output, options } = run;
  const bot = await findBot(run);
  const { session, description, token } = bot;
  try {
    const chatId = options.chat === undefined ? await waitForChat(run, bot) : readChat("--chat", options.chat);
    const report = await session.lookAt(chatId, context.signal);
    if (report.canPost === false) {
      throw new AppError("failed", `@${description.username} cannot write to ${chatId}: ${report.rights}`, {
        hint: "change that in Telegram, and run this again",
      });
    }
    if (report.title !== undefined) await output.note(`Alerts go to "${report.title}" (${chatId}).`);
    const others = bot.chatIds.filter((id) => id !== chatId);
    for (const id of others) {
      if ((await session.lookAt(id, context.signal)).canPost !== false) continue;
      const remedy = "take it out of .env, or add the bot there";
      await output.note(`warning: TELEGRAM_CHAT_IDS has ${id} as well, where this bot cannot write: ${remedy}`);
    }
    return {
      values: { TELEGRAM_BOT_TOKEN: token, TELEGRAM_CHAT_IDS: [...others, chatId].join(",") },
      destinations: [`telegram:${chatId}`],
    };
  } finally {
    await session.close();
  }
}

/** Finds the bot of the environment, or asks for one until Telegram knows it. */
async function findBot({ context: { env, signal }, output, prompts }: ChoosingRun) {
  const askForToken = () => {
    const somebody = ask(prompts, "there is no bot: TELEGRAM_BOT_TOKEN is not set", tokenHint);
    return somebody.secret("Bot token (write /newbot to @BotFather in Telegram)");
  };
  for (let given = envText(env, "TELEGRAM_BOT_TOKEN"); ; given = undefined) {
    const token = given ?? (await askForToken());
    let session: BotSession | undefined;
    try {
      const { bot, chatIds } = readTelegramEnv({ ...env, TELEGRAM_BOT_TOKEN: token });
      if (bot === undefined) continue;
      session = openBotSession(bot);
      return { session, token, chatIds, description: await session.describe(signal) };
    } catch (error) {
      await session?.close();
      signal.throwIfAborted();
      // A person may have another token, also where the environment has a wrong one.
      if (prompts === undefined || !(error instanceof AppError)) throw error;
      await output.note([error.message, error.hint].filter((part) => part !== undefined).join("; "));
    }
  }
}

/** The first chat that the bot hears of, or the first that the person agrees to. */
async function waitForChat(run: ChoosingRun, { session, description }: FoundBot): Promise<string> {
  const { context, output, prompts, options } = run;
  if (!options.yes) {
    const hint = "name it with --chat ID, or take the first one with --yes";
    ask(prompts, "nobody is there to be asked whether a chat that shows up is the right one", hint);
  }
  if (description.webhookHost !== undefined)
    throw webhookSet(description.webhookHost, "name the chat with --chat ID, or ");
  const refused = new Set<string>();
  const [span, endAt] = [lengthOf(options.for), context.now() + options.for];
  await output.progress.update("looking for a chat");
  for await (const heard of listen(context, session, new KnownChats(session), { endAt, confirm: false })) {
    if (heard === "waiting") await tellWhatToDo(run, session.botId, description);
    else if ("note" in heard) await output.note(heard.note);
    else if (await isAgreed(run, heard.news, refused)) return heard.news.chat.id;
    await output.progress.update(`waiting for a chat, at most ${span}; Ctrl-C ends it`);
  }
  await output.progress.clear();
  context.signal.throwIfAborted();
  throw new AppError("timeout", `no chat has shown up within ${span}`, {
    hint: `write /start@${description.username} in the group while this runs, or wait longer: --for 15m`,
  });
}

/** Says how to add the bot. A bot that is already in a group may suggest the group. */
async function tellWhatToDo({ context, output }: ChoosingRun, botId: string, description: BotDescription) {
  for (const line of howToAdd(botId, description)) {
    for (const part of hangText(terminalText(line), context.columns, 11).split("\n")) await output.note(part);
  }
}

async function isAgreed({ output, prompts, options }: ChoosingRun, news: News, refused: Set<string>): Promise<boolean> {
  const { chat, isChat } = news;
  if (!isChat || refused.has(chat.id)) return false;
  await output.note(`${chat.id}  ${describeNews(news)}`);
  if (chat.canPost === false) return false;
  if (options.yes || (await prompts?.confirm(`Send alerts to ${nameOf(chat)}?`))) return true;
  refused.add(chat.id);
  return false;
}

function nameOf({ type = "chat", title, id }: KnownChat): string {
  return `${type} ${title === undefined ? id : `"${title}"`}`;
}

/** The test shows whether the server accepts the values. @throws AppError `usage` where nobody can be asked */
export async function chooseMail({ context: { env }, prompts, options }: ChoosingRun): Promise<Choice> {
  const smtpUrl = envText(env, "SMTP_URL") ?? (await askForServer(prompts));
  const to = options.to ?? (await askForMailboxes(prompts, envText(env, "EMAIL_TO")));
  const wrong = to.find((address) => !isMailAddress(address));
  if (wrong !== undefined) throw new AppError("usage", `--to: ${wrong} is not a mail address`);
  const from = options.from ?? envText(env, "EMAIL_FROM") ?? (await askForSender(prompts, userOf(smtpUrl), to));
  if (parseMailAddress(from) === undefined) throw new AppError("usage", `${from} is not a mail address`);
  return { values: { SMTP_URL: smtpUrl, EMAIL_FROM: from, EMAIL_TO: to.join(",") }, destinations: ["email"] };
}

async function askForServer(prompts: Prompts | undefined): Promise<string> {
  const hint = "set it, e.g. SMTP_URL=smtps://user:password@smtp.example.com";
  const somebody = ask(prompts, "there is no mail server: SMTP_URL is not set", hint);
  const host = await somebody.text("Mail server", {
    placeholder: "smtp.example.com",
    check: (text) => (/^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(text) ? undefined : "Write its name, e.g. smtp.example.com."),
  });
  const scheme = await somebody.select("How does it take mail?", [
    { value: "smtps", label: "TLS from the first byte (port 465)" },
    { value: "smtp", label: "STARTTLS where it offers it (port 587)" },
  ]);
  const user = await somebody.text("User (empty: none)", { check: () => undefined, initial: "" });
  const password = user === "" ? "" : await somebody.secret("Password");
  const login = user === "" ? "" : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return `${scheme}://${login}${host}`;
}

const split = (text: string) => text.split(/\s*,\s*/).filter((part) => part !== "");

async function askForMailboxes(prompts: Prompts | undefined, initial: string | undefined): Promise<string[]> {
  if (prompts === undefined && initial !== undefined) return split(initial);
  const somebody = ask(prompts, "nobody gets the mail", "name the mailboxes with --to desk@example.com");
  const text = await somebody.text("Who gets the alerts? (several separated by commas)", {
    placeholder: "desk@example.com",
    initial,
    check: (value) => {
      const wrong = split(value).find((address) => !isMailAddress(address));
      if (wrong !== undefined) return `${wrong} is not a mail address.`;
      return split(value).length === 0 ? "Write at least one mail address." : undefined;
    },
  });
  return split(text);
}

async function askForSender(prompts: Prompts | undefined, user: string, to: readonly string[]): Promise<string> {
  if (isMailAddress(user)) return user;
  const missing = "there is no sender: the user of SMTP_URL is no mail address";
  return ask(prompts, missing, "name it with --from tocsin@example.com").text("Sender of the mail", {
    initial: `tocsin@${to[0]?.split("@")[1] ?? "example.com"}`,
    check: (value) => (parseMailAddress(value) === undefined ? `${value} is not a mail address.` : undefined),
  });
}

/** Empty for an address that cannot be read. The configuration reports the mistake. */
export function userOf(smtpUrl: string): string {
  try {
    return decodeURIComponent(new URL(smtpUrl).username);
  } catch {
    return "";
  }
}
