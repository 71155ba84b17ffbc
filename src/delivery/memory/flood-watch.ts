/** Tells a chat that is told too much from a bot that tells too much: two chats that ask us to wait within ten seconds. */
export interface FloodWatch {
  /** True when the whole account has to wait. */
  note(account: string, chat: string, now: number): boolean;
}

const windowMs = 10_000;

export function createFloodWatch(): FloodWatch {
  const lastAt = new Map<string, { chat: string; at: number }>();
  return {
    note(account, chat, now) {
      const last = lastAt.get(account);
      lastAt.set(account, { chat, at: now });
      return last !== undefined && last.chat !== chat && Math.abs(now - last.at) <= windowMs;
    },
  };
}
