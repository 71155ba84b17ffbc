import { deliveryStates } from "../../core/delivery.ts";
import type { DestinationHealth } from "../../core/destination-status.ts";
import type { DestinationView } from "../../core/operations.ts";
import { adviseOn } from "../../vendors/advice.ts";
import { vendorOf } from "../../vendors/index.ts";
import { type DestinationVerdict, judgeDestination, provenAt } from "../../vendors/verdict.ts";
import { Chip, type Tone, toneOf, wordOf } from "./delivery-chips.tsx";
import { SendTest } from "./destination-test.tsx";
import type { Frame } from "./frame.ts";
import { Instant, Since } from "./instants.tsx";
import { Form } from "./layout.tsx";
import { resendAddress } from "./resend-page.tsx";
import { cardId } from "./strip.tsx";

/** One destination: whether it takes messages, what it has taken, and what a person can do about it. */
export function DestinationCard({ destination, frame }: { destination: DestinationView; frame: Frame }) {
  const { now } = frame;
  const { name, health, reason, counts, oldestWaitingAt, movedTo } = destination;
  const verdict = judgeDestination(destination);
  const tone = verdict === "failing" ? failingTones[health] : verdictTones[verdict];
  const failed = (counts.failed ?? 0) + (counts.expired ?? 0);
  return (
    <article class={`destination ${tone}`} id={cardId(name)}>
      <header>
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <Chip tone={tone}>
          <VerdictWords destination={destination} now={now} />
        </Chip>
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
          <p>{adviseOn(destination)}</p>
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
          {health !== "degraded" && (
            <Form frame={frame} action={`/destinations/${encodeURIComponent(name)}/try`}>
              <button type="submit" aria-label={`Try now: ${name}`}>
                Try now
              </button>
            </Form>
          )}
        </div>
      )}
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
      <HeldByQuietHours destination={destination} frame={frame} />
      <SendTest name={name} frame={frame} />
      {failed > 0 && (
        <p>
          <a class="button" href={resendAddress({ destination: name })}>
            Resend {failed} failed
          </a>
        </p>
      )}
      <p class="soft">
        {destination.lastSentAt === undefined ? (
          verdict === "untried" && "Nothing sent yet."
        ) : (
          <>
            Last delivered <Instant at={destination.lastSentAt} now={now} show="relative" />.
          </>
        )}
        <Proof destination={destination} now={now} />
        {oldestWaitingAt !== undefined && (
          <>
            {" The oldest waiting alert was received "}
            <Instant at={oldestWaitingAt} now={now} show="relative" />.
          </>
        )}
        {" Defined in "}
        <code>{destination.definedAt}</code>.
      </p>
    </article>
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
  connection: { never: " Cannot be proven without a message.", last: "Its host last answered" },
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
        The quiet hours end <Instant at={until} now={frame.now} isComing />. Released, what they hold goes out at once
        as one summary, with sound unless all of it is resolved.
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
      {verdict === "failing" && `: ${health}`}
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
const verdictTones: Record<Exclude<DestinationVerdict, "failing">, Tone> = { proven: "good", untried: "off" };
const failingTones: Record<DestinationHealth, Tone> = {
  ok: "bad",
  degraded: "busy",
  down: "bad",
  dead: "bad",
  paused: "bad",
};
