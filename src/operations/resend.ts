import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { AlertLog, DeliverySummary } from "../core/ports/alert-log.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import { recipientsOf } from "../core/recipients.ts";
import type { Destination, PlannedDelivery } from "../core/rules.ts";

export interface ResendDeps {
  store: Pick<AlertLog, "getAlert"> & Pick<Dispatch, "addDeliveries">;
  destinations: Destination[];
  clock: Clock;
}

/** See `Operations.resend`. */
export async function resendAlert(
  deps: ResendDeps,
  alertId: string,
  names?: readonly string[],
): Promise<DeliverySummary[]> {
  const { store, clock } = deps;
  const alert = await store.getAlert(alertId);
  if (!alert)
    throw new AppError("not_found", `There is no alert ${alertId}.`, { hint: "Copy its id from the log." });
  if (!alert.facts) {
    throw new AppError("conflict", "The alert has not been routed yet.", { hint: "Try again in a moment." });
  }
  const targets =
    names === undefined
      ? formerTargets(deps, alert.deliveries)
      : [...new Set(names)].map((name) => targetNamed(deps, name));
  const planned = targets.flatMap((target) => planResend(target, clock.now()));
  return store.addDeliveries(alert.id, planned, "resend", clock.now());
}

function targetNamed({ destinations }: ResendDeps, name: string): Destination {
  const destination = destinations.find((candidate) => candidate.name === name);
  if (destination) return destination;
  throw new AppError("not_found", `There is no destination ${name}.`, {
    hint: `Configured are: ${destinations.map((candidate) => candidate.name).join(", ") || "none"}.`,
  });
}

function formerTargets({ destinations }: ResendDeps, deliveries: DeliverySummary[]): Destination[] {
  const names = new Set(deliveries.map((delivery) => delivery.destination));
  const targets = destinations.filter((destination) => names.has(destination.name));
  if (targets.length > 0) return targets;
  throw new AppError("conflict", "The alert went to no destination that is configured now.", {
    hint: `Name the destination. Configured are: ${destinations.map((candidate) => candidate.name).join(", ") || "none"}.`,
  });
}

function planResend(destination: Destination, now: number): PlannedDelivery[] {
  return recipientsOf(destination).map((recipient) => ({
    destination: destination.name,
    channel: destination.type,
    recipient,
    route: "resend",
    state: "queued",
    reason: "sent again by hand",
    dueAt: now,
    updates: "new",
  }));
}
