import type { Clock } from "../../src/core/clock.ts";

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** A time since a scene began, as `1:02:05.5`. */
export function writeTime(ms: number): string {
  // Rounded first: 59.96 s are a minute.
  const at = Math.round(ms / 100) * 100;
  const [hours, minutes, seconds] = [Math.floor(at / hour), Math.floor(at / minute) % 60, (at % minute) / second];
  const [m, s] = [minutes, seconds].map((part) => (part < 10 ? `0${part}` : `${part}`));
  return hours > 0 ? `${hours}:${m}:${s}` : `${m}:${s}`;
}

/**
 * A clock that is stopped until it is moved; sleepers wake in the order of their times. It shows whole milliseconds, as `Date.now`
 * does: a store refuses any other instant.
 */
export interface TestClock extends Clock {
  /** Moves on by `ms`, waking everybody on the way and letting each act before time goes on. */
  advance(ms: number): Promise<void>;
  /** Sleeps over a long time: a sleeper in it wakes at its end. */
  jump(ms: number): Promise<void>;
  /** The clock is set forward or back by `ms`, and a sleeper sleeps for as long as before. */
  set(ms: number): Promise<void>;
  /** Lets everything that can happen now happen. */
  settle(): Promise<void>;
}

type Sleeper = { at: number; wake(): void };

export function createTestClock(start = Date.UTC(2026, 10, 21, 12)): TestClock {
  let current = start;
  const sleepers = new Set<Sleeper>();

  /** Turns of the event loop, since promises of worker threads and sockets need them as well. */
  async function settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  function after(ms: number, act: () => void): () => void {
    const leave = () => void sleepers.delete(sleeper);
    const sleeper: Sleeper = {
      at: Math.ceil(current + ms),
      wake() {
        leave();
        act();
      },
    };
    sleepers.add(sleeper);
    return leave;
  }

  return {
    now: () => current,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted || ms <= 0) return resolve();
        const wake = () => {
          leave();
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const leave = after(ms, wake);
        signal?.addEventListener("abort", wake, { once: true });
      }),
    after,
    settle,
    async jump(ms) {
      await settle();
      current += ms;
      for (const sleeper of [...sleepers]) if (sleeper.at <= current) sleeper.wake();
      await settle();
    },
    async set(ms) {
      await settle();
      current += ms;
      for (const sleeper of sleepers) sleeper.at += ms;
    },
    async advance(ms) {
      const end = current + ms;
      await settle();
      for (;;) {
        const next = [...sleepers].filter((sleeper) => sleeper.at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        current = Math.max(current, next.at);
        next.wake();
        await settle();
      }
      current = end;
      await settle();
    },
  };
}
