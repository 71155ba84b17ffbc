import type { DueDelivery } from "../../core/delivery-job.ts";
import type { Untried } from "../../core/ports/dispatch.ts";
import { groupBy } from "../../ground/group-by.ts";
import { settingsOf, vendorOf } from "../../vendors/index.ts";
import type { FindHold, FindMute } from "../duties/follow-quiet-hours.ts";
import { waitForDeadMs } from "../plan/health.ts";
import { inTurn, isStoredLate, isTurnOfResent, openSince } from "../plan/plan-claim.ts";
import type { PlanFallbacks } from "../plan/plan-fallbacks.ts";
import type { LaneContext, LaneStore } from "./context.ts";

export interface QueueLook {
  /** After an outage retries are due at once. Ambiguous repeats, and what quiet hours hold, keep their time. */
  isRecovering: boolean;
  /** The destination takes messages, as far as is known. */
  isOpen: boolean;
  /** A person has paused the destination. No delivery expires meanwhile. */
  isPaused?: boolean;
  /** The end of the last pause. A delivery does not age in a pause. */
  resumedAt?: number;
  /** See `ClaimLimits`. Default 0: bulk resends come last. */
  sinceResent?: number;
  /** How many deliveries to list, where they are sent one by one. Default: as many as one message takes. */
  most?: number;
}

export interface PutOff {
  reason: string;
  /** For the fallback's readers, in words that follow "because". */
  because: string;
  /** The next probe of the destination. The deliveries are looked at then. */
  probeAt: number;
  resumedAt?: number;
}

export interface LaneQueueDeps extends Pick<LaneContext, "destination" | "settings" | "log"> {
  store: Pick<LaneStore, "listDue" | "listByKeys" | "finishDeliveries">;
  planFallbacks: PlanFallbacks;
  findHold: FindHold;
  findMute: FindMute;
}

/** The most deliveries of one message. Accepting waits 22 ms for them in the writing thread, for 2,000 it would be 100 ms. */
const mostSent = 400;
/**
 * For a vendor that joins by key: how many keys, and how many of their unsent deliveries, are read to choose each event.
 * Accepting must not wait for thousands after an outage. A resolving alert beyond these ends its incident later.
 */
const mostKeys = 50;
const mostOfKeys = 1000;
const minuteMs = 60_000;
/** Longer than any wait of the schedule for chats and mail. */
const longestAheadMs = 30 * 60_000;

export class LaneQueue {
  readonly #giveUpAfterMs: number;

  constructor(private readonly deps: LaneQueueDeps) {
    this.#giveUpAfterMs = settingsOf(deps.destination.type, deps.settings).schedule.giveUpAfterMs;
  }

  /** The deliveries that may be sent now, by due time. Ends overdue and muted ones. `ofKeys`, `cutAt`: see `ClaimLimits`. */
  async list(look: QueueLook, now: number) {
    const { most = mostSent, sinceResent = 0 } = look;
    const { store, destination } = this.deps;
    const until = look.isRecovering ? now + longestAheadMs : now;
    // One more than needed shows whether there are more.
    const listed = await store.listDue(destination.name, until, most + 1, isTurnOfResent({ sinceResent }));
    const cutAt = listed.length <= most ? undefined : listed.at(-1)?.dueAt;
    const due = listed.filter(
      (delivery) => delivery.dueAt <= now || (delivery.state === "waiting" && delivery.ambiguous === 0),
    );
    const overdue = due.filter((delivery) => this.#isOverdue(delivery, look, now));
    if (overdue.length > 0) await this.#endOverdue(overdue, now);
    const ended = new Set([...overdue, ...(await this.#mute(due, now))]);
    const open = due.filter((delivery) => !ended.has(delivery));
    const held = new Set(await this.#holdLater(open, now));
    const taken = open.filter((delivery) => !held.has(delivery)).slice(0, most);
    return { due: taken, ofKeys: await this.#listOfKeys(taken, sinceResent), cutAt };
  }

  /** Puts off deliveries to a dead destination: they fail after an hour (notices later). Fallbacks are used at once. */
  async putOff(
    deliveries: DueDelivery[],
    { reason, because, probeAt, resumedAt = 0 }: PutOff,
    now: number,
  ): Promise<void> {
    const dueAtOf = (delivery: DueDelivery) => {
      const waitMs = delivery.purpose === "notice" ? this.#giveUpAfterMs : Math.min(waitForDeadMs, this.#giveUpAfterMs);
      const until = Math.max(openSince(delivery), resumedAt) + waitMs;
      // Whole minutes put many alerts into one write.
      return until <= now ? 0 : Math.min(probeAt, Math.ceil(until / minuteMs) * minuteMs);
    };
    for (const [dueAt, its] of groupBy(deliveries, dueAtOf)) {
      const next: Untried = dueAt === 0 ? { state: "failed", reason } : { state: "waiting", reason, dueAt };
      await this.#finish(its, next, because, now);
    }
  }

  async #finish(deliveries: DueDelivery[], next: Untried, because: string, now: number): Promise<void> {
    const { store, destination, planFallbacks, log } = this.deps;
    const calls = planFallbacks(deliveries, () => because, now);
    const seqs = deliveries.map((delivery) => delivery.seq);
    await store.finishDeliveries(seqs, next, now, calls);
    log.warn(next.state === "waiting" ? "delivery.put_off" : "delivery.ended", {
      destination: destination.name,
      count: deliveries.length,
      ...next,
    });
  }

  /** A delivery that was never tried is not overdue: after a long stop of the relay it is tried once. */
  #isOverdue(delivery: DueDelivery, { isOpen, isPaused = false, resumedAt = 0 }: QueueLook, now: number): boolean {
    const wasTried = delivery.attempts > 0 || !isOpen;
    const since = Math.max(openSince(delivery), resumedAt);
    return !isPaused && delivery.state !== "held" && wasTried && now - since > this.#giveUpAfterMs;
  }

  async #endOverdue(overdue: DueDelivery[], now: number): Promise<void> {
    const hours = Math.round(this.#giveUpAfterMs / 3_600_000);
    for (const [detail, deliveries] of groupBy(overdue, ({ lastDetail }) => lastDetail)) {
      const reason = `could not be delivered within ${hours} h${detail === undefined ? "" : `: ${detail}`}`;
      const because = `${this.deps.destination.name} has not taken it in time`;
      await this.#finish(deliveries, { state: "expired", reason }, because, now);
    }
  }

  /** Gives deliveries a state without an attempt or a fallback. Those with the same state share a write. */
  async #setAside(aside: { delivery: DueDelivery; next: Untried }[], now: number): Promise<DueDelivery[]> {
    for (const alike of groupBy(aside, ({ next }) => JSON.stringify(next)).values()) {
      const seqs = alike.map(({ delivery }) => delivery.seq);
      await this.deps.store.finishDeliveries(seqs, (alike[0] as { next: Untried }).next, now, []);
    }
    return aside.map(({ delivery }) => delivery);
  }

  /** Mutes held deliveries whose mute has begun meanwhile. The mute's receipt counts them. */
  async #mute(due: DueDelivery[], now: number): Promise<DueDelivery[]> {
    const muted: { delivery: DueDelivery; next: Untried }[] = [];
    // Once for each alert, though each recipient has a delivery: the whole request may have to be read.
    const asked = new Map<string, Awaited<ReturnType<FindMute>>>();
    for (const delivery of due) {
      const { state, purpose, alertId, reason } = delivery;
      if (state !== "held" || (purpose !== "alert" && purpose !== "fallback")) continue;
      if (!asked.has(alertId)) asked.set(alertId, await this.deps.findMute(alertId, now));
      const found = asked.get(alertId);
      if (found === undefined) continue;
      const next = { state: "muted", reason: `${reason}; ${found.reason}`, mutedBy: found.keptName } as const;
      muted.push({ delivery, next });
    }
    return this.#setAside(muted, now);
  }

  /** Holds summaries and groups if quiet hours have begun while they waited. */
  async #holdLater(due: DueDelivery[], now: number): Promise<DueDelivery[]> {
    const { destination, findHold } = this.deps;
    const held = due.flatMap((delivery) => {
      const waited = delivery.state === "held" && (delivery.updates === "summary" || delivery.groupName !== undefined);
      const hold = waited ? findHold(destination.name, delivery, now) : undefined;
      const reason = `${delivery.reason}; ${hold?.words}`;
      return hold ? [{ delivery, next: { state: "held", reason, dueAt: hold.until } as const }] : [];
    });
    return this.#setAside(held, now);
  }

  async #listOfKeys(due: DueDelivery[], sinceResent: number): Promise<DueDelivery[] | undefined> {
    const { store, destination } = this.deps;
    const { joinsByKey } = vendorOf(destination.type).can;
    const asked = joinsByKey
      ? due
      : due.filter((one) => one.status === "resolved" || isStoredLate(one) || one.groupName !== undefined);
    if (asked.length === 0) return undefined;
    const first = asked.toSorted(inTurn({ sinceResent }));
    const keys = [...new Set(first.map(({ alertKey }) => alertKey))].slice(0, mostKeys);
    return await store.listByKeys(destination.name, keys, mostOfKeys);
  }
}
