import type { DestinationView } from "../../core/operations.ts";
import { isTriedNext } from "./destination-card.tsx";
import { Instant } from "./instants.tsx";
import { Notice } from "./layout.tsx";

/** Which destination was just asked whether it works, and what came of it. */
export interface Tried {
  destination: DestinationView;
  result: string;
}

/** The words come from here and what is true now, so that no link can put words into our mouth. */
export function TriedNotice({ destination, result, now }: Tried & { now: number }) {
  const { name, health, reason, nextTryAt, counts } = destination;
  const next = nextTryAt !== undefined && (
    <>
      {" It is tried again by itself "}
      <Instant at={nextTryAt} now={now} show="relative" isComing />.
    </>
  );
  if (result === "parked") {
    return (
      <Notice kind="failed">
        <bdi>{name}</bdi> has asked for silence for a while and was not called.{next}
      </Notice>
    );
  }
  if ((health === "ok" || health === "degraded") && result === "fails") {
    return (
      <Notice kind="failed">
        <bdi>{name}</bdi> did not answer as it should. Its next message shows whether it takes messages.
      </Notice>
    );
  }
  if (health === "ok" || health === "degraded") {
    const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
    return (
      <Notice kind="done">
        <bdi>{name}</bdi> {health === "ok" ? "works." : "answers. Whether it takes messages, the next one will show."}
        {waiting > 0 && ` ${waiting} that waited are sent now.`}
      </Notice>
    );
  }
  if (isTriedNext(destination) && result === "answers") {
    return (
      <Notice kind="warning">
        <bdi>{name}</bdi> can be reached. Whether it takes messages, the next one will show: send a test.
      </Notice>
    );
  }
  return (
    <Notice kind="failed">
      {result === "answers" ? (
        <>
          <bdi>{name}</bdi> answers. What waits is tried now.
        </>
      ) : (
        <>
          <bdi>{name}</bdi> still does not work: <span dir="auto">{reason}</span>.{next}
        </>
      )}
    </Notice>
  );
}
