import { setMaxListeners } from "node:events";
import { z } from "zod";
import type { Now, Random } from "../../src/core/clock.ts";
import type { Secret } from "../../src/core/secret.ts";
import { networkCodeOf } from "../../src/ground/net/network-code.ts";
import { isTimeout, withTimeLimit } from "../../src/ground/net/time-limit.ts";
import type { Accounts } from "./accounts.ts";
import { type AlertEvent, composeNotifications, describeEvent } from "./notification.ts";
import type { NotificationAttempt, SandboxAccount, SandboxNotification, SandboxState } from "./state.ts";

/**
 * Sends events to an account's outputs, each until one attempt is accepted, with back-off:
 *
 *     pending ──2xx──▶ delivered
 *        │──anything else──▶ pending, due later │ failed (attempts used up)
 *        └──output disabled or changed to null──▶ cancelled
 *
 * An attempt runs beside everything else: one that hangs holds one of its output's `concurrency` places until its
 * timeout.
 */
export interface Notifier {
  /** Queues one notification per output and event (per batch, in the shape `batch`), and starts what is free. */
  notify(account: SandboxAccount, events: readonly AlertEvent[]): SandboxNotification[];
  /** Whether the account has an output that is notified. */
  hasOutput(account: SandboxAccount): boolean;
  /** Starts the attempts that are due. */
  runDue(): void;
  /** Resolves when no attempt is under way. */
  settled(): Promise<void>;
  /** Ends the attempts under way without counting them, and starts no more. */
  close(): Promise<void>;
}

const backoffMs = [1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000] as const;

/** Finished notifications that are kept for the log. */
const keptNotifications = 1000;

export function createNotifier(
  deps: {
    state: SandboxState;
    accounts: Accounts;
    post: Post;
    now: Now;
    random: Random;
    changed: () => void;
  },
  options: { speed: number; attempts: number; concurrency: number; hasBot: boolean },
): Notifier {
  const { state, now } = deps;
  const lanes = new Map<string, Lane>();
  const underWay = new Set<Promise<void>>();
  const closing = new AbortController();
  // Every notification under way listens, so that many listeners are no sign of a leak.
  setMaxListeners(0, closing.signal);
  for (const notification of state.notifications) {
    if (notification.state === "pending") laneOf(notification).pending.add(notification);
  }

  function laneOf({ accountId, output }: SandboxNotification): Lane {
    const name = `${accountId} ${output}`;
    const lane = lanes.get(name) ?? { pending: new Set(), busy: new Set() };
    lanes.set(name, lane);
    return lane;
  }

  function notify(account: SandboxAccount, events: readonly AlertEvent[]): SandboxNotification[] {
    const queued: SandboxNotification[] = [];
    const base = { accountId: account.id, createdAt: now(), state: "pending" as const, dueAt: now() };
    if (account.webhookUrl !== null) {
      for (const body of composeNotifications(state.shape, events)) {
        queued.push({ ...base, ...body, id: deps.accounts.newId("ntf"), output: "webhook", attempts: [] });
      }
    }
    if (account.messengerChannelId !== null && options.hasBot) {
      for (const event of events) {
        const text = describeEvent(event);
        const facts = { eventIds: [event.id], summary: text, contentType: "text/plain", body: text };
        queued.push({ ...base, ...facts, id: deps.accounts.newId("ntf"), output: "messenger", attempts: [] });
      }
    }
    for (const notification of queued) laneOf(notification).pending.add(notification);
    state.notifications = state.notifications.concat(queued);
    forgetOldest(state);
    deps.changed();
    runDue();
    return queued;
  }

  function runDue(): void {
    if (closing.signal.aborted) return;
    for (const lane of lanes.values()) runLane(lane);
  }

  function runLane(lane: Lane): void {
    for (const notification of lane.pending) {
      if (lane.busy.size >= options.concurrency) return;
      if (lane.busy.has(notification) || (notification.dueAt ?? 0) > now()) continue;
      lane.busy.add(notification);
      const attempt = tryOnce(notification).finally(() => {
        lane.busy.delete(notification);
        underWay.delete(attempt);
        if (!closing.signal.aborted) runLane(lane);
      });
      underWay.add(attempt);
    }
  }

  async function tryOnce(notification: SandboxNotification): Promise<void> {
    const account = deps.accounts.getAccount(notification.accountId);
    const target = notification.output === "webhook" ? account.webhookUrl : account.messengerChannelId;
    if (target === null) {
      finish(notification, "cancelled");
      return;
    }
    const at = now();
    const answer = await deps.post(notification, target, closing.signal);
    // Ended by us, so nothing is known: it stays pending, and a restart sends it again.
    if (closing.signal.aborted) return;
    notification.attempts.push({ at, durationMs: now() - at, ...answer.attempt });
    settle(notification, answer.attempt.outcome === "accepted", answer.waitMs);
  }

  function settle(notification: SandboxNotification, isAccepted: boolean, waitMs: number | undefined): void {
    const tried = notification.attempts.length;
    if (isAccepted || tried >= options.attempts) {
      finish(notification, isAccepted ? "delivered" : "failed");
      return;
    }
    const planned = (backoffMs[Math.min(tried, backoffMs.length) - 1] ?? 1000) / options.speed;
    const jittered = planned * (0.8 + 0.4 * deps.random());
    // What a receiver asks for is its own clock's time and is not shortened.
    notification.dueAt = Math.round(now() + Math.max(jittered, waitMs ?? 0));
    deps.changed();
  }

  function finish(notification: SandboxNotification, outcome: "delivered" | "failed" | "cancelled"): void {
    notification.state = outcome;
    laneOf(notification).pending.delete(notification);
    delete notification.dueAt;
    deps.changed();
  }

  return {
    notify,
    hasOutput: ({ webhookUrl, messengerChannelId }) =>
      webhookUrl !== null || (messengerChannelId !== null && options.hasBot),
    runDue,
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    async close() {
      closing.abort();
      await Promise.all(underWay);
    },
  };
}

/** One output of one account: its own places, so that a receiver that hangs holds up nobody else. */
interface Lane {
  /** Oldest first. */
  pending: Set<SandboxNotification>;
  /** With an attempt under way. */
  busy: Set<SandboxNotification>;
}

/** Keeps every pending notification and the newest finished ones. */
function forgetOldest(state: SandboxState): void {
  let surplus = state.notifications.filter((notification) => notification.state !== "pending").length;
  surplus -= keptNotifications;
  if (surplus <= 0) return;
  state.notifications = state.notifications.filter((notification) => {
    if (notification.state === "pending" || surplus <= 0) return true;
    surplus -= 1;
    return false;
  });
}

export interface PostAnswer {
  attempt: Pick<NotificationAttempt, "status" | "outcome" | "detail">;
  /** The receiver asked to wait this long. */
  waitMs?: number;
}

/** One attempt at one output; never throws. `target` is the webhook's URL or the channel's id. */
export type Post = (notification: SandboxNotification, target: string, signal: AbortSignal) => Promise<PostAnswer>;

const botAnswerSchema = z.object({
  description: z.string().optional(),
  parameters: z.object({ retry_after: z.number().optional() }).optional(),
});

/** Telegram's limit of a message's text. */
const textLimit = 4096;

/** `timeoutMs` is the wall's: the network does not run on an injected clock. */
export function createPost(options: { timeoutMs: number; botToken?: Secret; telegramApiRoot: string }): Post {
  return async (notification, target, signal) => {
    try {
      return await withTimeLimit(options.timeoutMs, signal, (limit) =>
        notification.output === "webhook"
          ? postWebhook(notification, target, limit.signal)
          : postMessage(options, notification, target, limit.signal),
      );
    } catch (error) {
      return { attempt: { outcome: "unanswered", detail: describeFailure(error, options.timeoutMs) } };
    }
  };
}

async function postWebhook(
  notification: SandboxNotification,
  target: string,
  signal: AbortSignal,
): Promise<PostAnswer> {
  const response = await fetch(target, {
    method: "POST",
    headers: { "content-type": notification.contentType, "user-agent": "alerting-sandbox" },
    body: notification.body,
    redirect: "manual",
    signal,
  });
  // Read to the end, or the connection is lost to later attempts.
  await response.arrayBuffer();
  const outcome = response.ok ? "accepted" : "refused";
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return {
    attempt: { status: response.status, outcome, detail: `HTTP ${response.status}` },
    waitMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined,
  };
}

async function postMessage(
  options: { botToken?: Secret; telegramApiRoot: string },
  notification: SandboxNotification,
  chatId: string,
  signal: AbortSignal,
): Promise<PostAnswer> {
  const token = options.botToken?.reveal() ?? "";
  const response = await fetch(`${options.telegramApiRoot}/bot${token}/sendMessage`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ chat_id: chatId, text: notification.body.slice(0, textLimit) }),
    redirect: "manual",
    signal,
  });
  const parsed = botAnswerSchema.safeParse(await response.json().catch(() => undefined));
  const answer = parsed.success ? parsed.data : {};
  const retryAfter = answer.parameters?.retry_after;
  return {
    attempt: {
      status: response.status,
      outcome: response.ok ? "accepted" : "refused",
      detail: answer.description ?? `HTTP ${response.status}`,
    },
    waitMs: retryAfter === undefined ? undefined : retryAfter * 1000,
  };
}

/**
 * The system's code says what happened; messages of the network are left out, for some hold the address and its secret.
 */
function describeFailure(error: unknown, timeoutMs: number): string {
  if (isTimeout(error)) return `no answer within ${timeoutMs} ms`;
  return `no answer (${networkCodeOf(error) ?? "no code"})`;
}
