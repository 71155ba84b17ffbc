import { z } from "zod";
import type { Secret } from "../../core/secret.ts";
import { networkCodeOf } from "../../ground/net/network-code.ts";
import { isTimeout, withTimeLimit } from "../../ground/net/time-limit.ts";
import type { NotificationAttempt, SandboxNotification } from "./state.ts";

export interface PostAnswer {
  attempt: Pick<NotificationAttempt, "status" | "outcome" | "detail">;
  /** The receiver asked to wait this long. */
  waitMs?: number;
}

/** One attempt at one output; never throws. `target` is the webhook's URL or the channel's id. */
export type Post = (
  notification: SandboxNotification,
  target: string,
  signal: AbortSignal,
) => Promise<PostAnswer>;

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

/** The system's code says what happened; messages of the network are left out, for some hold the address and its secret. */
function describeFailure(error: unknown, timeoutMs: number): string {
  if (isTimeout(error)) return `no answer within ${timeoutMs} ms`;
  return `no answer (${networkCodeOf(error) ?? "no code"})`;
}
