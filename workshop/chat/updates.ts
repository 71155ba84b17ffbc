import { setTimeout as delay } from "node:timers/promises";
import { type Parameters, Refusal } from "./parameters.ts";

interface Update {
  update_id: number;
  [content: string]: unknown;
}

/**
 * https://core.telegram.org/bots/api#getting-updates : an offset confirms all updates before it. A webhook, or a second
 * listener, answers 409.
 */
export class UpdateQueue {
  webhook: string | undefined;
  #updates: Update[] = [];
  #lastId = 0;
  #waiting = new AbortController();

  add(content: Record<string, unknown>): void {
    this.#lastId += 1;
    this.#updates.push({ update_id: this.#lastId, ...content });
    this.wake("update");
  }

  /** Resolves after the `timeout` of `getUpdates` at the latest, or when `gone` aborts. @throws Refusal */
  async get({ offset = 0, limit, timeout }: Parameters, gone: AbortSignal): Promise<Update[]> {
    this.#refuseWebhook();
    // The newer listener stays. The older one gets an error.
    this.wake("other");
    this.#updates = this.#updates.filter(({ update_id }) => update_id >= offset);
    if (this.#updates.length === 0 && timeout > 0) {
      this.#waiting = new AbortController();
      const { signal } = this.#waiting;
      await delay(timeout * 1_000, undefined, { signal: AbortSignal.any([gone, signal]) }).catch(() => {});
      if (signal.reason === "other") {
        const why = "terminated by other getUpdates request; make sure that only one bot instance is running";
        throw new Refusal(409, `Conflict: ${why}`);
      }
    }
    this.#refuseWebhook();
    return this.#updates.slice(0, limit);
  }

  /** Ends the wait of a listener. */
  wake(why: "update" | "other" | "webhook" | "closed"): void {
    this.#waiting.abort(why);
  }

  #refuseWebhook(): void {
    const why = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
    if (this.webhook !== undefined) throw new Refusal(409, `Conflict: ${why}`);
  }
}
