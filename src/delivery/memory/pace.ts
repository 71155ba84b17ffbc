import type { Outcome } from "../../core/delivery.ts";
import type { PaceRecord } from "../../core/destination-status.ts";
import type { Destination, Pace } from "../../core/rules.ts";
import { accountOf, chatKeyOf, type PaceKey } from "../plan/accounts.ts";

/** Added to each window: calls may arrive closer together than they left. */
const marginMs = 60;

/** When two chats ask for a wait within this time, the bot as a whole sends too much. */
const floodWindowMs = 10_000;

/** The times of calls to the addresses of one lane group, and how long each has asked to wait. */
export class PaceMemory {
  readonly #known: Map<string, PaceRecord>;
  readonly #lastFloods = new Map<string, { chat: string; at: number }>();

  /** @param records those that came with the lane group, so that limits outlive a restart */
  constructor(records: PaceRecord[]) {
    this.#known = new Map(records.map((record) => [record.key, record]));
  }

  /** `at`: the earliest time of a call that all keys allow. `why`: the vendor's words, where the vendor asked for the wait. */
  nextSlot(keys: PaceKey[], now: number) {
    let slot: { at: number; why?: string } = { at: now };
    for (const { key, pace } of keys) {
      const record = this.#recordOf(key);
      const free = nextFreeAt(record.sentAt, pace, now);
      if (free > slot.at) slot = { at: free };
      if (record.parkedUntil > slot.at) slot = { at: record.parkedUntil, why: record.parkedWhy };
    }
    return slot;
  }

  /** Whether calls under these keys must be counted. A requested wait holds for all keys. */
  isBounded(keys: PaceKey[]): boolean {
    return keys.some(({ key, pace }) => Object.keys(pace).length > 0 || this.#recordOf(key).sentAt.length > 0);
  }

  /** Counts a call. The returned records must be stored with the claim. */
  take(keys: PaceKey[], now: number): PaceRecord[] {
    return keys.flatMap(({ key, pace }) => {
      const record = this.#recordOf(key);
      const bound = Math.ceil(Math.max(pace.perMinute ?? 0, pace.perSecond ?? 0));
      // Two destinations may name one chat with different paces. The one with the smaller limit must not forget times that the
      // other needs.
      const keep = Math.max(bound, record.sentAt.length);
      if (keep === 0) return [];
      const past = upTo(record.sentAt, now);
      return this.#put({ ...record, sentAt: [...past, Math.max(now, past.at(-1) ?? now)].slice(-keep) });
    });
  }

  /** False when another call was counted after this one: the two would leave together. */
  mayUse(keys: PaceKey[], takenAt: number, now: number): boolean {
    return (
      now - takenAt <= marginMs || keys.every(({ key }) => (this.#recordOf(key).sentAt.at(-1) ?? takenAt) <= takenAt)
    );
  }

  /**
   * Forgets a call that was counted at `takenAt` and has not been made. What `take` had dropped then was outside each window. As many
   * times stay as there were: another destination may need them.
   */
  giveBack(keys: PaceKey[], takenAt: number): void {
    for (const { key } of keys) {
      const record = this.#recordOf(key);
      const place = record.sentAt.lastIndexOf(takenAt);
      if (place >= 0) this.#put({ ...record, sentAt: [0, ...record.sentAt.toSpliced(place, 1)] });
    }
  }

  /** Moves the last counted call to now, after commit and composing. The returned records must be stored. */
  restamp(keys: PaceKey[], now: number): PaceRecord[] {
    return keys.flatMap(({ key }) => {
      const record = this.#recordOf(key);
      const last = record.sentAt.at(-1);
      return last === undefined || last >= now
        ? []
        : this.#put({ ...record, sentAt: [...record.sentAt.slice(0, -1), now] });
    });
  }

  /** Keeps a vendor's request to wait. A shorter one does not shorten a longer one. The returned records must be stored. */
  parkAfter(outcome: Outcome, destination: Destination, recipient: string, now: number): PaceRecord[] {
    const waitMs = askedWait(outcome);
    if (!waitMs || outcome.kind === "sent") return [];
    const account = accountOf(destination);
    const chat = chatKeyOf(destination, recipient);
    const parked = [this.#park(chat, now + waitMs, outcome.detail)];
    if (account === undefined || outcome.kind !== "retry") return parked;
    const isFlood = outcome.reason === "rate_limited" && this.#isSecondChat(account, chat, now);
    if (outcome.scope === "account" || isFlood) parked.push(this.#park(account, now + waitMs, outcome.detail));
    return parked;
  }

  #recordOf(key: string): PaceRecord {
    return this.#known.get(key) ?? this.#put({ key, sentAt: [], parkedUntil: 0 });
  }

  #put(record: PaceRecord): PaceRecord {
    this.#known.set(record.key, record);
    return record;
  }

  #park(key: string, until: number, why: string): PaceRecord {
    const record = this.#recordOf(key);
    return until <= record.parkedUntil ? record : this.#put({ ...record, parkedUntil: until, parkedWhy: why });
  }

  #isSecondChat(account: string, chat: string, now: number): boolean {
    const last = this.#lastFloods.get(account);
    this.#lastFloods.set(account, { chat, at: now });
    return last !== undefined && last.chat !== chat && Math.abs(now - last.at) <= floodWindowMs;
  }
}

function askedWait(outcome: Outcome): number | undefined {
  if (outcome.kind === "retry") return outcome.movedTo === undefined ? outcome.waitMs : undefined;
  return outcome.kind === "ambiguous" ? outcome.waitMs : undefined;
}

/** The earliest time from `now` on at which one more call fits into every window. Pure. */
function nextFreeAt(sentAt: number[], pace: Pace, now: number): number {
  const past = upTo(sentAt, now);
  return Math.max(now, freeInWindow(past, pace.perSecond, 1000), freeInWindow(past, pace.perMinute, 60_000));
}

/** A clock that follows a time server or the database may go back this far. */
const smallStepMs = 1_000;

/** Leaves out calls far in the future: they were made before the clock was set back. */
function upTo(sentAt: number[], now: number): number[] {
  return (sentAt.at(-1) ?? now) <= now ? sentAt : sentAt.filter((at) => at <= now + smallStepMs);
}

function freeInWindow(sentAt: number[], bound: number | undefined, windowMs: number): number {
  if (bound === undefined) return 0;
  if (bound < 1) return (sentAt.at(-1) ?? Number.NEGATIVE_INFINITY) + windowMs / bound + marginMs;
  const oldestThatCounts = sentAt.at(-Math.floor(bound));
  return oldestThatCounts === undefined ? 0 : oldestThatCounts + windowMs + marginMs;
}
