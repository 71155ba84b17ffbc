import { AppError } from "../../core/errors.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { type Panel, paragraph, say } from "../../panels/panel.ts";
import { type BotDescription, openBotSession, webhookSet } from "../../vendors/telegram/bot-session.ts";
import { type KnownChat, KnownChats, type KnownTopic, type News } from "../../vendors/telegram/known-chats.ts";
import { listen } from "../../vendors/telegram/listen.ts";
import type { Run } from "../command.ts";
import { errorDocument, type Output } from "../shell/output.ts";
import { terminalText } from "../shell/terminal-text.ts";
import { type ConfiguredBot, type FoundBots, findBots } from "./find-bots.ts";

export interface ChatsOptions {
  /** Milliseconds. */
  for: number;
  confirm?: boolean;
}

/** What came of one bot. */
export interface BotOutcome {
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
  // One bot of which nothing is known leaves nothing to show.
  if (outcomes.length === 1 && only?.problem !== undefined && only.description === undefined) throw only.problem;
  const problems = outcomes.flatMap(({ botId, problem }) => (problem === undefined ? [] : [{ botId, problem }]));
  for (const { botId, problem } of problems) {
    await output.note(`error: ${outcomes.length > 1 ? `bot ${botId}: ` : ""}${problem.message}`);
    if (problem.hint !== undefined) await output.note(`hint:  ${problem.hint}`);
  }
  if (problems.length > 0) context.setExitStatus(1);

  const chats = outcomes.flatMap((outcome) => outcome.chats);
  const seen = chats.filter(({ isSeen }) => isSeen).length;
  const snippets = snippetsFor(found, outcomes);
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
    ...snippets,
  };
  await output.result(data, () => {
    if (problems.length === outcomes.length) return snippetsPanel(snippets);
    const more = say` Write the line above in the group, or add the bot to it, while this runs: ${{ code: "tocsin chats --for 5m" }}`;
    const isNone = seen === 0 && !context.signal.aborted;
    return [
      paragraph`${countOf(seen, "chat")} seen in ${lengthOf(tookMs)}.${isNone && more}`,
      ...snippetsPanel(snippets),
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
    for (const line of pressInTelegram(bot.id, outcome.description)) await output.note(line);
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
    // Ctrl-C ends it at any moment, and what is known by then is shown.
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
    else await output.print(describeNews(one.news, output));
    await showProgress();
  }
  if (known.isFull) await output.note("the bot is in more than 200 chats; the others are not shown");
}

/** What to do in Telegram so that a chat shows up, for this bot: several lines, safe for a terminal. */
export function pressInTelegram(botId: string, description: BotDescription): string[] {
  const { username, name, readsAll, canJoinGroups, allowedUpdates } = description;
  const at = `@${username}`;
  const lines = [
    `bot ${at} ("${name}", ${botId}). In Telegram, while this runs:`,
    `  group    open it, tap its name, "Add members", ${at}. If the bot is in it already, write there: /start${at}`,
    `  topic    write in the topic: /start${at}`,
    `  channel  open it, tap its name, "Administrators", "Add admin", ${at}, with the right to post messages`,
  ];
  if (!canJoinGroups) lines.push(`  ${at} cannot be added to groups: send /setjoingroups to @BotFather and enable it`);
  if (!readsAll) lines.push(`  its privacy mode is on (good): in a group it sees only messages with ${at} in them`);
  const missing = ["message", "my_chat_member"].filter((kind) => allowedUpdates?.includes(kind) === false);
  if (missing.length > 0) {
    lines.push(
      `  another program has switched off its updates of kind ${missing.join(" and ")}; Tocsin leaves that as it is, so such chats do not show up`,
    );
  }
  return lines;
}

/** The chats that the configuration names, with what the bot may do there. */
export const configuredPanel = (chats: readonly KnownChat[]): Panel => [
  {
    kind: "table",
    columns: [
      { title: "chat", keep: true },
      ...["type", "title", "topics", "the bot", "destination"].map((title) => ({ title })),
    ],
    rows: chats.map(({ id, type, title, topics, rights, destinations }) => [
      ...[id, type, title, topics.map(describeTopic).join(", "), rights],
      [...destinations, ...topics.flatMap((topic) => topic.destinations)].join(", "),
    ]),
  },
];

function describeTopic({ id, name, isClosed }: KnownTopic): string {
  const title = name === undefined ? String(id) : `${id} "${name}"`;
  return isClosed === true ? `${title} (closed)` : title;
}

/** One line. */
export function describeNews({ chat, isChat, topic }: News, output: Output): string {
  const title = chat.title === undefined ? "" : ` "${chat.title}"`;
  const what = isChat || topic === undefined ? `${chat.type ?? "chat"}${title}: ${chat.rights}` : `${title.trim()}`;
  const closed =
    topic?.isClosed === true && !chat.managesTopics ? ", closed: the bot needs the right to manage topics there" : "";
  const of = topic === undefined ? "" : `; topic ${describeTopic(topic)}${closed}`;
  return `${output.style("bold", terminalText(chat.id))}  ${terminalText(`${what}${of}`)}\n`;
}

export interface Snippets {
  /** Value for TELEGRAM_CHAT_IDS with what is there already; absent when nothing is new. */
  chatIds?: string;
  /** For `tocsin.yaml`; absent when nothing is new. */
  yaml?: string;
}

/** What to paste so that alerts go to the chats that were seen, can be written to and are not configured. */
export function snippetsFor(found: FoundBots, outcomes: readonly BotOutcome[]): Snippets {
  const names = new Set(found.names);
  const ids: string[] = [];
  const entries: string[] = [];
  for (const { botId, isDefault, chats } of outcomes) {
    // The id alone holds what a stranger has written: the name is made of its letters, and titles stay out.
    const add = ({ id, title = "" }: KnownChat, topic?: KnownTopic) => {
      const name = freeName(`${title} ${topic?.name ?? topic?.id ?? ""}`, names);
      const place = topic === undefined ? "" : `    topicId: ${topic.id}\n`;
      const token = isDefault ? "" : `    botToken: \${TOKEN_OF_BOT_${botId}}\n`;
      entries.push(`  ${name}:\n    type: telegram\n    chatId: ${id}\n${place}${token}`);
    };
    for (const chat of chats) {
      if (chat.canPost === false) continue;
      const isNew = chat.isSeen && chat.destinations.length === 0;
      if (isNew && isDefault) ids.push(chat.id);
      if (isNew) add(chat);
      for (const topic of chat.topics) if (topic.destinations.length === 0) add(chat, topic);
    }
  }
  return {
    ...(ids.length > 0 && { chatIds: [...new Set([...found.envChatIds, ...ids])].join(",") }),
    ...(entries.length > 0 && { yaml: `destinations:\n${entries.join("")}` }),
  };
}

/** A name for a destination: small letters, digits and `-`, at most 40, beginning with a letter. */
function freeName(text: string, taken: Set<string>): string {
  const plain = text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  const short = plain.slice(0, 40).replace(/^[-0-9]+|-+$/g, "");
  const base = short === "" ? "chat" : short;
  let name = base;
  for (let next = 2; taken.has(name); next += 1) name = `${base}-${next}`;
  taken.add(name);
  return name;
}

export function snippetsPanel({ chatIds, yaml }: Snippets): Panel {
  if (yaml === undefined) return [];
  const block = (text: string) => ({ kind: "block", text }) as const;
  return [
    ...(chatIds === undefined ? [] : [paragraph`For every alert there, set:`, block(`TELEGRAM_CHAT_IDS=${chatIds}`)]),
    paragraph`${chatIds === undefined ? "In" : "Or, for routes of your own, in"} tocsin.yaml:`,
    block(yaml),
  ];
}
