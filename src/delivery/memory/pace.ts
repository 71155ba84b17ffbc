import type { Outcome } from "../../core/delivery.ts";
import type { PaceRecord } from "../../core/destination-status.ts";
import type { Destination, Pace } from "../../core/rules.ts";
import { accountOf, chatKeyOf, type PaceKey } from "../plan/accounts.ts";

/**
 * Added to each window: calls may arrive closer together than they left.
 */
const marginMs = 60;

/** When two chats ask to wait within this time, the bot sends too much, and not one chat gets too much. */
const floodWindowMs = 10_000;

/** The times of calls to the addresses of one lane group, and until when each has asked for silence. */
export class PaceMemory {
  readonly #known: Map<string, PaceRecord>;
  readonly #lastFloods = new Map<string, { chat: string; at: number }>();

  /** @param records the records that came with the grant of the lane group, so that limits hold across restarts */
  constructor(records: PaceRecord[]) {
    this.#known = new Map(records.map((record) => [record.key, record]));
  }

  /**
   * `at`: the earliest time of a call that all of these keys allow. `why`: the words of the other side, where it asked for the
   * wait.
   */
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

  /** Whether a pace bounds calls under these keys, so that they have to be counted. A requested wait holds for all keys. */
  isBounded(keys: PaceKey[]): boolean {
    return keys.some(({ key, pace }) => Object.keys(pace).length > 0 || this.#recordOf(key).sentAt.length > 0);
  }

  /** Counts a call. The returned records have to be stored with the claim. */
  take(keys: PaceKey[], now: number): PaceRecord[] {
    return keys.flatMap(({ key, pace }) => {
      const record = this.#recordOf(key);
      const bound = Math.ceil(Math.max(pace.perMinute ?? 0, pace.perSecond ?? 0));
      // Two destinations may name one chat with different paces: the one with the smaller bound must not forget times that the other needs.
      const keep = Math.max(bound, record.sentAt.length);
      if (keep === 0) return [];
      const past = upTo(record.sentAt, now);
      return this.#put({ ...record, sentAt: [...past, Math.max(now, past.at(-1) ?? now)].slice(-keep) });
    });
  }

  /**
   * Whether a call that was counted at `takenAt` may be made as late as now. False when another call was counted after it: the
   * two would leave together.
   */
  mayUse(keys: PaceKey[], takenAt: number, now: number): boolean {
    return (
      now - takenAt <= marginMs || keys.every(({ key }) => (this.#recordOf(key).sentAt.at(-1) ?? takenAt) <= takenAt)
    );
  }

  /**
   * Moves the time of the last counted call to now: a claim was committed and a message composed since its slot. The next slot is
   * counted from the call. The returned records have to be stored.
   */
  restamp(keys: PaceKey[], now: number): PaceRecord[] {
    return keys.flatMap(({ key }) => {
      const record = this.#recordOf(key);
      const last = record.sentAt.at(-1);
      return last === undefined || last >= now
        ? []
        : this.#put({ ...record, sentAt: [...record.sentAt.slice(0, -1), now] });
    });
  }

  /**
   * Keeps the other side's request to call later, which may come with any refusal. It holds for all who share the address or
   * account. A shorter request never shortens a longer one. The returned records have to be stored.
   */
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

/** The earliest time, `now` or later, at which one more call keeps every window within its bound. Pure. */
function nextFreeAt(sentAt: number[], pace: Pace, now: number): number {
  const past = upTo(sentAt, now);
  return Math.max(now, freeInWindow(past, pace.perSecond, 1000), freeInWindow(past, pace.perMinute, 60_000));
}

/** A clock that follows a time server or the database goes back by this little now and then. */
const smallStepMs = 1_000;

/**
 * Leaves out calls far in the future: they were made before the clock was set back, and waiting for their windows could take as
 * long as the step. Calls a little in the future were made just now, and count.
 */
function upTo(sentAt: number[], now: number): number[] {
  return (sentAt.at(-1) ?? now) <= now ? sentAt : sentAt.filter((at) => at <= now + smallStepMs);
}

function freeInWindow(sentAt: number[], bound: number | undefined, windowMs: number): number {
  if (bound === undefined) return 0;
  if (bound < 1) return (sentAt.at(-1) ?? Number.NEGATIVE_INFINITY) + windowMs / bound + marginMs;
  const oldestThatCounts = sentAt.at(-Math.floor(bound));
  return oldestThatCounts === undefined ? 0 : oldestThatCounts + windowMs + marginMs;
}
