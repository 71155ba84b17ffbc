import type { CanaryView, DestinationView, SilenceView } from "../../core/operations.ts";
import type { WatchView } from "../../core/ports/watch.ts";
import { Instant, lengthOf } from "./instants.tsx";

export interface TroublesProps {
  destinations: DestinationView[];
  watches: WatchView[];
  silence: SilenceView[];
  canary?: CanaryView;
  now: number;
}

/**
 * Whoever looks at the log is to see at once that some of it reaches nobody, and that alerts which are not there may be
 * missing: a log that stands still looks like a quiet market.
 */
export function Troubles({ destinations, watches, silence, canary, now }: TroublesProps) {
  const unwell = destinations.filter(({ health }) => health === "dead" || health === "down" || health === "paused");
  return (
    <>
      {watches
        .filter(({ verdict }) => verdict === "trouble")
        .map(({ name, summary }) => (
          <p class="notice failed">
            <b>{name}</b>: <span dir="auto">{summary}</span>. <a href="/setup#watches-title">Why, and what to do</a>
          </p>
        ))}
      {silence
        .filter(({ state }) => state === "silent")
        .map(({ of, name, quietMs }) => (
          <p class="notice failed">
            <b>
              Nothing has come
              {of !== "hook" && (
                <>
                  {" "}
                  {of === "route" ? "for the route" : "from"} <bdi>{name}</bdi>
                </>
              )}{" "}
              for {lengthOf(quietMs)}
            </b>
            . <a href="/silence">What is usual</a>
          </p>
        ))}
      {canary?.state === "fails" && (
        <p class="notice failed">
          <b>Tests do not come through the public address</b>
          {canary.since !== undefined && (
            <>
              {" since "}
              <Instant at={canary.since} now={now} show="relative" />
            </>
          )}
          . <a href="/silence#canary-title">Why</a>
        </p>
      )}
      {unwell.map((destination) => (
        <UnwellDestination destination={destination} now={now} />
      ))}
    </>
  );
}

function UnwellDestination({ destination, now }: { destination: DestinationView; now: number }) {
  const { name, health, since, counts } = destination;
  const failed = (counts.failed ?? 0) + (counts.expired ?? 0);
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  return (
    <p class="notice failed">
      <b>
        <bdi>{name}</bdi> is {health}
      </b>
      {since !== undefined && (
        <>
          {" since "}
          <Instant at={since} now={now} show="relative" />
        </>
      )}
      {failed > 0 && `, ${failed} failed`}
      {waiting > 0 && `, ${waiting} wait`}. <a href="/destinations">Why, and what to do</a>
    </p>
  );
}
