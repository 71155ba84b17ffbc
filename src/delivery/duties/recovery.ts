import type { Clock, Random } from "../../core/clock.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { Log } from "../../core/log.ts";
import type { Store } from "../../core/ports/store.ts";
import type { Destination } from "../../core/rules.ts";
import type { UndeliveredWatch } from "../memory/undelivered.ts";
import { isByHand } from "../plan/plan-claim.ts";
import { decideNext } from "../plan/policy.ts";

export interface RecoveryDeps {
  store: Pick<Store, "listAbandoned" | "recordAttempt">;
  destinations: Map<string, Destination>;
  undelivered: UndeliveredWatch;
  settings: DeliverySettings;
  clock: Clock;
  random: Random;
  log: Log;
}

/**
 * Claims that nobody will end: of a process that was killed (`all`, at a start), or whose lease has run out. The call may
 * or may not have been made, so each is recorded as ambiguous and goes on as the policy says.
 */
export async function settleAbandoned(deps: RecoveryDeps, all: boolean): Promise<void> {
  const { store, settings, clock, random, log } = deps;
  const now = clock.now();
  const abandoned = (await store.listAbandoned(now, all)).flatMap((delivery) => {
    const destination = deps.destinations.get(delivery.destination);
    return destination ? [{ delivery, destination }] : [];
  });
  const settling = abandoned.map(async ({ delivery, destination }) => {
    const detail = all ? "Tocsin was stopped during the call" : "the call never ended";
    const progress = { ...delivery.progress, refs: [], madeAt: undefined, late: undefined };
    const outcome = { kind: "ambiguous", reason: "process_stopped", detail } as const;
    const next = decideNext(
      outcome,
      {
        channel: destination.type,
        onAmbiguous: destination.onAmbiguous,
        createdAt: delivery.createdAt,
        attempts: delivery.attempts,
        ambiguous: delivery.ambiguous,
        form: delivery.form,
        moves: delivery.progress.moves ?? 0,
        inDigest: delivery.digestId !== undefined,
        byHand: isByHand(delivery),
      },
      settings,
      now,
      random,
    );
    const result = await store.recordAttempt(
      {
        token: delivery.token,
        deliverySeqs: [delivery.seq],
        at: now,
        durationMs: 0,
        action: "send",
        part: 1,
        parts: 1,
        outcome: "ambiguous",
        reason: "process_stopped",
        detail,
        countsAsAttempt: true,
        progress,
        next,
      },
      [],
    );
    if (result === "recorded") deps.undelivered.note({ destination, deliveries: [delivery], outcome, next });
    return result;
  });
  const results = await Promise.all(settling);
  if (abandoned.length === 0) return;
  log.warn("delivery.recovered", { count: abandoned.length });
  // They come in batches; one that settles nothing would come again for ever.
  if (all && results.includes("recorded")) await settleAbandoned(deps, all);
}
