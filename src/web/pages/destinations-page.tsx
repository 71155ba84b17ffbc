import type { Hono } from "hono";
import { deliveryStates } from "../../core/delivery.ts";
import type { DestinationHealth } from "../../core/destination-status.ts";
import { idPattern } from "../../core/id.ts";
import type { DestinationView } from "../../core/operations.ts";
import type { AlertDetail, ChangeCursor } from "../../core/ports/alert-log.ts";
import { adviseOn } from "../../vendors/advice.ts";
import { vendorOf } from "../../vendors/index.ts";
import type { WebEnv } from "../web-env.ts";
import { Chip, type Tone, toneOf, wordOf } from "./delivery-chips.tsx";
import { SendTest, TestNotice } from "./destination-test.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { Form, Layout, Notice } from "./layout.tsx";
import { resendAddress } from "./resend-page.tsx";

/** `GET /destinations`: whether each one takes messages, why not, and what to do. */
export function addDestinationsPage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/destinations", async (c) => {
    const version = await deps.store.latestChange();
    const destinations = await deps.operations.destinations();
    const tried = destinations.find(({ name }) => name === c.req.query("tried"));
    return c.html(
      <DestinationsPage
        frame={frameOf(c, deps)}
        version={version}
        destinations={destinations}
        released={readCount(c.req.query("released"))}
        tried={tried && { destination: tried, result: c.req.query("result") ?? "" }}
        test={await findTest(c.req.query("test"))}
      />,
    );
  });

  async function findTest(id: string | undefined): Promise<AlertDetail | undefined> {
    const alert = id !== undefined && idPattern.test(id) ? await deps.store.getAlert(id) : undefined;
    return alert?.origin === "test" && alert.request === undefined ? alert : undefined;
  }

  app.post("/destinations/:name/test", async (c) => {
    const { alert } = await deps.operations.testDestination(c.req.param("name"));
    return c.redirect(`/destinations?${new URLSearchParams({ test: alert.id })}`, 303);
  });

  app.post("/destinations/:name/release", async (c) => {
    const releases = await deps.operations.releaseHeld({ destination: c.req.param("name") });
    const released = releases.reduce((sum, release) => sum + release.released, 0);
    return c.redirect(`/destinations?released=${released}`, 303);
  });

  app.post("/destinations/:name/try", async (c) => {
    const { destination, result } = await deps.operations.tryDestination(c.req.param("name"));
    return c.redirect(`/destinations?${new URLSearchParams({ tried: destination, result })}`, 303);
  });
}

/** Only a number is taken from the address, so that no link can put words into our mouth. */
function readCount(text: string | undefined): number | undefined {
  return /^\d{1,9}$/.test(text ?? "") ? Number(text) : undefined;
}

interface DestinationsPageProps {
  frame: Frame;
  version: ChangeCursor;
  destinations: DestinationView[];
  /** How many held deliveries were just released. */
  released?: number;
  /** Which one was just tried, and what came of it. */
  tried?: Tried;
  /** The test that was just sent straight to one. */
  test?: AlertDetail;
}

interface Tried {
  destination: DestinationView;
  result: string;
}

function DestinationsPage(props: DestinationsPageProps) {
  const { frame, version, destinations, released, tried, test } = props;
  const definedAt = (name: string) => destinations.find((one) => one.name === name)?.definedAt ?? "the configuration";
  return (
    <Layout frame={frame} title="Destinations" section="/destinations" version={version}>
      <h1>Destinations</h1>
      {tried && <TriedNotice {...tried} now={frame.now} />}
      {test && <TestNotice alert={test} definedAt={definedAt} now={frame.now} />}
      {released !== undefined && (
        <Notice kind="done">
          {released === 0 ? "Nothing was held any more." : `Released: ${released} held are sent now.`}
        </Notice>
      )}
      {destinations.length === 0 && (
        <div class="empty">
          <h2>No destination is configured</h2>
          <p>
            Alerts are stored and shown, and go nowhere. Set <code>TELEGRAM_BOT_TOKEN</code> and{" "}
            <code>TELEGRAM_CHAT_IDS</code>, or <code>SMTP_URL</code>, <code>EMAIL_FROM</code> and <code>EMAIL_TO</code>,
            or name destinations in <code>tocsin.yaml</code>; then restart Tocsin.
          </p>
        </div>
      )}
      <div class="destinations" data-live="destinations">
        {destinations.map((destination) => (
          <DestinationCard destination={destination} frame={frame} />
        ))}
      </div>
    </Layout>
  );
}

/** The words come from here and what is true now, so that no link can put words into our mouth. */
function TriedNotice({ destination, result, now }: Tried & { now: number }) {
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
        {waiting > 0 && ` ${waiting} that waited go out now.`}
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

function DestinationCard({ destination, frame }: { destination: DestinationView; frame: Frame }) {
  const { now } = frame;
  const { name, health, reason, counts, oldestWaitingAt, movedTo } = destination;
  // Well as far as anybody knows, which is nothing.
  const sent = (counts.sent ?? 0) + (counts.digested ?? 0);
  const isProven = destination.lastProvenAt !== undefined && vendorOf(destination.channel).probeProves !== "connection";
  const isUntried = health === "ok" && destination.lastSentAt === undefined && sent === 0 && !isProven;
  const tone = isUntried ? "off" : healthTones[health];
  const failed = (counts.failed ?? 0) + (counts.expired ?? 0);
  return (
    <article class={`destination ${tone}`}>
      <header>
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <Chip tone={tone}>{isUntried ? "nothing sent yet" : health}</Chip>
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
          sent === 0 && "Nothing sent yet."
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

const healthTones: Record<DestinationHealth, Tone> = {
  ok: "good",
  degraded: "busy",
  down: "bad",
  dead: "bad",
  paused: "bad",
};
