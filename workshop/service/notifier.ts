import { setMaxListeners } from "node:events";
import { z } from "zod";
import { networkCodeOf } from "../../src/ground/net/network-code.ts";
import { parseRetryAfter } from "../../src/ground/net/retry-after.ts";
import { isTimeout, withTimeLimit } from "../../src/ground/net/time-limit.ts";
import { readJson } from "../../src/ground/text/read-json.ts";
import { type AlertEvent, composeNotifications } from "./notification.ts";
import type { Settings } from "./options.ts";
import type { ServiceSandbox } from "./service.ts";
import type { SandboxAccount, SandboxNotification } from "./state.ts";

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
    for (const one of sandbox.state.notifications) if (one.state === "pending") this.#laneOf(one).pending.add(one);
  }

  /** One notification for each output and event, or for each batch in the shape `batch`. Starts as many as it may. */
  notify(account: SandboxAccount, events: readonly AlertEvent[]): void {
    const { state, accounts, settings } = this.sandbox;
    const { now } = settings;
    const toWebhook = account.webhookUrl === null ? [] : composeNotifications(state.shape, events);
    const toChannel = this.#hasChannel(account) ? composeNotifications("text", events) : [];
    const toNotification = (output: "webhook" | "messenger") => (body: (typeof toWebhook)[number]) => ({
      ...{ id: accounts.newId("ntf"), accountId: account.id, output, ...body },
      ...{ createdAt: now(), state: "pending" as const, dueAt: now(), attempts: [] },
    });
    const queued = [...toWebhook.map(toNotification("webhook")), ...toChannel.map(toNotification("messenger"))];
    for (const notification of queued) this.#laneOf(notification).pending.add(notification);
    const finished = state.notifications.filter((one) => one.state !== "pending");
    const forgotten = new Set(finished.slice(0, -keptNotifications));
    state.notifications = [...state.notifications.filter((one) => !forgotten.has(one)), ...queued];
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
    const lane = this.#lanes.get(name) ?? { pending: new Set(), busy: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }

  #run(lane: Lane): void {
    const { deliveryConcurrency, now } = this.sandbox.settings;
    for (const notification of lane.pending) {
      if (lane.busy >= deliveryConcurrency || this.#closing.signal.aborted) return;
      if ((notification.dueAt ?? 0) > now()) continue;
      lane.pending.delete(notification);
      lane.busy += 1;
      const attempt = this.#tryOnce(notification).finally(() => {
        lane.busy -= 1;
        this.#underWay.delete(attempt);
        this.#run(lane);
      });
      this.#underWay.add(attempt);
    }
  }

  async #tryOnce(notification: SandboxNotification): Promise<void> {
    const { accounts, settings } = this.sandbox;
    const { webhookUrl, messengerChannelId } = accounts.getAccount(notification.accountId);
    const target = notification.output === "webhook" ? webhookUrl : messengerChannelId;
    if (target === null) return this.#finish(notification, "cancelled");
    const at = settings.now();
    const { attempt, waitMs } = await this.#post(notification, target, this.#closing.signal);
    // The sandbox ended the attempt, so its result is unknown. It stays pending, and a restart sends it again.
    if (this.#closing.signal.aborted) return;
    notification.attempts.push({ at, durationMs: settings.now() - at, ...attempt });
    if (attempt.outcome === "accepted") this.#finish(notification, "delivered");
    else if (notification.attempts.length > backoffMs.length) this.#finish(notification, "failed");
    else this.#postpone(notification, waitMs ?? 0);
  }

  /** A receiver's requested wait is in its own clock's time, so it is not shortened. */
  #postpone(notification: SandboxNotification, askedMs: number): void {
    const { random, speed, now } = this.sandbox.settings;
    const jittered = ((backoffMs[notification.attempts.length - 1] ?? 1000) / speed) * (0.8 + 0.4 * random());
    notification.dueAt = Math.round(now() + Math.max(jittered, askedMs));
    this.#laneOf(notification).pending.add(notification);
    this.sandbox.changed();
  }

  #finish(notification: SandboxNotification, outcome: "delivered" | "failed" | "cancelled"): void {
    notification.state = outcome;
    delete notification.dueAt;
    this.sandbox.changed();
  }
}

/** One output of one account with its own places, so a hanging receiver delays no other. */
interface Lane {
  /** Without those under way. */
  pending: Set<SandboxNotification>;
  busy: number;
}

const botAnswerSchema = z.object({
  description: z.string().optional(),
  parameters: z.object({ retry_after: z.number().optional() }).optional(),
});

const textLimit = 4096;

/** One attempt at one output. Never throws. `target`: the webhook's URL or the channel's id. */
export function createPost(
  { botToken, telegramApiRoot }: Pick<Settings, "botToken" | "telegramApiRoot">,
  /** On the wall clock, as the network does not follow an injected one. */
  timeoutMs = 10_000,
) {
  const post = (url: string, type: string, body: string, signal: AbortSignal) => {
    const headers = { "content-type": type, "user-agent": "alerting-sandbox" };
    return fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
  };
  return async ({ output, contentType, body }: SandboxNotification, target: string, stop: AbortSignal) => {
    try {
      return await withTimeLimit(timeoutMs, stop, async ({ signal }) => {
        const message = JSON.stringify({ chat_id: target, text: body.slice(0, textLimit) });
        const bot = `${telegramApiRoot}/bot${botToken?.reveal() ?? ""}/sendMessage`;
        const isWebhook = output === "webhook";
        const response = await (isWebhook
          ? post(target, contentType, body, signal)
          : post(bot, "application/json", message, signal));
        // Read to the end, or later attempts could not reuse the connection.
        const text = await response.text();
        const { description, parameters } = (!isWebhook && botAnswerSchema.safeParse(readJson(text)).data) || {};
        const { status } = response;
        const outcome = response.ok ? ("accepted" as const) : ("refused" as const);
        const asked = isWebhook ? response.headers.get("retry-after") : parameters?.retry_after?.toString();
        const waitMs = parseRetryAfter(asked, Date.now());
        return { attempt: { status, outcome, detail: description ?? `HTTP ${status}` }, waitMs };
      });
    } catch (error) {
      // Some of the network's own messages hold the address with its secret.
      const why = isTimeout(error) ? `within ${timeoutMs} ms` : `(${networkCodeOf(error) ?? "no code"})`;
      return { attempt: { outcome: "unanswered" as const, detail: `no answer ${why}` }, waitMs: undefined };
    }
  };
}
