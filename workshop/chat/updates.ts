import type { Now } from "../../src/core/clock.ts";
import { badRequest, type Parameters, Refusal } from "./parameters.ts";

export interface Update {
  update_id: number;
  [content: string]: unknown;
}

const keptMs = 24 * 60 * 60 * 1000;
/** Kinds that a bot gets only when it asks for them. */
const rare = ["chat_member", "message_reaction", "message_reaction_count"];

/**
 * https://core.telegram.org/bots/api#getting-updates : an offset confirms all updates before it. A webhook, or a second
 * listener, answers 409. Updates older than a day are gone. The last requested kinds stay.
 */
export class UpdateQueue {
  #updates: (Update & { at: number })[] = [];
  #lastId = 0;
  #webhook: string | undefined;
  #allowed: string[] | undefined;
  #wake: ((why: "update" | "other" | "closed") => void) | undefined;

  constructor(private readonly now: Now) {}

  /** `content` has one field, the kind. Dropped when the bot has asked for other kinds. */
  add(content: Record<string, unknown>): void {
    const [kind = ""] = Object.keys(content);
    if (this.#allowed === undefined ? rare.includes(kind) : !this.#allowed.includes(kind)) return;
    this.#lastId += 1;
    this.#updates.push({ update_id: this.#lastId, at: this.now(), ...content });
    this.#wake?.("update");
  }

  /** Resolves after the `timeout` of `getUpdates` at the latest, or when `gone` aborts. @throws Refusal */
  async get(parameters: Parameters, gone: AbortSignal): Promise<Update[]> {
    refuseWebhook(this.#webhook);
    // The newer listener stays. The older one gets an error.
    this.#wake?.("other");
    const kinds = parameters.json("allowed_updates");
    if (kinds !== undefined) this.#allowed = readKinds(kinds);
    this.#confirm(parameters.integer("offset") ?? 0);
    const limit = Math.min(Math.max(parameters.integer("limit") ?? 100, 1), 100);
    const seconds = Math.min(Math.max(parameters.integer("timeout") ?? 0, 0), 50);
    const mayWait = this.#pending().length === 0 && seconds > 0;
    if (mayWait && (await this.#wait(seconds, gone)) === "other") {
      const why = "terminated by other getUpdates request; make sure that only one bot instance is running";
      throw new Refusal(409, `Conflict: ${why}`);
    }
    refuseWebhook(this.#webhook);
    return this.#pending()
      .slice(0, limit)
      .map(({ at: _at, ...update }) => update);
  }

  webhookInfo(): Record<string, unknown> {
    const allowed = this.#allowed && { allowed_updates: this.#allowed };
    return { url: this.#webhook ?? "", pending_update_count: this.#pending().length, ...allowed };
  }

  /** Acts as `setWebhook` of the owner. Undefined: `deleteWebhook`. */
  setWebhook(url: string | undefined): void {
    this.#webhook = url;
    this.#wake?.("closed");
  }

  close(): void {
    this.#wake?.("closed");
  }

  #pending(): (Update & { at: number })[] {
    this.#updates = this.#updates.filter(({ at }) => at > this.now() - keptMs);
    return this.#updates;
  }

  #confirm(offset: number): void {
    if (offset > 0) this.#updates = this.#pending().filter(({ update_id }) => update_id >= offset);
    // A negative offset counts from the end. Earlier updates are forgotten.
    else if (offset < 0) this.#updates = this.#pending().slice(offset);
  }

  #wait(seconds: number, gone: AbortSignal): Promise<"update" | "other" | "closed"> {
    return new Promise((resolve) => {
      const end = (why: "update" | "other" | "closed") => {
        clearTimeout(timer);
        gone.removeEventListener("abort", leave);
        if (this.#wake === end) this.#wake = undefined;
        resolve(why);
      };
      const leave = () => end("closed");
      const timer = setTimeout(leave, seconds * 1_000);
      gone.addEventListener("abort", leave, { once: true });
      this.#wake = end;
    });
  }
}

function refuseWebhook(url: string | undefined): void {
  if (url === undefined) return;
  throw new Refusal(
    409,
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
  );
}

/** An empty list means the default. */
function readKinds(kinds: unknown): string[] | undefined {
  if (!Array.isArray(kinds)) throw badRequest("can't parse allowed updates JSON object");
  return kinds.length === 0 ? undefined : kinds.map(String);
}
