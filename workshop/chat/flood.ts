import type { Now } from "../../src/core/clock.ts";

/** `Infinity` lifts a limit. */
export interface FloodLimits {
  /** Messages that a chat takes at once before the pace of one a second holds. Default 3. */
  chatBurst: number;
  /** Default 1. */
  chatPerSecond: number;
  /** Messages, and separately edits, in a group. Default 20. */
  groupPerMinute: number;
  /** Over all chats. Default 30. */
  botPerSecond: number;
}

export const vendorLimits: FloodLimits = {
  chatBurst: 3,
  chatPerSecond: 1,
  groupPerMinute: 20,
  botPerSecond: 30,
};

export interface FloodRequest {
  botId: string;
  chatId: string;
  isGroup: boolean;
  action: "message" | "edit";
}

export interface FloodControl {
  /**
   * Seconds to wait, or `undefined` when the request may pass. A refusal starts a wait that refuses all until it ends.
   */
  check(request: FloodRequest): number | undefined;
  /** Counts a request that was carried out. */
  count(request: FloodRequest): void;
  /** Starts a wait for a chat without a reason. */
  block(botId: string, chatId: string, seconds: number): void;
}

/** Flood limits as the vendor describes them, by sliding windows; refused requests are not counted. */
export function createFloodControl(limits: FloodLimits, now: Now): FloodControl {
  const blockedUntil = new Map<string, number>();
  const history = new Map<string, number[]>();

  const windowsOf = ({ botId, chatId, isGroup, action }: FloodRequest) => {
    const chat = `${botId} ${chatId}`;
    const refillMs = (limits.chatBurst / limits.chatPerSecond) * 1000;
    const windows = [{ key: `${botId} second`, block: botId, spanMs: 1000, atMost: limits.botPerSecond }];
    if (action === "message") {
      windows.push({ key: `${chat} burst`, block: chat, spanMs: refillMs, atMost: limits.chatBurst });
    }
    if (isGroup) {
      windows.push({
        key: `${chat} ${action} minute`,
        block: `${chat} ${action}`,
        spanMs: 60_000,
        atMost: limits.groupPerMinute,
      });
    }
    return windows.filter(({ spanMs, atMost }) => Number.isFinite(spanMs) && Number.isFinite(atMost));
  };

  return {
    check(request) {
      const at = now();
      const { botId, chatId, action } = request;
      const blocks = [botId, `${botId} ${chatId}`, `${botId} ${chatId} ${action}`];
      const running = Math.max(...blocks.map((key) => blockedUntil.get(key) ?? 0));
      if (running > at) return Math.ceil((running - at) / 1000);

      let waitMs = 0;
      for (const { key, block, spanMs, atMost } of windowsOf(request)) {
        const recent = (history.get(key) ?? []).filter((time) => time > at - spanMs);
        const oldest = recent[0];
        if (oldest === undefined || recent.length < atMost) continue;
        const untilFree = Math.ceil((oldest + spanMs - at) / 1000) * 1000;
        blockedUntil.set(block, at + untilFree);
        waitMs = Math.max(waitMs, untilFree);
      }
      return waitMs === 0 ? undefined : waitMs / 1000;
    },
    count(request) {
      const at = now();
      for (const { key, spanMs } of windowsOf(request)) {
        const recent = (history.get(key) ?? []).filter((time) => time > at - spanMs);
        recent.push(at);
        history.set(key, recent);
      }
    },
    block(botId, chatId, seconds) {
      blockedUntil.set(`${botId} ${chatId}`, now() + seconds * 1000);
    },
  };
}
