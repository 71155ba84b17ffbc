import { AppError } from "../../core/errors.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import type { Panel } from "../../panels/panel.ts";
import { paragraph, say, tableOf } from "../../panels/sections.ts";
import { type BotDescription, openBotSession, webhookSet } from "../../vendors/telegram/bot-session.ts";
import { type KnownChat, KnownChats } from "../../vendors/telegram/known-chats.ts";
import { listen } from "../../vendors/telegram/listen.ts";
import {
  type ChatsOfBot,
  describeNews,
  describeTopic,
  howToAdd,
  type Proposal,
  proposeDestinations,
} from "../../vendors/telegram/new-chat.ts";
import type { Run } from "../command.ts";
import { errorDocument } from "../shell/output.ts";
import type { ChatsOptions } from "./chats.ts";
import { type ConfiguredBot, findBots } from "./find-bots.ts";

interface BotOutcome extends ChatsOfBot {
  description?: BotDescription;
  /** Why the bot could not be asked, or not be listened to. */
  problem?: AppError;
}

/** Handles one bot after another. Nothing changes at Telegram without `confirm`. Exit status 1 when a bot failed. */
export async function runChats(run: Run, options: ChatsOptions): Promise<void> {
  const { context, output } = run;
  const found = findBots(context);
  if (found.isPartial) {
    await output.note(
      "the configuration has mistakes (tocsin check lists them), so only TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_IDS were read",
    );
  }
  const startedAt = context.now();
  const outcomes = await Promise.all(found.bots.map((bot) => askBot(run, bot, options)));
  const tookMs = context.now() - startedAt;
  await output.progress.clear();
  const [only] = outcomes;
  // For a single bot without any known fact, the error is the whole result.
  if (outcomes.length === 1 && only?.problem !== undefined && only.description === undefined) throw only.problem;
  const problems = outcomes.flatMap(({ botId, problem }) => (problem === undefined ? [] : [{ botId, problem }]));
  for (const { botId, problem } of problems) {
    await output.note(`error: ${outcomes.length > 1 ? `bot ${botId}: ` : ""}${problem.message}`);
    if (problem.hint !== undefined) await output.note(`hint:  ${problem.hint}`);
  }
  if (problems.length > 0) context.setExitStatus(1);

  const chats = outcomes.flatMap((outcome) => outcome.chats);
  const seen = chats.filter(({ isSeen }) => isSeen).length;
  const proposal = proposeDestinations(outcomes, found);
  const data = {
    bots: outcomes.map(({ botId: id, description, problem }) => ({
      id,
      ...description,
      ...(problem && { problem: errorDocument(problem) }),
    })),
    chats: chats.map(({ botId, ...chat }) => ({ ...chat, botId })),
    seen,
    ended: context.signal.aborted ? "stopped" : "time",
    tookMs,
    ...proposal,
  };
  await output.result(data, () => {
    if (problems.length === outcomes.length) return proposalPanel(proposal);
    const more = say` Write the line above in the group, or add the bot to it, while this runs: ${{ code: "tocsin chats --for 5m" }}`;
    const isNone = seen === 0 && !context.signal.aborted;
    return [
      paragraph`${countOf(seen, "chat")} seen in ${lengthOf(tookMs)}.${isNone && more}`,
      ...proposalPanel(proposal),
    ];
  });
}

async function askBot(run: Run, { bot, isDefault, places }: ConfiguredBot, options: ChatsOptions): Promise<BotOutcome> {
  const { context, output } = run;
  const { signal } = context;
  const session = openBotSession(bot);
  const known = new KnownChats(session);
  const outcome: BotOutcome = { botId: bot.id, isDefault, chats: [] };
  try {
    outcome.description = await session.describe(signal);
    for (const line of howToAdd(bot.id, outcome.description)) await output.note(line);
    await known.addConfigured(places, signal);
    if (!signal.aborted && places.length > 0) await output.print(`${output.draw(configuredPanel(known.all))}\n`);
    const { webhookHost } = outcome.description;
    if (webhookHost !== undefined) throw webhookSet(webhookHost);
    if (!signal.aborted) {
      const endAt = context.now() + options.for;
      const heard = listen(context, session, known, { endAt, confirm: options.confirm ?? false });
      await tellHeard(run, heard, known, options);
    }
  } catch (error) {
    // Ctrl-C ends it at any moment, and the known facts are shown.
    if (!signal.aborted) {
      if (!(error instanceof AppError)) throw error;
      outcome.problem = error;
    }
  } finally {
    await session.close();
  }
  return { ...outcome, chats: known.all };
}

async function tellHeard(
  { context, output }: Run,
  heard: ReturnType<typeof listen>,
  known: KnownChats,
  { for: forMs, confirm }: ChatsOptions,
): Promise<void> {
  const fate = confirm
    ? "What is shown is marked as read (--confirm): no other program of this bot gets it."
    : "Nothing is marked as read, so another program of this bot still gets all of it.";
  if (forMs > 0) await output.note(`Listening for ${lengthOf(forMs)}; Ctrl-C ends it. ${fate}`);
  const until = new Date(context.now() + forMs).toISOString().slice(11, 19);
  const showProgress = () => {
    const seen = countOf(known.all.filter(({ isSeen }) => isSeen).length, "chat");
    return output.progress.update(`listening until ${until} UTC, ${seen} seen`);
  };
  await showProgress();
  for await (const one of heard) {
    if (one === "waiting") continue;
    if ("note" in one) await output.note(one.note);
    else await output.print([paragraph`${{ bold: one.news.chat.id }}  ${describeNews(one.news)}`]);
    await showProgress();
  }
  if (known.isFull) await output.note("the bot is in more than 200 chats; the others are not shown");
}

export const configuredPanel = (chats: readonly KnownChat[]): Panel => [
  tableOf(chats, {
    chat: ({ id }) => id,
    type: ({ type }) => type,
    title: ({ title }) => title,
    topics: ({ topics }) => topics.map(describeTopic).join(", "),
    "the bot": ({ rights }) => rights,
    destination: ({ destinations, topics }) =>
      [...destinations, ...topics.flatMap((topic) => topic.destinations)].join(", "),
  }),
];

function proposalPanel({ chatIds, yaml }: Proposal): Panel {
  if (yaml === undefined) return [];
  const block = (text: string) => ({ kind: "block", text }) as const;
  return [
    ...(chatIds === undefined ? [] : [paragraph`For every alert there, set:`, block(`TELEGRAM_CHAT_IDS=${chatIds}`)]),
    paragraph`${chatIds === undefined ? "In" : "Or, for routes of your own, in"} tocsin.yaml:`,
    block(yaml),
  ];
}
