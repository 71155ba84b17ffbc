import { AppError } from "../../core/errors.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { type BotSession, mostUpdates } from "../../vendors/telegram/bot-session.ts";
import { readUpdate } from "../../vendors/telegram/read-update.ts";
import type { CliContext } from "../shell/context.ts";
import type { KnownChats, News } from "./known-chats.ts";

/** `waiting`: the first look has taken what was there. A note is worth a line for a person. */
export type Heard = { news: News } | { note: string } | "waiting";

/** Telegram answers at once while something waits, so it is asked again after this. */
const lookEveryMs = 1_000;
const longestWaitS = 25;
const lastWordMs = 5_000;

/**
 * What the bot is told, until `endAt` (epoch milliseconds; what waits already is taken in any case) or an abort of the
 * context. Without `confirm` no `offset` is given, so nothing is marked as read: every other program still gets all of
 * it, and this one sees at most the oldest 100 that wait.
 * @throws AppError `upstream_conflict` when another program takes the updates, and what Telegram refuses.
 */
export async function* listen(
  { now, sleep, signal }: CliContext,
  session: BotSession,
  chats: KnownChats,
  { endAt, confirm }: { endAt: number; confirm: boolean },
): AsyncGenerator<Heard> {
  const said = new Set<string>();
  function* once(note: string): Generator<Heard> {
    if (said.has(note)) return;
    said.add(note);
    yield { note };
  }
  let seen = new Set<number>();
  let offset: number | undefined;
  let isWaiting = true;
  let isFirst = true;

  do {
    const leftMs = Math.max(0, endAt - now());
    // The first look takes what is there already.
    const timeoutS = isWaiting ? 0 : Math.min(longestWaitS, Math.floor(leftMs / 1_000));
    const polled = await session.poll({ offset, timeoutS }, signal);
    if (signal.aborted) break;
    let pauseMs = timeoutS === 0 ? lookEveryMs : 0;
    switch (polled.kind) {
      case "updates": {
        const updates = polled.updates.flatMap((update) => readUpdate(update) ?? []);
        for (const { id, chat } of updates) {
          if (chat === undefined || seen.has(id)) continue;
          if (chat.isPrivate) yield* once(privateNote);
          else for (const news of await chats.addSeen(chat, signal)) yield { news };
        }
        seen = new Set(updates.map(({ id }) => id));
        if (confirm && seen.size > 0) {
          offset = Math.max(...seen) + 1;
          pauseMs = 0;
        }
        isWaiting = seen.size > 0;
        if (!confirm && polled.updates.length >= mostUpdates) yield* once(fullNote);
        break;
      }
      case "taken":
        throw polled.by === "webhook"
          ? webhookSet("")
          : new AppError("upstream_conflict", "another program listens on this bot, and only one can", {
              hint: `stop it for as long as this runs. Or ${otherBot}`,
            });
      case "refused":
        throw polled.error;
      case "failed":
        yield* once(`${polled.why}; trying on`);
        pauseMs = polled.waitMs;
        break;
      default:
        polled satisfies never;
    }
    if (isFirst && !signal.aborted) yield "waiting";
    isFirst = false;
    pauseMs = Math.min(pauseMs, Math.max(0, endAt - now()));
    if (pauseMs > 0) await sleep(pauseMs, signal).catch(() => {});
  } while (!signal.aborted && now() < endAt);
  // What was shown last is forgotten with the next question.
  if (offset !== undefined)
    await withTimeLimit(lastWordMs, undefined, (limit) => session.poll({ offset, timeoutS: 0 }, limit.signal));
}

const privateNote = "Somebody wrote to the bot in private. Tocsin writes to groups and channels: add it to one.";
const fullNote =
  "100 updates wait that no program has taken, and Telegram shows no newer ones until those are. If nobody else needs them: tocsin chats --confirm";

/** Nobody's webhook is deleted here: a program that lives by it would go deaf. */
const otherBot =
  "make Tocsin a bot of its own (/newbot at @BotFather). Sending is not touched by this, and the chats of the configuration are shown all the same";

/** @param to the host that the webhook leads to, if that is known */
export function webhookSet(to: string, instead = ""): AppError {
  const where = to === "" ? "" : ` to ${to}`;
  return new AppError("upstream_conflict", `a webhook sends this bot's updates${where}, so nobody can listen`, {
    hint: `${instead}${otherBot}`,
  });
}
