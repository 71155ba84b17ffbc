import type { DeliveryState } from "../../core/delivery.ts";
import type { AlertQuery } from "../../core/ports/alert-log.ts";
import type { Tone } from "./panel.ts";

const tones: Record<DeliveryState, Tone> = {
  sent: "good",
  digested: "good",
  failed: "bad",
  expired: "bad",
  queued: "busy",
  waiting: "busy",
  sending: "busy",
  held: "busy",
  muted: "off",
};

/** How a state looks: nothing is said by the colour alone, the word stands beside it. */
export function toneOf(state: DeliveryState): Tone {
  return tones[state];
}

/** The words for a state, wherever it is shown or chosen. */
export function wordOf(state: NonNullable<AlertQuery["state"]>): string {
  switch (state) {
    case "digested":
      return "sent in a digest";
    case "problem":
      return "any problem";
    case "unmatched":
      return "no route wanted it";
    case "dropped":
      return "dropped on purpose";
    case "repeat":
      return "repeat, not sent";
    case "unrouted":
      return "not routed yet";
    default:
      return state;
  }
}
