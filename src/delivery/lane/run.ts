import type { Clock } from "../../core/clock.ts";
import type { DueDelivery } from "../../core/delivery-job.ts";
import type { Log } from "../../core/log.ts";
import type { Claim } from "../plan/plan-claim.ts";
import type { Deliverer } from "./deliver.ts";

/**
 * What one lane has claimed and works off. Three things make it quick, and none of them weakens a promise:
 *
 *     claimed, not begun ──▶ called (as many at once as the vendor takes) ──▶ answered, not on record ──▶ on record
 *       at most `mostAhead`,                                                     at most `mostUnrecorded`
 *       of the next `horizonMs`
 *
 * - Deliveries are claimed ahead, many at a time. How many follows from how long calls took lately, so that a slow
 *   vendor, or one that has just failed, has none; what a person asks for waits no longer behind them than the horizon;
 *   and they are few enough that what is too much can still be sent together.
 * - The next call leaves while the former one is put on record, so attempts share commits.
 * - The next claims are made before the last ones are used up.
 *
 * Of one alert key in one chat the next call waits until the former one is on record: an end that overtakes its beginning,
 * or is told while that has to be repeated, would not be the last word.
 *
 * A call that does not go well ends the run: what is not begun goes back into the queue, where it was, and the lane looks
 * anew. A store that refuses a record lets no further call begin until it takes it.
 */
export interface Run {
  /** How many more deliveries may be claimed now, by a commit for them. */
  room(): number;
  /** How many more may be claimed with a commit that is made anyway. */
  roomBeside(): number;
  /** Claims for this recipient that are not begun. */
  countWaiting(recipient: string): number;
  /** Puts what is not begun back into the queue, where it was: a listing that is asked for behind this finds it. */
  giveBack(): void;
  /** A call about this alert key is under way in this chat, or not on record. */
  isUnderWay(delivery: Keyed): boolean;
  /** Claims wait, or as many as this are under way. */
  isBusy(mostUnderWay: number): boolean;
  /** Begins them in their order, each as soon as it may; gives them back when nothing may begin any more. */
  add(claims: Claim[], stop: AbortSignal, isOver?: boolean): void;
  /** Begins it at once. Resolves when it is settled and on record. Never rejects. */
  deliverAlone(claim: Claim, stop: AbortSignal): Promise<void>;
  /** Gives back what is not begun; resolves when all else has ended. Never rejects. */
  end(): Promise<void>;
}

type Keyed = Pick<DueDelivery, "recipient" | "alertKey">;

export interface RunDeps {
  deliverer: Deliverer;
  /** Calls at once. */
  concurrency: number;
  /** See `ClaimLimits`. */
  digestOver: number;
  clock: Clock;
  log: Log;
  /** There is room for more claims, or nothing is under way any more. */
  onRoom(): void;
  /** Something is due again, or about to be. */
  onGivenBack(): void;
  /** Of what went wrong, for the log. */
  destination: string;
}

const mostAhead = 64;
const horizonMs = 250;
/** So many calls may be ambiguous besides those under way when the process is killed. */
const mostUnrecorded = 16;
/** Of its lease a claim needs the rest for its own call. */
const longestWaitMs = 30_000;
/** Of an older call's time in what the next is thought to take; one that took longer counts at once. */
const fading = 0.8;

export function createRun(deps: RunDeps): Run {
  const { deliverer, concurrency, digestOver, clock, log, onRoom, onGivenBack, destination } = deps;
  let claimed: { claim: Claim; stop: AbortSignal; claimedAt: number }[] = [];
  const underWay = new Set<Promise<void>>();
  /** Alert keys of the calls among them. A digest has none of its own: nothing else is under way beside it. */
  const keys = new Set<string>();
  /** Whose record the store has refused so far. */
  const refused = new Set<Claim>();
  let calling = 0;
  /** What the next call is thought to take. Nothing is known of the first. */
  let callMs = horizonMs;

  function ahead(): number {
    const each = Math.max(0, Math.floor(horizonMs / callMs) - 1);
    return Math.min(mostAhead, each * concurrency, Math.floor(digestOver / 2));
  }

  function roomBeside(): number {
    if (refused.size > 0) return 0;
    const most = ahead();
    const free = Math.max(0, concurrency - (most > 0 ? calling : underWay.size));
    return Math.max(0, free + most - claimed.length);
  }

  function room(): number {
    // With more than half of it still there the commit would be shared by few.
    return claimed.length * 2 > ahead() ? 0 : roomBeside();
  }

  function mayBegin(): boolean {
    const mostUnderWay = concurrency + (ahead() > 0 ? mostUnrecorded : 0);
    return calling < concurrency && underWay.size < mostUnderWay && refused.size === 0;
  }

  function begin(): void {
    while (mayBegin()) {
      const place = claimed.findIndex(({ claim }) => !isUnderWay(claim.deliveries[0]));
      const next = claimed[place];
      if (next === undefined) return;
      const { claim, stop, claimedAt } = next;
      const waitedMs = clock.now() - claimedAt;
      if (stop.aborted || waitedMs < 0 || waitedMs > longestWaitMs) giveBack();
      else {
        claimed.splice(place, 1);
        void start(claim, stop);
      }
    }
  }

  function start(claim: Claim, stop: AbortSignal): Promise<void> {
    const calledAt = clock.now();
    let isCalling = true;
    let hasGoneWell = false;
    const key = keyOf(claim.deliveries[0]);
    calling += 1;
    keys.add(key);
    function endCall(isWell: boolean): void {
      if (!isCalling) return;
      isCalling = false;
      hasGoneWell = isWell;
      calling -= 1;
      const tookMs = Math.max(1, clock.now() - calledAt);
      callMs = isWell ? Math.max(tookMs, callMs * fading + tookMs * (1 - fading)) : horizonMs;
      if (!isWell) giveBack();
      begin();
      if (calling === 0) deliverer.flush();
    }
    const delivering = deliverer
      .deliver(claim, stop, {
        onAnswered: endCall,
        onRefused: () => void refused.add(claim),
      })
      .catch((error: unknown) => {
        log.error("delivery.unrecorded", { destination, error: String(error).slice(0, 300) });
      })
      .finally(() => {
        refused.delete(claim);
        keys.delete(key);
        endCall(false);
        // Only now its next step is on record: what was listed since the call did not have it.
        if (!hasGoneWell) onGivenBack();
        leave(delivering);
      });
    underWay.add(delivering);
    return delivering;
  }

  function isUnderWay(delivery: Keyed): boolean {
    return keys.has(keyOf(delivery));
  }

  function leave(done: Promise<void>): void {
    underWay.delete(done);
    begin();
    if (underWay.size === 0 || room() > 0) onRoom();
  }

  function giveBack(): void {
    const rest = claimed;
    claimed = [];
    onGivenBack();
    for (const { claim } of rest) {
      const giving = deliverer
        .giveBack(claim)
        .catch((error: unknown) => {
          log.error("delivery.not_given_back", { destination, error: String(error).slice(0, 300) });
        })
        .finally(() => leave(giving));
      underWay.add(giving);
    }
  }

  return {
    room,
    roomBeside,
    countWaiting: (recipient) => claimed.filter(({ claim }) => claim.deliveries[0].recipient === recipient).length,
    giveBack,
    isUnderWay,
    isBusy: (mostUnderWay) => claimed.length > 0 || underWay.size >= mostUnderWay,
    add(claims, stop, isOver = false) {
      const claimedAt = clock.now();
      claimed.push(...claims.map((claim) => ({ claim, stop, claimedAt })));
      if (isOver) giveBack();
      else begin();
    },
    deliverAlone: start,
    async end() {
      giveBack();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

function keyOf({ recipient, alertKey }: Keyed): string {
  return `${recipient}\n${alertKey}`;
}
