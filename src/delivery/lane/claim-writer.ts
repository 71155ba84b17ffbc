import type { Alert } from "../../core/alert.ts";
import type { Clock } from "../../core/clock.ts";
import type { ClaimedDelivery, DeliveryProgress, Thread } from "../../core/delivery-job.ts";
import type { Message } from "../../core/message.ts";
import type { DigestContext, MessageContext } from "../../core/message-context.ts";
import type { Destination } from "../../core/rules.ts";
import { createZonedClock } from "../../ground/time/zoned-time.ts";
import type { HealthMemory } from "../memory/health.ts";
import { formOf } from "../plan/claim-terms.ts";
import { explainLateness } from "../plan/lateness.ts";
import type { Claim } from "./claim-session.ts";
import { alertOf, type Composer } from "./compose.ts";

/** Writes the messages of a claim: what they say besides the alert comes from how its deliveries have fared. */
export interface ClaimWriter {
  /** The alert itself. What it says of time is kept in `progress`, so that the rest of a long message is cut in the same places. */
  alert(claim: Claim, progress: DeliveryProgress, context: ThreadContext): Message[];
  digest(claim: Claim, progress: DeliveryProgress): Message[];
  /** The first message of a thread, which goes on showing its own alert, and that it is over. */
  resolved(claim: Claim, root: Alert, thread: Thread): Message[];
}

/** What a message has to say of those before it. */
export type ThreadContext = Pick<MessageContext, "history" | "isAnswer" | "firesAgainAt">;

export interface ClaimWriterDeps {
  composer: Composer;
  destination: Destination;
  health: HealthMemory;
  clock: Clock;
  /** When this process began to deliver, epoch milliseconds. */
  startedAt: number;
}

export function createClaimWriter({
  composer,
  destination,
  health,
  clock,
  startedAt,
}: ClaimWriterDeps): ClaimWriter {
  function settleTime(
    progress: DeliveryProgress,
    told: ClaimedDelivery,
  ): Pick<MessageContext, "now" | "late"> {
    if (progress.madeAt === undefined) {
      progress.madeAt = clock.now();
      progress.late = explainLateness(told, {
        status: health.of(destination),
        channel: destination.type,
        startedAt,
        now: progress.madeAt,
      });
    }
    return { now: progress.madeAt, late: progress.late };
  }

  return {
    alert(claim, progress, context) {
      const [newest] = claim.deliveries;
      const telling: MessageContext = {
        ...settleTime(progress, newest),
        purpose: newest.purpose,
        possibleRepeat: mayBeRepeat(claim),
        insteadOf: newest.insteadOf,
        insteadBecause: newest.insteadBecause,
        ...context,
      };
      return composer.alert(newest, alertOf(newest), telling, destination);
    },

    digest(claim, progress) {
      const oldest = claim.deliveries.reduce((a, b) => (a.receivedAt <= b.receivedAt ? a : b));
      const telling = {
        ...settleTime(progress, oldest),
        reason: claim.digest?.reason ?? "burst",
        quietHours: hoursOf(destination, claim),
        possibleRepeat: mayBeRepeat(claim),
      };
      return composer.digest(claim.deliveries, telling, formOf(claim), destination);
    },

    resolved(claim, root, thread) {
      const [newest] = claim.deliveries;
      const { count, firstAt, lastAt } = thread;
      const telling: MessageContext = {
        now: clock.now(),
        purpose: newest.purpose,
        possibleRepeat: false,
        resolvedBy: alertOf(newest),
        history: { count, firstAt, lastAt },
      };
      return composer.alert(newest, root, telling, destination);
    },
  };
}

/** The quiet hours in which all of them came; absent when they were held by others, which the configuration had before. */
function hoursOf(
  { quietHours, timeZone }: Destination,
  { deliveries, digest }: Claim,
): DigestContext["quietHours"] {
  if (quietHours === undefined || digest?.reason !== "quiet_hours") return undefined;
  const { from, to } = quietHours;
  const zonedClock = createZonedClock(timeZone);
  const areIn = deliveries.every(({ receivedAt }) => {
    const { hour, minute } = zonedClock.wallTimeAt(receivedAt);
    const at = `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
    return from < to ? from <= at && at < to : from <= at || at < to;
  });
  return areIn ? { from, to } : undefined;
}

/** A former attempt of any of them ended without anybody knowing whether it arrived. */
function mayBeRepeat({ deliveries }: Claim): boolean {
  return deliveries.some((delivery) => delivery.ambiguous > 0);
}
