import { type DeliveryState, standingDeliveries } from "../../core/delivery.ts";
import type { AlertSummary, DeliverySummary } from "../../core/ports/alert-log.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";

/** Worst first: what a reader must see of several. */
const byUrgency = [
  "failed",
  "expired",
  "held",
  "waiting",
  "sending",
  "queued",
  "muted",
  "digested",
  "sent",
] as const satisfies DeliveryState[];

/** How it looks: nothing is said by the colour alone, the word stands beside it. */
export type Tone = "good" | "bad" | "busy" | "off";

export function toneOf(state: DeliveryState): Tone {
  switch (state) {
    case "sent":
    case "digested":
      return "good";
    case "failed":
    case "expired":
      return "bad";
    case "queued":
    case "waiting":
    case "sending":
    case "held":
      return "busy";
    case "muted":
      return "off";
    default:
      return state satisfies never;
  }
}

export function wordOf(state: DeliveryState): string {
  return state === "digested" ? "sent in a digest" : state;
}

export interface DestinationState {
  destination: string;
  /** The worst of its recipients. */
  state: DeliveryState;
  /** `sent`, or `2 sent, 1 failed` for several mailboxes. */
  words: string;
  /** Why, for each recipient that is not simply sent. */
  reasons: string[];
}

/** Where one alert stands at each destination. */
export function summariseDeliveries(deliveries: DeliverySummary[]): DestinationState[] {
  const byDestination = new Map<string, DeliverySummary[]>();
  for (const delivery of standingDeliveries(deliveries, hasSeveralRecipients)) {
    const others = byDestination.get(delivery.destination) ?? [];
    byDestination.set(delivery.destination, [...others, delivery]);
  }
  return [...byDestination].map(([destination, current]) => summariseDestination(destination, current));
}

function summariseDestination(destination: string, current: DeliverySummary[]): DestinationState {
  const present = byUrgency.filter((state) => current.some((delivery) => delivery.state === state));
  const worst = present[0] ?? "queued";
  const count = (state: DeliveryState) => current.filter((delivery) => delivery.state === state).length;
  const words =
    current.length === 1
      ? wordOf(worst)
      : present.map((state) => `${count(state)} ${wordOf(state)}`).join(", ");
  const reasons = current.filter(({ state }) => state !== "sent").map(({ reason }) => reason);
  return { destination, state: worst, words, reasons };
}

export function StateChip({ state }: { state: DeliveryState }) {
  return (
    <span class={`chip ${toneOf(state)}`}>
      <Mark tone={toneOf(state)} />
      {wordOf(state)}
    </span>
  );
}

/** All destinations of one alert in a row, or why there are none. */
export function DeliveryChips({ alert }: { alert: AlertSummary }) {
  if (alert.routedAt === undefined) {
    return alert.routingError === undefined ? (
      <span class="chip busy">
        <Mark tone="busy" />
        not routed yet
      </span>
    ) : (
      <span class="chip bad" title={alert.routingError}>
        <Mark tone="bad" />
        routing failed, tried again
      </span>
    );
  }
  if (alert.deliveries.length === 0 && alert.repeatOf !== undefined) {
    return (
      <span class="chip off">
        <Mark tone="off" />
        repeat of <a href={`/alerts/${alert.repeatOf}`}>an earlier one</a>, not sent
      </span>
    );
  }
  if (alert.deliveries.length === 0 && alert.dropped) {
    return (
      <span class="chip off">
        <Mark tone="off" />
        dropped on purpose
      </span>
    );
  }
  if (alert.deliveries.length === 0) {
    const [tone, words] = alert.unmatched
      ? (["bad", "no route wanted it"] as const)
      : (["good", "in another message"] as const);
    return (
      <span class={`chip ${tone}`}>
        <Mark tone={tone} />
        {words}
      </span>
    );
  }
  return (
    <ul class="chips">
      {summariseDeliveries(alert.deliveries).map(({ destination, state, words, reasons }) => (
        <li class={`chip ${toneOf(state)}`} title={reasons.join("\n") || undefined}>
          <Mark tone={toneOf(state)} />
          <bdi>{destination}</bdi> <b>{words}</b>
        </li>
      ))}
    </ul>
  );
}

const marks: Record<Tone, string> = { good: "✓", bad: "✕", busy: "…", off: "–" };

export function Mark({ tone }: { tone: Tone }) {
  return (
    <span class="mark" aria-hidden="true">
      {marks[tone]}
    </span>
  );
}
