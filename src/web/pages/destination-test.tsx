import { isSettled, type ReasonCode } from "../../core/delivery.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { repairOf } from "../../vendors/advice.ts";
import { Instant } from "./instants.tsx";
import { Notice } from "./layout.tsx";

interface TestNoticeProps {
  alert: AlertDetail;
  /** Where the destinations of the test are configured. */
  definedAt(destination: string): string;
  now: number;
}

/** What has become of a test so far, for each recipient; the page keeps it up to date. */
export function TestNotice({ alert, definedAt, now }: TestNoticeProps) {
  return (
    <div data-live="test">
      {alert.deliveries.map((delivery) => (
        <Notice kind={kindOf(delivery)}>
          <Outcome alert={alert} delivery={delivery} definedAt={definedAt(delivery.destination)} now={now} />{" "}
          <a href={`/alerts/${alert.id}`}>See every attempt</a>
        </Notice>
      ))}
    </div>
  );
}

type Delivery = AlertDetail["deliveries"][number];

function hasArrived({ state }: Delivery): boolean {
  return state === "sent" || state === "digested";
}

function kindOf(delivery: Delivery): "done" | "warning" | "failed" {
  if (hasArrived(delivery)) return "done";
  return isSettled(delivery) ? "failed" : "warning";
}

interface OutcomeProps {
  alert: AlertDetail;
  delivery: Delivery;
  definedAt: string;
  now: number;
}

function Outcome({ alert, delivery, definedAt, now }: OutcomeProps) {
  const { destination, recipient, channel, attempts, reason, dueAt, finishedAt } = delivery;
  const last = attempts.at(-1);
  const to = (
    <>
      <bdi>{destination}</bdi>
      {recipient !== destination && (
        <>
          {" ("}
          <bdi>{recipient}</bdi>)
        </>
      )}
    </>
  );
  if (hasArrived(delivery)) {
    const after = finishedAt === undefined ? "" : ` after ${lengthOf(Math.max(0, finishedAt - alert.receivedAt))}`;
    return (
      <>
        The test sent <Instant at={alert.receivedAt} now={now} show="relative" /> has reached {to}
        {after}. Look whether it can be seen there.
        {reason !== "" && <span dir="auto"> ({reason})</span>}
      </>
    );
  }
  if (last === undefined && !isSettled(delivery)) return <>The test is on its way to {to}.</>;
  // A row may hold the code of another version, for which there is general advice.
  const repair = repairOf(last?.reason as ReasonCode | undefined, { channel, definedAt });
  const said = <span dir="auto">{last?.detail ?? reason}</span>;
  if (isSettled(delivery)) {
    return (
      <>
        The test sent <Instant at={alert.receivedAt} now={now} show="relative" /> did not reach {to}: {said}.{" "}
        {repair.charAt(0).toUpperCase() + repair.slice(1)}.
      </>
    );
  }
  return (
    <>
      The test has not reached {to} yet: {said}. If it lasts, {repair}.
      {dueAt !== undefined && dueAt > now && (
        <>
          {" It is tried again "}
          <Instant at={dueAt} now={now} show="relative" isComing />.
        </>
      )}
    </>
  );
}
