import { AppError } from "../../core/errors.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { type BotSession, mostUpdates } from "../../vendors/telegram/bot-session.ts";
import { readUpdate, type SeenUpdate } from "../../vendors/telegram/read-update.ts";
import type { CliContext } from "../shell/context.ts";

export interface Listening {
  /** Epoch milliseconds. What waits already is taken in any case. */
  endAt: number;
  /** Let Telegram forget what was taken. */
  confirm: boolean;
  onUpdate(update: SeenUpdate): Promise<void>;
  /** As many wait as Telegram shows at a time, so newer ones are out of sight. */
  onFull(): Promise<void>;
  /** The first look has taken what was there, and nobody has ended it. */
  onWaiting?(): Promise<void>;
  /** Said once for each reason. */
  onFailed(why: string): Promise<void>;
}

/** Telegram answers at once while something waits, so it is asked again after this. */
const lookEveryMs = 1_000;
const longestWaitS = 25;
const lastWordMs = 5_000;

/**
 * Takes what the bot is told, until `endAt` or an abort of the context. Without `confirm` no `offset` is given, so nothing is
 * marked as read: every other program still gets all of it, and this one sees at most the oldest 100 that wait.
 * @throws AppError `upstream_conflict` when another program takes the updates, and what Telegram refuses.
 */
export async function listen(context: CliContext, session: BotSession, options: Listening): Promise<void> {
  const { now, signal } = context;
  const { endAt, confirm } = options;
  const failures = new Set<string>();
  let seen = new Set<number>();
  let offset: number | undefined;
  let isWaiting = true;
  let wasFull = false;
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
        for (const update of updates) if (!seen.has(update.id)) await options.onUpdate(update);
        seen = new Set(updates.map(({ id }) => id));
        if (confirm && seen.size > 0) {
          offset = Math.max(...seen) + 1;
          pauseMs = 0;
        }
        isWaiting = seen.size > 0;
        if (!confirm && !wasFull && polled.updates.length >= mostUpdates) {
          wasFull = true;
          await options.onFull();
        }
        break;
      }
      case "taken":
        throw taken(polled.by);
      case "refused":
        throw polled.error;
      case "failed":
        if (!failures.has(polled.why)) await options.onFailed(polled.why);
        failures.add(polled.why);
        pauseMs = polled.waitMs;
        break;
      default:
        polled satisfies never;
    }
    if (isFirst && !signal.aborted) await options.onWaiting?.();
    isFirst = false;
    pauseMs = Math.min(pauseMs, Math.max(0, endAt - now()));
    if (pauseMs > 0) await context.sleep(pauseMs, signal).catch(() => {});
  } while (!signal.aborted && now() < endAt);
  // What was shown last is forgotten with the next question.
  if (offset !== undefined)
    await withTimeLimit(lastWordMs, undefined, (limit) => session.poll({ offset, timeoutS: 0 }, limit.signal));
}

function taken(by: "webhook" | "program"): AppError {
  if (by === "webhook") {
    return new AppError("upstream_conflict", "a webhook takes this bot's updates, so nobody can listen", {
      hint: otherBot,
    });
  }
  return new AppError("upstream_conflict", "another program listens on this bot, and only one can", {
    hint: `stop it for as long as this runs. Or ${otherBot}`,
  });
}

/** Nobody's webhook is deleted here: a program that lives by it would go deaf. */
export const otherBot =
  "make Tocsin a bot of its own (/newbot at @BotFather). Sending is not touched by this, and the chats of the configuration are shown all the same";
