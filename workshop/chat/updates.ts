import type { Now } from "../../src/core/clock.ts";
import type { Parameters } from "./parameters.ts";
import { badRequest, Refusal } from "./refusal.ts";

export interface Update {
  update_id: number;
  [content: string]: unknown;
}

/**
 * What one bot has not confirmed yet, as https://core.telegram.org/bots/api#getting-updates has it: an offset confirms all
 * that came before it, without one nothing is; a webhook, or a second listener, answers 409; what is older than a day is
 * gone; the kinds that were asked for last hold until others are.
 */
export interface UpdateQueue {
  /** `content` has one field, the kind. Left out when the bot has asked for other kinds. */
  add(content: Record<string, unknown>): void;
  /**
   * Resolves with the result of `getUpdates`, after its `timeout` at the latest; `gone` ends the wait of a caller that went
   * away.
   * @throws Refusal
   */
  get(parameters: Parameters, gone: AbortSignal): Promise<Update[]>;
  /** The result of `getWebhookInfo`. */
  webhookInfo(): Record<string, unknown>;
  /** As if the owner had called `setWebhook`; undefined: `deleteWebhook`. */
  setWebhook(url: string | undefined): void;
  /** Ends every wait. */
  close(): void;
}

const keptMs = 24 * 60 * 60 * 1000;
/** Kinds that come only to those who ask for them. */
const rare = ["chat_member", "message_reaction", "message_reaction_count"];

export function createUpdateQueue(now: Now): UpdateQueue {
  let updates: (Update & { at: number })[] = [];
  let lastId = 0;
  let webhook: string | undefined;
  let allowed: string[] | undefined;
  /** Of the caller that waits. */
  let wake: ((why: "update" | "other" | "closed") => void) | undefined;

  function pending(): (Update & { at: number })[] {
    updates = updates.filter(({ at }) => at > now() - keptMs);
    return updates;
  }

  function confirm(offset: number): void {
    if (offset > 0) updates = pending().filter(({ update_id }) => update_id >= offset);
    // Counted from the end; what came before it is forgotten.
    else if (offset < 0) updates = pending().slice(offset);
  }

  function wait(seconds: number, gone: AbortSignal): Promise<"update" | "other" | "closed"> {
    return new Promise((resolve) => {
      const end = (why: "update" | "other" | "closed") => {
        clearTimeout(timer);
        gone.removeEventListener("abort", leave);
        if (wake === end) wake = undefined;
        resolve(why);
      };
      const leave = () => end("closed");
      const timer = setTimeout(leave, seconds * 1_000);
      gone.addEventListener("abort", leave, { once: true });
      wake = end;
    });
  }

  return {
    add(content) {
      const [kind = ""] = Object.keys(content);
      if (allowed === undefined ? rare.includes(kind) : !allowed.includes(kind)) return;
      lastId += 1;
      updates.push({ update_id: lastId, at: now(), ...content });
      wake?.("update");
    },
    async get(parameters, gone) {
      refuseWebhook(webhook);
      // The newer listener stays, the older one is sent away.
      wake?.("other");
      const kinds = parameters.json("allowed_updates");
      if (kinds !== undefined) allowed = readKinds(kinds);
      confirm(parameters.integer("offset") ?? 0);
      const limit = Math.min(Math.max(parameters.integer("limit") ?? 100, 1), 100);
      const seconds = Math.min(Math.max(parameters.integer("timeout") ?? 0, 0), 50);
      if (pending().length === 0 && seconds > 0 && (await wait(seconds, gone)) === "other") {
        throw new Refusal(
          409,
          "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        );
      }
      refuseWebhook(webhook);
      return pending()
        .slice(0, limit)
        .map(({ at: _at, ...update }) => update);
    },
    webhookInfo: () => ({
      url: webhook ?? "",
      has_custom_certificate: false,
      pending_update_count: pending().length,
      ...(allowed === undefined ? {} : { allowed_updates: allowed }),
    }),
    setWebhook(url) {
      webhook = url;
      wake?.("closed");
    },
    close: () => wake?.("closed"),
  };
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
