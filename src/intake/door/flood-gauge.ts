import type { Now } from "../../core/clock.ts";
import type { Door } from "./door.ts";

/** A flood: more requests at the door at once. */
const floodedAbove = 8;
/** A flood too: more accepted requests in a second. Routing on one core cannot keep up with more. */
const floodedAbovePerSecond = 2_000;
const windowMs = 50;

/** Whether storing comes before routing now (docs/adr/0003-accept-before-routing.md). */
export function createFloodGauge(door: Pick<Door, "inFlight" | "counters">, now: Now): () => boolean {
  let since = now();
  let acceptedBefore = door.counters.accepted;
  let perSecond = 0;
  return () => {
    const elapsedMs = now() - since;
    if (elapsedMs >= windowMs || elapsedMs < 0) {
      const { accepted } = door.counters;
      perSecond = ((accepted - acceptedBefore) * 1000) / Math.max(1, elapsedMs);
      since += elapsedMs;
      acceptedBefore = accepted;
    }
    return door.inFlight() > floodedAbove || perSecond > floodedAbovePerSecond;
  };
}
