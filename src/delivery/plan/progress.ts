import type { Outcome } from "../../core/delivery.ts";
import type { DeliveryProgress } from "../../core/delivery-job.ts";
import type { DigestReason } from "../../core/message-context.ts";

export type ProgressEvent =
  /** The alerts are sent together, for this reason. */
  | { kind: "digest"; reason: DigestReason }
  /** The message was composed, and says that it is late. */
  | { kind: "composed"; at: number; late: DeliveryProgress["late"] }
  /** The call for the next part has ended. */
  | { kind: "called"; outcome: Outcome }
  /** A call was in flight, and its outcome is unknown. */
  | { kind: "abandoned" };

/** The only place where progress changes. Pure. A message that must be composed anew has no sent part. */
export function advance(progress: DeliveryProgress, event: ProgressEvent): DeliveryProgress {
  switch (event.kind) {
    case "digest":
      return { ...progress, digestReason: event.reason };
    case "composed":
      return progress.madeAt === undefined ? { ...progress, madeAt: event.at, late: event.late } : progress;
    case "called":
      return afterCall(progress, event.outcome);
    case "abandoned":
      return begunAnew(progress);
    default:
      return event satisfies never;
  }
}

function afterCall(progress: DeliveryProgress, outcome: Outcome): DeliveryProgress {
  if (outcome.kind === "sent") return { ...progress, refs: [...progress.refs, outcome.ref ?? null] };
  if (outcome.kind !== "retry") return begunAnew(progress);
  if (outcome.movedTo !== undefined) return { ...begunAnew(progress), moves: (progress.moves ?? 0) + 1 };
  return progress.refs.length > 0 ? progress : begunAnew(progress);
}

function begunAnew(progress: DeliveryProgress): DeliveryProgress {
  return { ...progress, refs: [], madeAt: undefined, late: undefined };
}
