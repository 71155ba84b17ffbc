import { setImmediate as nextTurn } from "node:timers/promises";
import type { Translation } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { DeliveryPurpose } from "../core/delivery.ts";
import type { Log } from "../core/log.ts";
import type { Mute } from "../core/rules.ts";
import type { RoutingRecord, Store, UnroutedRequest } from "../core/store.ts";
import type { Router } from "./router.ts";

export interface RoutingLoopDeps {
  store: Pick<Store, "listUnrouted" | "recordRouting" | "recordRoutingFailure">;
  router: Router;
  /** One translation for each alert of the body, in its order. */
  translate(body: Uint8Array, contentType: string | undefined): Translation[];
  /** Mutes made at run time that are active. */
  activeMutes(): Mute[];
  clock: Clock;
  log: Log;
  /** Whether so much comes in that accepting must not wait for routing. */
  isFlooded(): boolean;
  /** Called after the commit with the destinations that have something new. */
  onRouted(destinations: Set<string>): void;
}

export interface RoutingLoop {
  /** Something was accepted. */
  nudge(): void;
  /** Runs until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

const batchSize = 100;
/**
 * Rounds begin at least this far apart: alerts that come one after another share a round and its commits, and each is answered
 * behind its own sync instead of behind the rounds of those before it. One that comes alone is routed at once.
 */
const roundMs = 5;
/** What a round is taken for at most, so that a clock that was set forward puts nothing off. */
const longestRoundMs = 1_000;
/** So many requests are read at a stretch, a millisecond or so; then the door gets its turn. */
const stretch = 10;
/** In a flood: small batches, so that accepting gets its turn between two, and at most this share of the time. */
const floodBatchSize = 25;
const floodShare = 0.1;
/** The safety net under a lost nudge, and the wait after a store that refused. */
const pollMs = 1_000;
const firstRetryMs = 5_000;
const longestRetryMs = 5 * 60_000;

/**
 * Takes what was accepted through translation and the rules: T2. An alert that this fails on stays unrouted and flagged,
 * and is tried again.
 *
 * Reading an alert costs several times what storing it does. In a flood the relay stores first: routing goes on, with a
 * bounded share of the time, and catches up when the flood is over (docs/adr/0003-accept-before-routing.md).
 */
export function createRoutingLoop(deps: RoutingLoopDeps): RoutingLoop {
  const { store, router, clock, log } = deps;
  let wake = new AbortController();

  async function routeBatch(limit: number): Promise<number> {
    const requests = await store.listUnrouted(limit, clock.now());
    const records: RoutingRecord[] = [];
    let count = 0;
    for (const [index, request] of requests.entries()) {
      if (index > 0 && index % stretch === 0) await nextTurn();
      count += request.alerts.length;
      records.push(...(await routeRequest(request)));
    }
    if (records.length === 0) return count;
    await store.recordRouting(records);
    const destinations = new Set<string>();
    for (const record of records) {
      for (const delivery of record.deliveries) destinations.add(delivery.destination);
      log.info("alert.routed", {
        alertSeq: record.alertSeq,
        severity: record.facts.severity,
        deliveries: record.deliveries.length,
      });
    }
    deps.onRouted(destinations);
    return count;
  }

  async function routeRequest(request: UnroutedRequest): Promise<RoutingRecord[]> {
    const records: RoutingRecord[] = [];
    let translations: Translation[] | undefined;
    for (const alert of request.alerts) {
      try {
        translations ??= deps.translate(request.body, request.contentType);
        const translation = translations[alert.item];
        if (!translation)
          throw new Error(`the body has ${translations.length} alerts, not ${alert.item + 1}`);
        records.push(routeAlert(alert, translation));
      } catch (error) {
        const message = String(error instanceof Error ? error.message : error).slice(0, 300);
        const waitMs = Math.min(firstRetryMs * 2 ** alert.failures, longestRetryMs);
        log.error("alert.routing_failed", { alert: alert.id, error: message, failures: alert.failures + 1 });
        await store.recordRoutingFailure(alert.seq, message, clock.now() + waitMs);
      }
    }
    return records;
  }

  function routeAlert(
    alert: UnroutedRequest["alerts"][number],
    { facts, payload }: Translation,
  ): RoutingRecord {
    const { origin, receivedAt } = alert;
    const now = clock.now();
    const { decisions, deliveries } = router.route(
      { facts, payload, origin, receivedAt },
      deps.activeMutes(),
      now,
    );
    const purpose: DeliveryPurpose = origin === "test" ? "test" : "alert";
    return { alertSeq: alert.seq, facts, decisions, deliveries, purpose, routedAt: now };
  }

  return {
    nudge() {
      wake.abort("nudged");
    },
    async run(stop) {
      stop.addEventListener("abort", () => wake.abort("stopped"), { once: true });
      while (!stop.aborted) {
        wake = new AbortController();
        const flooded = deps.isFlooded();
        const limit = flooded ? floodBatchSize : batchSize;
        const startedAt = clock.now();
        const count = await routeBatch(limit).catch((error: unknown) => {
          log.error("routing.failed", { error: String(error).slice(0, 300) });
          return 0;
        });
        const tookMs = Math.min(Math.max(1, clock.now() - startedAt), longestRoundMs);
        if (flooded) await clock.sleep(tookMs * (1 / floodShare - 1), stop);
        else if (count < limit) {
          await clock.sleep(pollMs, wake.signal);
          // Bounded, since the clock may have been set back meanwhile.
          const restMs = Math.min(roundMs, startedAt + roundMs - clock.now());
          if (count > 0) await clock.sleep(restMs, stop);
        }
      }
    },
  };
}
