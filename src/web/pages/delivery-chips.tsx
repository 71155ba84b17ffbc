import type { PropsWithChildren } from "hono/jsx";
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

export function toneOf(state: DeliveryState): Tone {
  return tones[state];
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
    current.length === 1 ? wordOf(worst) : present.map((state) => `${count(state)} ${wordOf(state)}`).join(", ");
  const reasons = current.filter(({ state }) => state !== "sent").map(({ reason }) => reason);
  return { destination, state: worst, words, reasons };
}

interface ChipProps {
  tone: Tone;
  /** A tooltip. */
  title?: string;
}

export function Chip({ tone, title, children }: PropsWithChildren<ChipProps>) {
  return (
    <span class={`chip ${tone}`} title={title}>
      <Mark tone={tone} />
      {children}
    </span>
  );
}

export function StateChip({ state }: { state: DeliveryState }) {
  return <Chip tone={toneOf(state)}>{wordOf(state)}</Chip>;
}

/** All destinations of one alert in a row, or why there are none. */
export function DeliveryChips({ alert }: { alert: AlertSummary }) {
  const { routedAt, routingError, deliveries, repeatOf, dropped, unmatched } = alert;
  if (routedAt === undefined && routingError === undefined) return <Chip tone="busy">not routed yet</Chip>;
  if (routedAt === undefined) {
    return (
      <Chip tone="bad" title={routingError}>
        routing failed, tried again
      </Chip>
    );
  }
  if (deliveries.length === 0 && repeatOf !== undefined) {
    return (
      <Chip tone="off">
        repeat of <a href={`/alerts/${repeatOf}`}>an earlier one</a>, not sent
      </Chip>
    );
  }
  if (deliveries.length === 0 && dropped) return <Chip tone="off">dropped on purpose</Chip>;
  if (deliveries.length === 0 && unmatched) return <Chip tone="bad">no route wanted it</Chip>;
  if (deliveries.length === 0) return <Chip tone="good">in another message</Chip>;
  return (
    <ul class="chips">
      {summariseDeliveries(deliveries).map(({ destination, state, words, reasons }) => (
        <li class={`chip ${toneOf(state)}`} title={reasons.join("\n") || undefined}>
          <Mark tone={toneOf(state)} />
          <bdi>{destination}</bdi> <b>{words}</b>
        </li>
      ))}
    </ul>
  );
}

const marks: Record<Tone, string> = { good: "✓", bad: "✕", busy: "…", off: "–" };

function Mark({ tone }: { tone: Tone }) {
  return (
    <span class="mark" aria-hidden="true">
      {marks[tone]}
    </span>
  );
}
