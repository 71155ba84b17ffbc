import { AppError } from "../../core/errors.ts";
import { type BotDescription, type BotSession, openBotSession } from "../../vendors/telegram/bot-session.ts";
import { countOf, describeSpan } from "../shell/amounts.ts";
import type { CliContext } from "../shell/context.ts";
import { errorDocument, type Output } from "../shell/output.ts";
import { type ChatBook, createChatBook, type KnownChat } from "./chat-book.ts";
import { type ConfiguredBot, type FoundBots, findBots } from "./find-bots.ts";
import { listen, otherBot } from "./listen.ts";
import { describeNews, formatConfigured, formatSnippets, pressInTelegram, snippetsFor } from "./show-chats.ts";

export interface ChatsOptions {
  /** Milliseconds. */
  for: number;
  confirm?: boolean;
}

export interface ChatsRun {
  context: CliContext;
  output: Output;
}

/** What came of one bot. */
interface BotOutcome {
  botId: string;
  isDefault: boolean;
  description?: BotDescription;
  chats: KnownChat[];
  /** Why it could not be asked, or not be listened to. */
  problem?: AppError;
}

/**
 * Each bot in turn: who it is; the chats of the configuration at once; then what it is told, until the time is over or
 * Ctrl-C. Nothing at Telegram changes by it, unless `confirm` is given. Exit status 1 when a bot could not be listened to.
 */
export async function runChats(run: ChatsRun, options: ChatsOptions): Promise<void> {
  const { context, output } = run;
  const found = findBots(context);
  if (found.isPartial) {
    await output.note(
      "the configuration has mistakes (tocsin check lists them), so only TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_IDS were read",
    );
  }
  const startedAt = context.now();
  const outcomes = await Promise.all(found.bots.map((bot) => askBot(run, bot, options)));
  await output.progress.clear();
  const [only] = outcomes;
  // One bot of which nothing is known leaves nothing to show.
  if (outcomes.length === 1 && only?.problem !== undefined && only.description === undefined) throw only.problem;
  await report(run, found, outcomes, context.now() - startedAt);
  if (outcomes.some(({ problem }) => problem !== undefined)) context.setExitStatus(1);
}

async function askBot(run: ChatsRun, configured: ConfiguredBot, options: ChatsOptions): Promise<BotOutcome> {
  const { context, output } = run;
  const { signal } = context;
  const { bot, isDefault, places } = configured;
  const session = openBotSession(bot);
  const book = createChatBook(session);
  const outcome: BotOutcome = { botId: bot.id, isDefault, chats: [] };
  try {
    outcome.description = await session.describe(signal);
    for (const line of pressInTelegram(bot.id, outcome.description)) await output.note(line);
    await book.addConfigured(places, signal);
    if (!signal.aborted && places.length > 0) await output.print(formatConfigured(book.chats(), output));
    const { webhookHost } = outcome.description;
    if (webhookHost !== undefined) throw webhookSet(webhookHost);
    if (!signal.aborted) await listenTo(run, session, book, options);
  } catch (error) {
    // Ctrl-C ends it at any moment, and what is known by then is shown.
    if (!signal.aborted) {
      if (!(error instanceof AppError)) throw error;
      outcome.problem = error;
    }
  } finally {
    await session.close();
  }
  return { ...outcome, chats: book.chats() };
}

async function listenTo(run: ChatsRun, session: BotSession, book: ChatBook, options: ChatsOptions): Promise<void> {
  const { context, output } = run;
  const { for: forMs, confirm = false } = options;
  const endAt = context.now() + forMs;
  const fate = confirm
    ? "What is shown is marked as read (--confirm): no other program of this bot gets it."
    : "Nothing is marked as read, so another program of this bot still gets all of it.";
  if (forMs > 0) await output.note(`Listening for ${describeSpan(forMs)}; Ctrl-C ends it. ${fate}`);
  const showProgress = () => {
    const until = new Date(endAt).toISOString().slice(11, 19);
    const seen = countOf(book.chats().filter(({ isSeen }) => isSeen).length, "chat");
    return output.progress.update(`listening until ${until} UTC, ${seen} seen`);
  };
  let wasPrivate = false;
  await showProgress();
  await listen(context, session, {
    endAt,
    confirm,
    async onUpdate({ chat }) {
      if (chat === undefined) return;
      for (const news of await book.addSeen(chat, context.signal)) await output.print(describeNews(news, output));
      if (chat.isPrivate && !wasPrivate) {
        wasPrivate = true;
        await output.note("Somebody wrote to the bot in private. Tocsin writes to groups and channels: add it to one.");
      }
      await showProgress();
    },
    onFull: () =>
      output.note(
        "100 updates wait that no program has taken, and Telegram shows no newer ones until those are. If nobody else needs them: tocsin chats --confirm",
      ),
    onFailed: (why) => output.note(`${why}; trying on`),
  });
  if (book.isFull()) await output.note("the bot is in more than 200 chats; the others are not shown");
}

function webhookSet(host: string): AppError {
  return new AppError("upstream_conflict", `a webhook sends this bot's updates to ${host}, so nobody can listen`, {
    hint: otherBot,
  });
}

async function report(run: ChatsRun, found: FoundBots, outcomes: BotOutcome[], tookMs: number): Promise<void> {
  const { context, output } = run;
  const chats = outcomes.flatMap((outcome) => outcome.chats);
  const seen = chats.filter(({ isSeen }) => isSeen);
  const snippets = snippetsFor(found, outcomes);
  for (const { botId, problem } of outcomes) {
    if (problem === undefined) continue;
    const which = outcomes.length > 1 ? `bot ${botId}: ` : "";
    await output.note(`error: ${which}${problem.message}`);
    if (problem.hint !== undefined) await output.note(`hint:  ${problem.hint}`);
  }
  const data = {
    bots: outcomes.map(({ botId, description, problem }) => ({
      id: botId,
      ...description,
      ...(problem === undefined ? {} : { problem: errorDocument(problem) }),
    })),
    chats: chats.map(({ botId, ...chat }) => ({ ...chat, botId })),
    seen: seen.length,
    ended: context.signal.aborted ? "stopped" : "time",
    tookMs,
    ...snippets,
  };
  await output.result(data, () => {
    const listened = outcomes.some(({ problem }) => problem === undefined);
    const words = listened ? `${countOf(seen.length, "chat")} seen in ${describeSpan(tookMs)}.` : "";
    const none =
      listened && seen.length === 0 && !context.signal.aborted
        ? output.asTyped(
            " Write the line above in the group, or add the bot to it, while this runs: tocsin chats --for 5m",
          )
        : "";
    return `${words}${none}${words === "" ? "" : "\n"}${formatSnippets(snippets)}`;
  });
}
