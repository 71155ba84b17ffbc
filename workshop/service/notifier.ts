import { setMaxListeners } from "node:events";
import { z } from "zod";
import type { Secret } from "../../src/core/secret.ts";
import { networkCodeOf } from "../../src/ground/net/network-code.ts";
import { isTimeout, withTimeLimit } from "../../src/ground/net/time-limit.ts";
import { readJson } from "../../src/ground/text/read-json.ts";
import { type AlertEvent, composeNotifications, describeEvent, type NotificationBody } from "./notification.ts";
import type { ServiceSandbox } from "./service.ts";
import type { NotificationAttempt, SandboxAccount, SandboxNotification, SandboxState } from "./state.ts";

const backoffMs = [1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000] as const;

/** The most finished notifications in the log. */
const keptNotifications = 1000;

/**
 * Sends events to an account's outputs, each until one attempt is accepted, with back-off:
 *     pending ──2xx──▶ delivered
 *        │──anything else──▶ pending, due later │ failed (attempts used up)
 *        └──output disabled or changed to null──▶ cancelled
 * An attempt that hangs holds one of its output's `deliveryConcurrency` places until its timeout.
 */
export class Notifier {
  readonly #lanes = new Map<string, Lane>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #post: ReturnType<typeof createPost>;

  constructor(private readonly sandbox: ServiceSandbox) {
    this.#post = createPost(sandbox.settings);
    // Every notification under way listens. Many listeners are no leak.
    setMaxListeners(0, this.#closing.signal);
    for (const notification of sandbox.state.notifications) {
      if (notification.state === "pending") this.#laneOf(notification).pending.add(notification);
    }
  }

  /** One notification for each output and event, or for each batch in the shape `batch`. Starts as many as it may. */
  notify(account: SandboxAccount, events: readonly AlertEvent[]): void {
    const { state, accounts, settings } = this.sandbox;
    const { now } = settings;
    const queue = (output: SandboxNotification["output"], body: NotificationBody): SandboxNotification => ({
      ...{ id: accounts.newId("ntf"), accountId: account.id, output, ...body },
      ...{ createdAt: now(), state: "pending", dueAt: now(), attempts: [] },
    });
    const asText = (event: AlertEvent) => {
      const text = describeEvent(event);
      return { eventIds: [event.id], summary: text, contentType: "text/plain", body: text };
    };
    const queued = [
      ...(account.webhookUrl === null ? [] : composeNotifications(state.shape, events)).map((body) =>
        queue("webhook", body),
      ),
      ...(this.#hasChannel(account) ? events : []).map((event) => queue("messenger", asText(event))),
    ];
    for (const notification of queued) this.#laneOf(notification).pending.add(notification);
    state.notifications = state.notifications.concat(queued);
    forgetOldest(state);
    this.sandbox.changed();
    this.runDue();
  }

  hasOutput(account: SandboxAccount): boolean {
    return account.webhookUrl !== null || this.#hasChannel(account);
  }

  runDue(): void {
    for (const lane of this.#lanes.values()) this.#run(lane);
  }

  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Ends the attempts under way without counting them, and starts no more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#underWay);
  }

  #hasChannel({ messengerChannelId }: SandboxAccount): boolean {
    return messengerChannelId !== null && this.sandbox.settings.botToken !== undefined;
  }

  #laneOf({ accountId, output }: SandboxNotification): Lane {
    const name = `${accountId} ${output}`;
    const lane = this.#lanes.get(name) ?? { pending: new Set(), busy: new Set() };
    this.#lanes.set(name, lane);
    return lane;
  }

  #run(lane: Lane): void {
    const { deliveryConcurrency, now } = this.sandbox.settings;
    for (const notification of lane.pending) {
      if (lane.busy.size >= deliveryConcurrency || this.#closing.signal.aborted) return;
      if (lane.busy.has(notification) || (notification.dueAt ?? 0) > now()) continue;
      lane.busy.add(notification);
      const attempt = this.#tryOnce(notification).finally(() => {
        lane.busy.delete(notification);
        this.#underWay.delete(attempt);
        this.#run(lane);
      });
      this.#underWay.add(attempt);
    }
  }

  async #tryOnce(notification: SandboxNotification): Promise<void> {
    const { accounts, settings } = this.sandbox;
    const { now, deliveryAttempts } = settings;
    const { webhookUrl, messengerChannelId } = accounts.getAccount(notification.accountId);
    const target = notification.output === "webhook" ? webhookUrl : messengerChannelId;
    if (target === null) return this.#finish(notification, "cancelled");
    const at = now();
    const { attempt, waitMs } = await this.#post(notification, target, this.#closing.signal);
    // The sandbox ended the attempt, so its result is unknown. It stays pending, and a restart sends it again.
    if (this.#closing.signal.aborted) return;
    notification.attempts.push({ at, durationMs: now() - at, ...attempt });
    if (attempt.outcome === "accepted") this.#finish(notification, "delivered");
    else if (notification.attempts.length >= deliveryAttempts) this.#finish(notification, "failed");
    else this.#postpone(notification, waitMs ?? 0);
  }

  /** A receiver's requested wait is in its own clock's time, so it is not shortened. */
  #postpone(notification: SandboxNotification, askedMs: number): void {
    const { random, speed, now } = this.sandbox.settings;
    const tried = Math.min(notification.attempts.length, backoffMs.length);
    const jittered = ((backoffMs[tried - 1] ?? 1000) / speed) * (0.8 + 0.4 * random());
    notification.dueAt = Math.round(now() + Math.max(jittered, askedMs));
    this.sandbox.changed();
  }

  #finish(notification: SandboxNotification, outcome: "delivered" | "failed" | "cancelled"): void {
    notification.state = outcome;
    this.#laneOf(notification).pending.delete(notification);
    delete notification.dueAt;
    this.sandbox.changed();
  }
}

/** One output of one account with its own places, so a hanging receiver delays no other. */
interface Lane {
  pending: Set<SandboxNotification>;
  busy: Set<SandboxNotification>;
}

/** Drops the oldest finished notifications. Pending ones stay. */
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

interface PostAnswer {
  attempt: Pick<NotificationAttempt, "status" | "outcome" | "detail">;
  waitMs?: number;
}

const botAnswerSchema = z.object({
  description: z.string().optional(),
  parameters: z.object({ retry_after: z.number().optional() }).optional(),
});

const textLimit = 4096;

interface PostOptions {
  /** On the wall clock, as the network does not follow an injected one. */
  deliveryTimeoutMs: number;
  botToken?: Secret;
  telegramApiRoot: string;
}

/** One attempt at one output. Never throws. `target`: the webhook's URL or the channel's id. */
export function createPost(options: PostOptions) {
  const { deliveryTimeoutMs: timeoutMs, telegramApiRoot } = options;
  const botToken = options.botToken?.reveal() ?? "";
  const requestOf = ({ output, contentType, body }: SandboxNotification, target: string) => {
    if (output === "webhook")
      return { url: target, headers: { "content-type": contentType, "user-agent": "alerting-sandbox" }, body };
    const message = { chat_id: target, text: body.slice(0, textLimit) };
    const headers = { "content-type": "application/json" };
    return { url: `${telegramApiRoot}/bot${botToken}/sendMessage`, headers, body: JSON.stringify(message) };
  };
  return async (notification: SandboxNotification, target: string, stop: AbortSignal): Promise<PostAnswer> => {
    try {
      return await withTimeLimit(timeoutMs, stop, async ({ signal }) => {
        const { url, ...request } = requestOf(notification, target);
        const response = await fetch(url, { method: "POST", ...request, redirect: "manual", signal });
        // Read to the end, or later attempts could not reuse the connection.
        const text = await response.text();
        const { description = `HTTP ${response.status}`, waitMs } =
          notification.output === "webhook" ? { waitMs: waitOf(response) } : readBotAnswer(text);
        const outcome = response.ok ? "accepted" : "refused";
        return { attempt: { status: response.status, outcome, detail: description }, waitMs };
      });
    } catch (error) {
      // Some of the network's own messages hold the address with its secret.
      const why = isTimeout(error) ? `within ${timeoutMs} ms` : `(${networkCodeOf(error) ?? "no code"})`;
      return { attempt: { outcome: "unanswered", detail: `no answer ${why}` } };
    }
  };
}

function waitOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function readBotAnswer(text: string): { description?: string; waitMs?: number } {
  const { description, parameters } = botAnswerSchema.safeParse(readJson(text)).data ?? {};
  const retryAfter = parameters?.retry_after;
  return { description, waitMs: retryAfter === undefined ? undefined : retryAfter * 1000 };
}
