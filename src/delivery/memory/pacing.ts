import type { PaceRecord } from "../../core/destination-status.ts";
import type { Pace } from "../../core/rules.ts";

/** One limit that a call falls under: its chat's, and its bot's. */
export interface PaceKey {
  key: string;
  pace: Pace;
}

export interface Slot {
  /** The earliest time of the next call; now or earlier when it may go at once. */
  at: number;
  /** Why it is later than now, when the other side asked for it. */
  why?: string;
}

export interface Pacer {
  /** When a call under all of these keys may be made. */
  nextSlot(keys: PaceKey[], now: number): Slot;
  /** Counts a call; what it returns has to be stored with the claim. */
  take(keys: PaceKey[], now: number): PaceRecord[];
  /**
   * Says that the call that was counted last is made only now: between its slot and the call a claim is committed and a
   * message written, and the next slot is counted from the call. What it returns has to be stored.
   */
  restamp(keys: PaceKey[], now: number): PaceRecord[];
  /** Nothing goes out under this key before `until`; a shorter wish never shortens a longer one. */
  park(key: string, until: number, why: string): PaceRecord;
}

/**
 * Calls arrive at the other side a little closer together or further apart than they left; the windows are longer by
 * this, so that the closest two are still far enough apart.
 */
const marginMs = 60;

/** Keeps the times of recent calls. `records` are what the store kept, so that limits hold across restarts. */
export function createPacer(records: PaceRecord[]): Pacer {
  const known = new Map(records.map((record) => [record.key, record]));

  function recordOf(key: string): PaceRecord {
    let record = known.get(key);
    if (!record) {
      record = { key, sentAt: [], parkedUntil: 0 };
      known.set(key, record);
    }
    return record;
  }

  return {
    nextSlot(keys, now) {
      let slot: Slot = { at: now };
      for (const { key, pace } of keys) {
        const record = recordOf(key);
        const free = nextFreeAt(record.sentAt, pace, now);
        if (free > slot.at) slot = { at: free };
        if (record.parkedUntil > slot.at) slot = { at: record.parkedUntil, why: record.parkedWhy };
      }
      return slot;
    },

    take(keys, now) {
      return keys.flatMap(({ key, pace }) => {
        const record = recordOf(key);
        const bound = Math.ceil(Math.max(pace.perMinute ?? 0, pace.perSecond ?? 0));
        // Two destinations may name one chat and bound it differently: the one with less to remember forgets nothing.
        const keep = Math.max(bound, record.sentAt.length);
        if (keep === 0) return [];
        const next = { ...record, sentAt: [...upTo(record.sentAt, now), now].slice(-keep) };
        known.set(key, next);
        return [next];
      });
    },

    restamp(keys, now) {
      return keys.flatMap(({ key }) => {
        const record = recordOf(key);
        const last = record.sentAt.at(-1);
        if (last === undefined || last >= now) return [];
        const next = { ...record, sentAt: [...record.sentAt.slice(0, -1), now] };
        known.set(key, next);
        return [next];
      });
    },

    park(key, until, why) {
      const record = recordOf(key);
      if (until <= record.parkedUntil) return record;
      const next = { ...record, parkedUntil: until, parkedWhy: why };
      known.set(key, next);
      return next;
    },
  };
}

/** The earliest time, `now` or later, at which one more call keeps every window within its bound. Pure. */
function nextFreeAt(sentAt: number[], pace: Pace, now: number): number {
  const past = upTo(sentAt, now);
  return Math.max(now, freeInWindow(past, pace.perSecond, 1000), freeInWindow(past, pace.perMinute, 60_000));
}

/** Calls that lie ahead were made before the clock was set back; waiting for their windows could take as long as the step. */
function upTo(sentAt: number[], now: number): number[] {
  return (sentAt.at(-1) ?? now) <= now ? sentAt : sentAt.filter((at) => at <= now);
}

function freeInWindow(sentAt: number[], bound: number | undefined, windowMs: number): number {
  if (bound === undefined) return 0;
  if (bound < 1) return (sentAt.at(-1) ?? Number.NEGATIVE_INFINITY) + windowMs / bound + marginMs;
  const oldestThatCounts = sentAt.at(-Math.floor(bound));
  return oldestThatCounts === undefined ? 0 : oldestThatCounts + windowMs + marginMs;
}
