import { deliveryStates } from "../../core/delivery.ts";
import { cardIdOf, type DestinationHealth } from "../../core/destination-status.ts";
import type { DestinationView } from "../../core/operations.ts";
import type { DestinationStatistics } from "../../core/ports/statistics.ts";
import { adviseOn } from "../../vendors/advice.ts";
import { vendorOf } from "../../vendors/index.ts";
import { type DestinationVerdict, judgeDestination, provenAt, takesNothing } from "../../vendors/verdict.ts";
import { Chip, type Tone, toneOf, wordOf } from "./delivery-chips.tsx";
import { DestinationFigures } from "./destination-statistics.tsx";
import { SendTest } from "./destination-test.tsx";
import { Form } from "./form-element.tsx";
import type { Frame } from "./frame.ts";
import { Instant, Since } from "./instants.tsx";
import { Notice } from "./layout.tsx";
import { resendAddress } from "./resend-page.tsx";

interface DestinationCardProps {
  destination: DestinationView;
  statistics?: DestinationStatistics;
  frame: Frame;
}

/** One destination: whether it takes messages, what it has taken, and what a person can do about it. */
export function DestinationCard({ destination, statistics, frame }: DestinationCardProps) {
  const { now } = frame;
  const { name, health, reason, counts, paused, movedTo } = destination;
  const verdict = judgeDestination(destination);
  const tone = verdict === "failing" ? failingTones[health] : verdictTones[verdict];
  const failed = (counts.failed ?? 0) + (counts.expired ?? 0);
  return (
    <article class={`destination ${tone}`} id={cardIdOf(name)}>
      <header>
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <span class="marks">
          {paused && <Chip tone="busy">paused</Chip>}
          <Chip tone={tone}>
            <VerdictWords destination={destination} now={now} />
          </Chip>
        </span>
      </header>
      <p class="soft">
        {destination.channel} to{" "}
        {destination.recipients.map((recipient, index) => (
          <>
            {index > 0 && ", "}
            <bdi>{recipient}</bdi>
          </>
        ))}
      </p>
      {health !== "ok" && (
        <div class="trouble">
          {reason !== "" && (
            <p>
              <b dir="auto">{reason}</b>
            </p>
          )}
          <p>{adviseOn(destination, { isTriedNext: isTriedNext(destination) })}</p>
          <dl class="facts">
            {destination.since !== undefined && (
              <>
                <dt>Since</dt>
                <dd>
                  <Instant at={destination.since} now={now} />
                </dd>
              </>
            )}
            {destination.nextTryAt !== undefined && (
              <>
                <dt>Next try</dt>
                <dd>
                  <Instant at={destination.nextTryAt} now={now} isComing />
                </dd>
              </>
            )}
          </dl>
        </div>
      )}
      {verdict === "failing" && health === "ok" && <NothingArrived statistics={statistics} now={now} />}
      {movedTo !== undefined && (
        <p class="moved">
          The group was upgraded and has the new id <code>{movedTo}</code>. Messages go there already; write it into{" "}
          <code>{destination.definedAt}</code> when you can.
        </p>
      )}
      <ul class="counts">
        {deliveryStates.map((state) => {
          const count = counts[state] ?? 0;
          const query = new URLSearchParams({ destination: name, state }).toString();
          return (
            count > 0 && (
              <li class={toneOf(state)}>
                <a href={`/?${query}`}>
                  <b>{count}</b> {wordOf(state)}
                </a>
              </li>
            )
          );
        })}
        {Object.keys(counts).length === 0 && <li class="soft">nothing delivered yet</li>}
      </ul>
      <Queue destination={destination} now={now} />
      {statistics && <DestinationFigures statistics={statistics} timeZone={frame.timeZone} />}
      <div class="acts">
        <Form frame={frame} action={`/destinations/${encodeURIComponent(name)}/try`}>
          <button type="submit" aria-label={`Try now: ${name}`}>
            Try now
          </button>
        </Form>
        {failed > 0 && (
          <a class="button" href={resendAddress({ destination: name })}>
            Resend {failed} failed …
          </a>
        )}
        {paused && <Resume name={name} frame={frame} />}
        <HeldByQuietHours destination={destination} frame={frame} />
        <SendTest name={name} frame={frame} />
        {!paused && <Pause name={name} frame={frame} />}
      </div>
      <p class="soft">
        {destination.lastSentAt === undefined ? (
          verdict === "untried" && "Nothing sent yet."
        ) : (
          <>
            Last delivered <Instant at={destination.lastSentAt} now={now} show="relative" />.
          </>
        )}
        <Proof destination={destination} now={now} />
        {destination.relay !== undefined && (
          <>
            {" Delivered by the relay "}
            <bdi>{destination.relay}</bdi>.
          </>
        )}
        {" Defined in "}
        <code>{destination.definedAt}</code>.
      </p>
    </article>
  );
}

/** It refused, and can be reached again: nothing but a message can show more. */
export function isTriedNext({ health, nextTryAt }: Pick<DestinationView, "health" | "nextTryAt">): boolean {
  return (health === "dead" || health === "paused") && nextTryAt === undefined;
}

/** It answers, and has refused each message for what it is: no outage, so nothing is asked of it by itself. */
function NothingArrived({ statistics, now }: { statistics?: DestinationStatistics; now: number }) {
  const last = statistics?.last.at(-1);
  return (
    <div class="trouble">
      {last !== undefined && (
        <p>
          <b dir="auto">{last.reason}</b>
        </p>
      )}
      <p>
        Nothing has arrived there so far.
        {last !== undefined && (
          <>
            {" It said so of "}
            <a href={`/alerts/${last.alertId}`} dir="auto">
              {last.title}
            </a>
            {", "}
            <Instant at={last.at} now={now} show="relative" />.
          </>
        )}{" "}
        Put right what it says, send a test, and resend what failed.
      </p>
    </div>
  );
}

/** What waits for it. */
function Queue({ destination, now }: { destination: DestinationView; now: number }) {
  const { counts, oldestWaitingAt, paused } = destination;
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0) + (counts.sending ?? 0);
  if (oldestWaitingAt === undefined && waiting === 0 && paused === undefined) return null;
  return (
    <p>
      {paused && (
        <>
          <b>Paused</b> by {paused.by === "page" ? "somebody on this page" : "a command or the API"},{" "}
          <Since at={paused.at} now={now} />.{" "}
        </>
      )}
      {waiting > 0 ? `${waiting.toLocaleString("en-US")} waiting` : "Nothing is waiting"}
      {oldestWaitingAt !== undefined && (
        <>
          {waiting > 0 ? ", the oldest arrived " : "; the oldest that is held arrived "}
          <Instant at={oldestWaitingAt} now={now} show="relative" />
        </>
      )}
      .
    </p>
  );
}

/** Asked for in two steps: from then on nobody there is told anything. */
function Pause({ name, frame }: { name: string; frame: Frame }) {
  return (
    <details class="action">
      <summary>
        Pause… <span class="hidden">{name}</span>
      </summary>
      <p>
        Nothing is sent there until somebody resumes it, also over a restart. What comes waits and is not given up;
        routes' fallbacks go on. The strip on every page says so meanwhile.
      </p>
      <Form frame={frame} action={`/destinations/${encodeURIComponent(name)}/pause`}>
        <button type="submit" class="primary" aria-label={`Pause ${name}`}>
          Pause
        </button>
      </Form>
    </details>
  );
}

function Resume({ name, frame }: { name: string; frame: Frame }) {
  return (
    <Form frame={frame} action={`/destinations/${encodeURIComponent(name)}/resume`}>
      <button type="submit" class="primary" aria-label={`Resume ${name}`}>
        Resume
      </button>
    </Form>
  );
}

/** What was just done, by what is true now. */
export function ChangedNotice({ destination: { name, paused, counts } }: { destination: DestinationView }) {
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  if (paused !== undefined) {
    return (
      <Notice kind="warning">
        <bdi>{name}</bdi> is paused: what comes for it waits until somebody resumes it.
      </Notice>
    );
  }
  return (
    <Notice kind="done">
      <bdi>{name}</bdi> is not paused.{waiting > 0 && ` ${waiting} that waited are sent now.`}
    </Notice>
  );
}

/** What is known of it without a message to people. */
function Proof({ destination, now }: { destination: DestinationView; now: number }) {
  const { channel, lastProvenAt, failedProbes } = destination;
  const words = proofWords[vendorOf(channel).probeProves];
  return (
    <>
      {words.never}
      {lastProvenAt !== undefined && (
        <>
          {` ${words.last} `}
          <Instant at={lastProvenAt} now={now} show="relative" />.
        </>
      )}
      {failedProbes !== undefined && destination.health !== "down" && (
        <>
          {" Asked again soon, as it just did not answer: "}
          <span dir="auto">{failedProbes.detail}</span>.
        </>
      )}
    </>
  );
}

const proofWords = {
  delivery: { never: "", last: "Last proven" },
  account: { never: "", last: "Its access was last accepted" },
  connection: { never: " Only a real message can show that this works.", last: "Its host last answered" },
};

/** Asked for in two steps: one tap on a phone must not ring at night. */
function HeldByQuietHours({ destination, frame }: { destination: DestinationView; frame: Frame }) {
  const { name, heldByQuietHours } = destination;
  if (heldByQuietHours === undefined) return null;
  const { count, until } = heldByQuietHours;
  return (
    <details class="action">
      <summary>
        Release {count} held now… <span class="hidden">for {name}</span>
      </summary>
      <p>
        The quiet hours end <Instant at={until} now={frame.now} isComing />. Released, what they hold is sent at once as
        one summary, with sound unless all of it is over.
      </p>
      <Form frame={frame} action={`/destinations/${encodeURIComponent(name)}/release`}>
        <button type="submit" class="primary" aria-label={`Release now: ${count} held for ${name}`}>
          Release now
        </button>
      </Form>
    </details>
  );
}

/** When it was proven, or since when and how it fails: three things that never look alike. */
function VerdictWords({ destination, now }: { destination: DestinationView; now: number }) {
  const verdict = judgeDestination(destination);
  const { health, since } = destination;
  const at = verdict === "failing" ? since : provenAt(destination);
  return (
    <>
      {verdictWords[verdict]}
      {verdict === "failing" && `: ${takesNothing(destination) ? "no message taken" : failingWords[health]}`}
      {at !== undefined && (
        <> {verdict === "failing" ? <Since at={at} now={now} /> : <Instant at={at} now={now} show="relative" />}</>
      )}
    </>
  );
}

const verdictWords: Record<DestinationVerdict, string> = {
  proven: "proven",
  untried: "not tried yet",
  failing: "failing",
};
const failingWords: Record<DestinationHealth, string> = {
  ok: "nothing has arrived",
  degraded: "at times",
  down: "down",
  dead: "dead",
  paused: "refused",
};
const verdictTones: Record<Exclude<DestinationVerdict, "failing">, Tone> = { proven: "good", untried: "off" };
const failingTones: Record<DestinationHealth, Tone> = {
  ok: "bad",
  degraded: "busy",
  down: "bad",
  dead: "bad",
  paused: "bad",
};
