import type { Now } from "../../src/core/clock.ts";

/** `Infinity` lifts a limit. */
export interface FloodLimits {
  /** Messages that a chat accepts at once before the pace of one a second applies. Default 3. */
  chatBurst: number;
  chatPerSecond: number;
  /** Messages, and separately edits, in a group. Default 20. */
  groupPerMinute: number;
  /** Over all chats. Default 30. */
  botPerSecond: number;
}

const vendorLimits: FloodLimits = { chatBurst: 3, chatPerSecond: 1, groupPerMinute: 20, botPerSecond: 30 };

export interface FloodRequest {
  botId: string;
  chatId: string;
  isGroup: boolean;
  action: "message" | "edit";
}

/** Flood limits as Telegram describes them, by sliding windows. Refused requests are not counted. */
export class FloodControl {
  readonly #limits: FloodLimits;
  readonly #blockedUntil = new Map<string, number>();
  readonly #history = new Map<string, number[]>();

  constructor(
    limits: Partial<FloodLimits>,
    private readonly now: Now,
  ) {
    this.#limits = { ...vendorLimits, ...limits };
  }

  /** Seconds to wait. Undefined: the request may pass. A refusal begins a wait, in which all requests are refused. */
  check(request: FloodRequest): number | undefined {
    const at = this.now();
    const { botId, chatId, action } = request;
    const blocks = [botId, `${botId} ${chatId}`, `${botId} ${chatId} ${action}`];
    const running = Math.max(...blocks.map((key) => this.#blockedUntil.get(key) ?? 0));
    if (running > at) return Math.ceil((running - at) / 1000);

    let waitMs = 0;
    for (const { key, block, spanMs, atMost } of this.#windowsOf(request)) {
      const recent = this.#recent(key, spanMs);
      const [oldest] = recent;
      if (oldest === undefined || recent.length < atMost) continue;
      const untilFree = Math.ceil((oldest + spanMs - at) / 1000) * 1000;
      this.#blockedUntil.set(block, at + untilFree);
      waitMs = Math.max(waitMs, untilFree);
    }
    return waitMs === 0 ? undefined : waitMs / 1000;
  }

  count(request: FloodRequest): void {
    for (const { key, spanMs } of this.#windowsOf(request)) {
      this.#history.set(key, [...this.#recent(key, spanMs), this.now()]);
    }
  }

  /** Starts a wait for a chat without a reason. */
  block(botId: string, chatId: string, seconds: number): void {
    this.#blockedUntil.set(`${botId} ${chatId}`, this.now() + seconds * 1000);
  }

  #recent(key: string, spanMs: number): number[] {
    return (this.#history.get(key) ?? []).filter((time) => time > this.now() - spanMs);
  }

  #windowsOf({ botId, chatId, isGroup, action }: FloodRequest) {
    const { botPerSecond, chatBurst, chatPerSecond, groupPerMinute } = this.#limits;
    const chat = `${botId} ${chatId}`;
    const refillMs = (chatBurst / chatPerSecond) * 1000;
    const ofBot = { key: `${botId} second`, block: botId, spanMs: 1000, atMost: botPerSecond };
    const ofChat = { key: `${chat} burst`, block: chat, spanMs: refillMs, atMost: chatBurst };
    const minute = { key: `${chat} ${action} minute`, block: `${chat} ${action}`, spanMs: 60_000 };
    const windows = [
      ofBot,
      ...(action === "message" ? [ofChat] : []),
      ...(isGroup ? [{ ...minute, atMost: groupPerMinute }] : []),
    ];
    return windows.filter(({ spanMs, atMost }) => Number.isFinite(spanMs) && Number.isFinite(atMost));
  }
}
