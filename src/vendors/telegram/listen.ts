import type { Now } from "../../core/clock.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { type BotSession, mostUpdates } from "./bot-session.ts";
import type { KnownChats, News } from "./known-chats.ts";
import { readUpdate } from "./read-update.ts";

/** `waiting`: the first look is over. A note is a line for people. */
export type Heard = { news: News } | { note: string } | "waiting";

interface Listening {
  now: Now;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  signal: AbortSignal;
}

/** The pause between looks without `confirm`, where Telegram answers at once while updates wait. */
const lookEveryMs = 1_000;
const longestWaitS = 25;
const lastWordMs = 5_000;

const privateNote = "Somebody wrote to the bot in private. Tocsin writes to groups and channels: add it to one.";
const fullNote =
  `${mostUpdates} updates wait that no program has taken, and Telegram shows no ` +
  "newer ones until those are. If nobody else needs them: tocsin chats --confirm";

/**
 * Yields the bot's updates until `endAt` (epoch milliseconds) or an abort, and at least the waiting ones. Without
 * `confirm` Telegram keeps all updates for other programs, and this one sees the oldest `mostUpdates`.
 * @throws as `BotSession.poll`
 */
export async function* listen(
  { now, sleep, signal }: Listening,
  session: BotSession,
  chats: KnownChats,
  { endAt, confirm }: { endAt: number; confirm: boolean },
): AsyncGenerator<Heard> {
  const said = new Set<string>();
  function* once(note: string): Generator<Heard> {
    if (!said.has(note)) yield { note };
    said.add(note);
  }
  let seen = new Set<number>();
  let offset: number | undefined;
  let isWaiting = true;
  for (let isFirst = true; ; isFirst = false) {
    // Without a wait, as updates may already be there.
    const timeoutS = isWaiting ? 0 : Math.min(longestWaitS, Math.floor(Math.max(0, endAt - now()) / 1_000));
    const polled = await session.poll({ offset, timeoutS }, signal);
    if (signal.aborted) break;
    let pauseMs = timeoutS === 0 ? lookEveryMs : 0;
    if ("why" in polled) {
      yield* once(`${polled.why}; trying on`);
      pauseMs = polled.waitMs;
    } else {
      const updates = polled.updates.flatMap((update) => readUpdate(update) ?? []);
      for (const { id, chat } of updates) {
        if (chat === undefined || seen.has(id)) continue;
        if (chat.isPrivate) yield* once(privateNote);
        else for (const news of await chats.addSeen(chat, signal)) yield { news };
      }
      seen = new Set(updates.map(({ id }) => id));
      isWaiting = seen.size > 0;
      if (confirm && isWaiting) {
        offset = Math.max(...seen) + 1;
        pauseMs = 0;
      }
      if (!confirm && polled.updates.length >= mostUpdates) yield* once(fullNote);
    }
    if (isFirst && !signal.aborted) yield "waiting";
    pauseMs = Math.min(pauseMs, Math.max(0, endAt - now()));
    if (pauseMs > 0) await sleep(pauseMs, signal).catch(() => {});
    if (signal.aborted || now() >= endAt) break;
  }
  // Telegram takes updates as read only at a question with a later `offset`.
  if (offset !== undefined)
    await withTimeLimit(lastWordMs, undefined, (limit) => session.poll({ offset, timeoutS: 0 }, limit.signal));
}
