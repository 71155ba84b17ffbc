import type { Now } from "../../core/clock.ts";
import type { Door } from "./door.ts";

/** More requests than this at the door at once are a flood. */
const floodedAbove = 8;
/** More accepted in a second are a flood, too: on one core they could not be routed as fast as they come. */
const floodedAbovePerSecond = 2_000;
const windowMs = 50;

/**
 * Whether alerts come in so fast that storing goes before routing (docs/adr/0003-accept-before-routing.md). Requests in
 * flight alone do not show it: with a new connection for each, most of them still wait in the kernel.
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
