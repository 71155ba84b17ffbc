import type { PropsWithChildren } from "hono/jsx";
import type { Tone } from "../../contract/panels/panel.ts";
import { toneOf, wordOf } from "../../contract/panels/state-words.ts";
import { type DeliveryState, standingDeliveries } from "../../core/delivery.ts";
import type { AlertSummary, DeliverySummary } from "../../core/ports/alert-log.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";
import { ClockTime } from "./instants.tsx";

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

export { type Tone, toneOf, wordOf };

export interface DestinationState {
  destination: string;
  /** The worst of its recipients. */
  state: DeliveryState;
  /** `sent`, or `2 sent, 1 failed` for several mailboxes. */
  words: string;
  /** Why, for each recipient that is not simply sent. */
  reasons: string[];
  /** When it goes on, where that is known. */
  until?: number;
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
  const until = current.find(({ state }) => state === worst)?.dueAt;
  return { destination, state: worst, words, reasons, ...(until !== undefined && { until }) };
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

/** Why an alert has no deliveries to show; undefined when it has some. */
function Undelivered({ alert }: { alert: AlertSummary }) {
  const { routedAt, routingError, repeatOf, dropped, unmatched } = alert;
  if (routedAt === undefined && routingError === undefined) return <Chip tone="busy">{wordOf("unrouted")}</Chip>;
  if (routedAt === undefined) {
    return (
      <Chip tone="bad" title={routingError}>
        routing failed, tried again
      </Chip>
    );
  }
  if (repeatOf !== undefined) {
    return (
      <Chip tone="off">
        repeat of <a href={`/alerts/${repeatOf}`}>an earlier one</a>, not sent
      </Chip>
    );
  }
  if (dropped) return <Chip tone="off">{wordOf("dropped")}</Chip>;
  if (unmatched) return <Chip tone="bad">{wordOf("unmatched")}</Chip>;
  return <Chip tone="good">in another message</Chip>;
}

const isUndelivered = ({ routedAt, deliveries }: AlertSummary) => routedAt === undefined || deliveries.length === 0;

/** All destinations of one alert, or why there are none. */
export function DeliveryChips({ alert }: { alert: AlertSummary }) {
  if (isUndelivered(alert)) return <Undelivered alert={alert} />;
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

/** Of one alert: what went wrong or is not done yet by destination, and how many deliveries were sent. */
export interface Outcome {
  exceptions: DestinationState[];
  /** Deliveries that are sent or in a digest, as the commands count them. */
  sent: number;
  /** Where to. */
  sentTo: string[];
}

export function outcomeOf(deliveries: DeliverySummary[]): Outcome {
  const standing = standingDeliveries(deliveries, hasSeveralRecipients);
  const isSent = ({ state }: DeliverySummary) => toneOf(state) === "good";
  const sent = standing.filter(isSent);
  const exceptions = summariseDeliveries(standing.filter((delivery) => !isSent(delivery)));
  const rank = ({ state }: DestinationState) => byUrgency.indexOf(state);
  exceptions.sort((one, other) => rank(one) - rank(other));
  return { exceptions, sent: sent.length, sentTo: [...new Set(sent.map(({ destination }) => destination))] };
}

/**
 * The same for a row of the log, of alerts that are one row: a mark with initials for all who got it, and a chip for what
 * needs a look. The names of several are read out, and said when pointed at.
 */
export function OutcomeMarks({ alerts }: { alerts: readonly AlertSummary[] }) {
  const [undelivered] = alerts.filter(isUndelivered);
  if (undelivered !== undefined && alerts.every(isUndelivered)) return <Undelivered alert={undelivered} />;
  const outcomes = alerts.map(({ deliveries }) => outcomeOf(deliveries));
  const exceptions = new Map<string, DestinationState[]>();
  for (const one of outcomes.flatMap((outcome) => outcome.exceptions)) {
    const alike = `${one.words} ${one.until}`;
    exceptions.set(alike, [...(exceptions.get(alike) ?? []), one]);
  }
  const sent = outcomes.reduce((sum, outcome) => sum + outcome.sent, 0);
  const sentTo = [...new Set(outcomes.flatMap((outcome) => outcome.sentTo))];
  return (
    <ul class="chips">
      {undelivered && (
        <li>
          <Undelivered alert={undelivered} />
        </li>
      )}
      {[...exceptions.values()].map((alike) => (
        <Exception alike={alike} />
      ))}
      {sent > 0 && (
        <li class="all-sent good" title={`Sent to ${sentTo.join(", ")}`}>
          <Mark tone="good" />
          <span class="hidden">
            {sent} sent: {sentTo.join(", ")}
          </span>
          <span aria-hidden="true">
            {sentTo.slice(0, mostInitials).map(initialsOf).join(" ")}
            {sentTo.length > mostInitials && ` +${sentTo.length - mostInitials}`}
          </span>
        </li>
      )}
    </ul>
  );
}

function Exception({ alike }: { alike: readonly DestinationState[] }) {
  const [first] = alike;
  if (first === undefined) return null;
  const { destination, state, words, until } = first;
  const reasons = alike.flatMap((one) =>
    one.reasons.map((why) => (alike.length > 1 ? `${one.destination}: ${why}` : why)),
  );
  return (
    <li class={`chip ${toneOf(state)}`} title={reasons.join("\n") || undefined}>
      <Mark tone={toneOf(state)} />
      {alike.length > 1 ? (
        <>
          {alike.length} <b>{words}</b>
          <span class="hidden">: {alike.map((one) => one.destination).join(", ")}</span>
        </>
      ) : (
        <>
          <bdi>{destination}</bdi> <b>{words}</b>
        </>
      )}
      {(state === "held" || state === "waiting") && until !== undefined && (
        <>
          {" until "}
          <ClockTime at={until} />
        </>
      )}
    </li>
  );
}

/** More would take a second line. */
const mostInitials = 6;

/** `risk-mail` → `rm`, `desk` → `de`. */
function initialsOf(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const letters =
    words.length > 1 ? words.slice(0, 2).map((word) => [...word][0]) : [...(words[0] ?? name)].slice(0, 2);
  return letters.join("").toLowerCase();
}

const marks: Record<Tone, string> = { good: "✓", bad: "✕", busy: "…", off: "–" };

export function Mark({ tone }: { tone: Tone }) {
  return (
    <span class="mark" aria-hidden="true">
      {marks[tone]}
    </span>
  );
}
