import { type DeliveryState, deliveryStates, type Standing, standingDeliveries } from "../core/delivery.ts";
import { hasSeveralRecipients } from "../vendors/index.ts";
import type { AlertView } from "./operations.ts";
import type { stateFilters } from "./search-language.ts";

/** `bad` needs a look, `busy` is undecided, `off` does not count. */
export type Tone = "good" | "bad" | "busy" | "off";

/** The words and the tone of each state, wherever it is shown or chosen. The colour alone never carries information. */
const states: Record<(typeof stateFilters)[number], readonly [words: string, tone: Tone]> = {
  sent: ["sent", "good"],
  digested: ["sent in a digest", "good"],
  failed: ["failed", "bad"],
  expired: ["expired", "bad"],
  queued: ["queued", "busy"],
  waiting: ["waiting", "busy"],
  sending: ["sending", "busy"],
  held: ["held", "busy"],
  muted: ["muted", "off"],
  problem: ["any problem", "bad"],
  unmatched: ["no route wanted it", "bad"],
  damped: ["did not ring", "off"],
  dropped: ["dropped on purpose", "off"],
  repeat: ["repeat, not sent", "off"],
  unrouted: ["not routed yet", "busy"],
};

export const wordOf = (state: keyof typeof states): string => states[state][0];
export const toneOf = (state: keyof typeof states): Tone => states[state][1];

interface Looked {
  state: DeliveryState;
  damped?: { by?: unknown };
}

/** A delivery that did not ring says whether a message mentions it already. */
export function lookOf(delivery: Looked): (typeof states)["sent"] {
  if (!isHeldBack(delivery)) return states[delivery.state];
  return delivery.state === "held" ? states.damped : ["counted", "off"];
}

/** Whether the delivery did not ring, and has no message of its own. */
const isHeldBack = ({ state, damped }: Looked) =>
  damped?.by !== undefined && (state === "held" || state === "digested");

export type Whereabouts = Pick<
  AlertView,
  "routedAt" | "routingError" | "unmatched" | "dropped" | "repeatOf" | "deliveries"
>;

/** Why an alert has no deliveries. Undefined when it has some. */
export function whyNone(
  alert: Omit<Whereabouts, "routedAt" | "deliveries"> & { routedAt?: number | null; deliveries: readonly unknown[] },
): { words: string; tone: Tone } | undefined {
  const { routedAt = null, routingError, unmatched, dropped, repeatOf, deliveries } = alert;
  const none = (words: string, tone: Tone) => ({ words, tone });
  if (routedAt === null) return routingError === undefined ? none(...states.unrouted) : none("routing failed", "bad");
  if (unmatched) return none(...states.unmatched);
  if (deliveries.length > 0) return undefined;
  if (repeatOf !== undefined) return none("repeat of an earlier one, not sent", "off");
  return dropped ? none(...states.dropped) : none("in another message", "good");
}

/** `2 sent, 1 failed`, `no route wanted it`, `not routed yet`. A resent delivery counts by its resend. */
export function summarizeDeliveries(alert: Whereabouts): string {
  const counts = [...byState(alert)].map(([state, { length }]) => `${length} ${countedAs(state)}`);
  return whyNone(alert)?.words ?? counts.join(", ");
}

export const countedAs = (state: DeliveryState | "damped"): string => (state === "damped" ? wordOf(state) : state);

/** The deliveries that count for an alert's state: a resend replaces the delivery that it resends, as on the page. */
export function standingOf<T extends Standing>(alert: { deliveries: readonly T[] }): T[] {
  return standingDeliveries(alert.deliveries, hasSeveralRecipients);
}

/** In a fixed order. Deliveries that did not ring come last. States without deliveries are left out. */
export function byState(
  alert: Pick<AlertView, "deliveries">,
  order: readonly DeliveryState[] = deliveryStates,
): Map<DeliveryState | "damped", AlertView["deliveries"]> {
  const standing = standingOf(alert);
  const found = [...order, "damped" as const].flatMap((state) => {
    const those = standing.filter((delivery) => (isHeldBack(delivery) ? "damped" : delivery.state) === state);
    return those.length === 0 ? [] : [[state, those] as const];
  });
  return new Map(found);
}
