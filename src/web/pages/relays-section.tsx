import type { RelayView, RunningRelay } from "../../core/operations.ts";
import { describeHearing } from "../../core/ports/signals.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { Chip, type Tone } from "./delivery-chips.tsx";
import { Instant } from "./instants.tsx";

interface RelaysProps {
  relays: readonly RunningRelay[];
  now: number;
  /** Of this one. Absent: there can be no others. */
  hearing: RelayView["hearing"];
}

/** Who runs on this log, and what each of them does; one line where one relay runs alone. */
export function Relays({ relays, now, hearing }: RelaysProps) {
  const heard = hearing && <p class="soft hearing">Relays hear of each other {describeHearing(hearing)}.</p>;
  if (relays.length < 2) {
    return (
      <>
        <p>This one alone: it accepts, routes and delivers everything.</p>
        {heard}
      </>
    );
  }
  return (
    <>
      <ul class="relays">
        {relays.map((relay) => (
          <li>
            <p>
              <b dir="auto">{relay.name}</b> <State relay={relay} />
              {relay.isSelf && <span class="soft"> this page is from it</span>}
            </p>
            <p class="soft">
              Tocsin {relay.version}, started <Instant at={relay.startedAt} now={now} show="relative" />
              {relay.accepted !== undefined && `, ${relay.accepted.toLocaleString("en-US")} alerts accepted since`}
              {relay.spooled !== undefined &&
                relay.spooled > 0 &&
                `, ${relay.spooled.toLocaleString("en-US")} in its spool`}
            </p>
            {relay.ready === false && relay.reasons.length > 0 && (
              <p dir="auto">Not ready: {relay.reasons.join("; ")}</p>
            )}
            <Work relay={relay} now={now} />
          </li>
        ))}
      </ul>
      {heard}
    </>
  );
}

const states: Record<RunningRelay["configuration"], { tone: Tone; words: string }> = {
  newest: { tone: "good", words: "ready" },
  older: { tone: "busy", words: "older configuration" },
  starting: { tone: "busy", words: "starting" },
};

function State({ relay: { configuration, ready, unheardMs } }: { relay: RunningRelay }) {
  if (unheardMs !== undefined) return <Chip tone="bad">not heard of for {formatDuration(unheardMs)}</Chip>;
  if (ready === false && configuration !== "starting") return <Chip tone="bad">not ready</Chip>;
  const { tone, words } = states[configuration];
  return <Chip tone={tone}>{words}</Chip>;
}

function Work({
  relay: { configuration, destinations, watches, unheardMs },
  now,
}: {
  relay: RunningRelay;
  now: number;
}) {
  if (unheardMs !== undefined) return <p>Others take over what it does 15 s after its last word.</p>;
  if (configuration !== "newest") return <p>Accepts alerts, and leaves the rest to the others.</p>;
  const since = destinations.flatMap((one) => one.since ?? []);
  return (
    <p>
      {destinations.length === 0 ? (
        "Delivers to no destination just now"
      ) : (
        <>
          Delivers to{" "}
          {destinations.map(({ name }, index) => (
            <>
              {index > 0 && ", "}
              <bdi>{name}</bdi>
            </>
          ))}
          {since.length > 0 && (
            <span class="soft">
              {" "}
              (the last taken over <Instant at={Math.max(...since)} now={now} show="relative" />)
            </span>
          )}
        </>
      )}
      {watches ? "; watches account, silence and the like for all." : "."}
    </p>
  );
}
