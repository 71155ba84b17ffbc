import { standingDeliveries } from "../../core/delivery.ts";
import type { Downtime } from "../../core/gaps.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";
import { wordOf } from "./delivery-chips.tsx";
import { ExactTime } from "./instants.tsx";

type Delivery = AlertDetail["deliveries"][number];

/** A wait that nobody asks about. */
const shortWaitMs = 1_000;

/** Received, stored, routed, sent: how long each step waited, and why. */
export function Journey({ alert, downtimes }: { alert: AlertDetail; downtimes: readonly Downtime[] }) {
  const { receivedAt, routedAt } = alert;
  const standing = new Set(standingDeliveries(alert.deliveries, hasSeveralRecipients).map(({ id }) => id));
  const deliveries = alert.deliveries.filter(({ id }) => standing.has(id));
  return (
    <>
      <p class="steps">
        <span>
          Received and stored{" "}
          <b>
            <ExactTime at={receivedAt} />
          </b>
        </span>
        {routedAt !== undefined && (
          <span>
            {" → routed after "}
            <b>{lengthOf(Math.max(0, routedAt - receivedAt))}</b>
            {routedAt - receivedAt > shortWaitMs && (
              <span class="soft"> ({whyLate(downtimes, receivedAt, routedAt) ?? "others were before it"})</span>
            )}
          </span>
        )}
      </p>
      {deliveries.length > 0 && (
        <ul class="journey">
          {deliveries.map((delivery) => (
            <DeliverySteps alert={alert} delivery={delivery} downtimes={downtimes} />
          ))}
        </ul>
      )}
    </>
  );
}

/** `Tocsin was not running for 4 min of it`; undefined where it was, as far as that is known. */
function whyLate(downtimes: readonly Downtime[], from: number, to: number): string | undefined {
  const ms = downtimes
    .filter(({ restored }) => restored !== true)
    .reduce((sum, { fromAt, toAt }) => sum + Math.max(0, Math.min(to, toAt) - Math.max(from, fromAt)), 0);
  return ms === 0 ? undefined : `Tocsin was not running for ${lengthOf(ms)} of it`;
}

interface DeliveryStepsProps {
  alert: AlertDetail;
  delivery: Delivery;
  downtimes: readonly Downtime[];
}

function DeliverySteps({ alert, delivery, downtimes }: DeliveryStepsProps) {
  const { attempts, state, finishedAt, createdAt, recipient, destination, channel } = delivery;
  const calledMs = attempts.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const last = attempts.at(-1);
  const isThere = state === "sent" || state === "digested";
  const until = last === undefined ? finishedAt : last.at + last.durationMs;
  const waitedMs = until === undefined ? undefined : Math.max(0, until - createdAt - calledMs);
  const calls = `${attempts.length} ${attempts.length === 1 ? "call" : "calls"} took ${lengthOf(calledMs)}`;
  const steps = [
    isThere && finishedAt !== undefined
      ? `sent after ${lengthOf(Math.max(0, finishedAt - alert.receivedAt))}`
      : wordOf(state),
    ...(attempts.length > 0 ? [calls] : []),
    ...(waitedMs !== undefined && attempts.length > 0 ? [`waited ${lengthOf(waitedMs)}`] : []),
  ];
  const reasons = whyWaited(alert, delivery, downtimes);
  return (
    <li>
      <a href={`#delivery-${delivery.id}`}>
        <bdi>{destination}</bdi>
      </a>
      {recipient !== destination && hasSeveralRecipients(channel) && (
        <span class="soft">
          {" "}
          <bdi>{recipient}</bdi>
        </span>
      )}
      {`: ${steps.join(", ")}`}
      {reasons.length > 0 && (
        <span class="soft">
          {" · "}
          <bdi>{reasons.join("; ")}</bdi>
        </span>
      )}
    </li>
  );
}

const mostReasons = 3;

/** The wait before the first call, and what each call that did not succeed was answered. */
function whyWaited(alert: AlertDetail, delivery: Delivery, downtimes: readonly Downtime[]): string[] {
  const { attempts, createdAt, digestId, destination, purpose } = delivery;
  const [first] = attempts;
  const reasons: string[] = [];
  const hold = alert.decisions.find((decision) => decision.destination === destination && decision.result === "held");
  if (hold !== undefined && purpose === "alert") reasons.push(hold.reason);
  const before = first === undefined ? 0 : first.at - createdAt;
  const late = first && whyLate(downtimes, createdAt, first.at);
  if (hold === undefined && before > shortWaitMs) {
    reasons.push(
      digestId === undefined
        ? `${lengthOf(before)} for its turn${late === undefined ? "" : `, ${late}`}`
        : `${lengthOf(before)} to be sent with others as one message`,
    );
  }
  for (const [index, attempt] of attempts.entries()) {
    const next = attempts[index + 1];
    if (next === undefined || attempt.outcome === "sent") continue;
    const gap = next.at - attempt.at - attempt.durationMs;
    reasons.push(`${lengthOf(Math.max(0, gap))} after ${attempt.detail ?? attempt.reason ?? attempt.outcome}`);
  }
  return reasons.length > mostReasons
    ? [...reasons.slice(0, mostReasons), `${reasons.length - mostReasons} more, see the attempts`]
    : reasons;
}
