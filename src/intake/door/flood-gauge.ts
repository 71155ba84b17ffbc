import type { Now } from "../../core/clock.ts";
import type { Door } from "./door.ts";

/** More requests at the door at once are a flood. */
const floodedAbove = 8;
/** More accepted requests in a second are a flood, too: on one core routing could not keep up. */
const floodedAbovePerSecond = 2_000;
const windowMs = 50;

/**
 * Whether alerts come so fast that storing comes before routing (docs/adr/0003-accept-before-routing.md). The number of
 * requests alone does not show it: with a new connection for each, most still wait in the kernel.
 */
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
