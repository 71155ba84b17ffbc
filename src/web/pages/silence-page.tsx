import type { Hono } from "hono";
import { AppError } from "../../core/errors.ts";
import type { CanaryView, SilenceView } from "../../core/operations.ts";
import { readField, readForm } from "../form.ts";
import { readMute } from "../read-mute.ts";
import type { WebEnv } from "../web-env.ts";
import { Chip, type Tone } from "./delivery-chips.tsx";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant, lengthOf } from "./instants.tsx";
import { Layout, Notice } from "./layout.tsx";
import { muteDurations } from "./mute-this.tsx";

/** `GET /silence`: each watch over alerts that do not come, what it has learned, and when it would tell. */
export function addSilencePage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/silence", (c) =>
    c.render(
      <SilencePage
        frame={frameOf(c, deps)}
        watches={deps.operations.silence()}
        canary={deps.operations.canary()}
        isMuted={c.req.query("done") === "muted"}
      />,
    ),
  );

  app.post("/silence/mute", async (c) => {
    const form = await readForm(c);
    const name = readField(form, "watch");
    const view = deps.operations.silence().find(({ watch }) => watch === name);
    if (view === undefined) {
      throw new AppError("not_found", "There is no such watch of silence.", { hint: "Open the page again." });
    }
    const match = { alertKey: { equals: view.alertKey } };
    const reason = readField(form, "reason") || "the silence is meant";
    await deps.operations.addMute(readMute(deps, { match, for: readField(form, "for"), reason }, "page"));
    return c.redirect("/silence?done=muted", 303);
  });
}

interface SilencePageProps {
  frame: Frame;
  watches: SilenceView[];
  canary?: CanaryView;
  isMuted: boolean;
}

function SilencePage({ frame, watches, canary, isMuted }: SilencePageProps) {
  return (
    <Layout frame={frame} title="Silence" section="/silence">
      <h1>Silence</h1>
      {isMuted && <Notice kind="done">Muted. It ends by itself, or at Mutes.</Notice>}
      {watches.length === 0 ? (
        <div class="empty">
          <h2>No notice when alerts stop arriving</h2>
          <p>
            Write <code>silence: auto</code> into <code>tocsin.yaml</code> and restart Tocsin: it learns from the last
            six weeks how long it is usually quiet at each hour of the week, and sends one notice when it lasts too
            long. A time, e.g. <code>silence: 6h</code>, needs nothing to be learned.
          </p>
        </div>
      ) : (
        <>
          <p class="soft">
            One notice when no alert arrives that should have, and one when they arrive again. Tests, Tocsin's own
            notices, refused requests and repeats do not count; nor does time in which Tocsin did not run.
          </p>
          <div class="destinations">
            {watches.map((watch) => (
              <WatchCard watch={watch} frame={frame} />
            ))}
          </div>
        </>
      )}
      {canary && <CanarySection canary={canary} now={frame.now} />}
    </Layout>
  );
}

function CanarySection({ canary, now }: { canary: CanaryView; now: number }) {
  const { schedule, state, lastOkAt, nextAt, since, stage, detail } = canary;
  const tone = { waiting: "off", works: "good", fails: "bad" } as const;
  return (
    <section aria-labelledby="canary-title">
      <h2 id="canary-title">Canary</h2>
      <p class="soft">Tocsin sends a test to its own public address {schedule}, to see that alerts arrive.</p>
      <article class={`destination ${tone[state]}`}>
        <header>
          <h3>The way from the public address</h3>
          <Chip tone={tone[state]}>{state}</Chip>
        </header>
        {state === "fails" && (
          <p class="trouble">
            <span>
              At {stage}
              {since !== undefined && (
                <>
                  {" since "}
                  <Instant at={since} now={now} />
                </>
              )}
              : {detail}.
            </span>
          </p>
        )}
        <dl class="facts">
          <dt>Last arrived</dt>
          <dd>{lastOkAt === undefined ? "not yet" : <Instant at={lastOkAt} now={now} />}</dd>
          <dt>Next</dt>
          <dd>
            <Instant at={nextAt} now={now} isComing />
          </dd>
        </dl>
      </article>
    </section>
  );
}

const tones: Record<SilenceView["state"], Tone> = { watching: "good", silent: "bad", learning: "busy", muted: "off" };

function WatchCard({ watch, frame }: { watch: SilenceView; frame: Frame }) {
  const { now } = frame;
  const { of, name, state, afterMs, since, lastAt, lastId, quietMs, usualMs, tellsAt, toldAt, learning, mute } = watch;
  return (
    <article class={`destination ${tones[state]}`}>
      <header>
        <h2>{of === "hook" ? "The account's hook" : <bdi>{`${of} ${name}`}</bdi>}</h2>
        <Chip tone={tones[state]}>{state}</Chip>
      </header>
      <dl class="facts">
        <dt>Last alert</dt>
        <dd>
          {lastAt === undefined ? (
            <>
              none since <Instant at={since} now={now} />
            </>
          ) : (
            <a href={`/alerts/${lastId}`}>
              <Instant at={lastAt} now={now} />
            </a>
          )}
        </dd>
        <dt>Quiet for</dt>
        <dd>{lengthOf(quietMs)}</dd>
        <dt>Setting</dt>
        <dd>
          <code>{afterMs === undefined ? "auto" : lengthOf(afterMs)}</code>
        </dd>
        {usualMs !== undefined && (
          <>
            <dt>Usual longest gap now</dt>
            <dd>{lengthOf(usualMs)}</dd>
          </>
        )}
        {tellsAt !== undefined && (
          <>
            <dt>Notice due</dt>
            <dd>
              <Instant at={tellsAt} now={now} isComing />
            </dd>
          </>
        )}
        {toldAt !== undefined && (
          <>
            <dt>Notice sent</dt>
            <dd>
              <Instant at={toldAt} now={now} />
            </dd>
          </>
        )}
        {mute && (
          <>
            <dt>Muted until</dt>
            <dd>
              <Instant at={mute.until} now={now} />: <span dir="auto">{mute.reason}</span>
            </dd>
          </>
        )}
      </dl>
      {learning && <LearningNote watch={watch} learning={learning} now={now} />}
      {mute === undefined && (
        <Form frame={frame} action="/silence/mute" class="answers-row">
          <input type="hidden" name="watch" value={watch.watch} />
          <label>
            <span class="soft">No notice for</span>{" "}
            <select name="for">
              {muteDurations.map(([value, words]) => (
                <option value={value} selected={value === "24h"}>
                  {words}
                </option>
              ))}
            </select>
          </label>{" "}
          <button type="submit">Mute</button>
        </Form>
      )}
    </article>
  );
}

interface LearningNoteProps {
  watch: SilenceView;
  learning: NonNullable<SilenceView["learning"]>;
  now: number;
}

function LearningNote({ watch, learning, now }: LearningNoteProps) {
  const { days, daysNeeded, arrivals, arrivalsNeeded, isReading } = learning;
  return (
    <p class="trouble">
      <span>
        Learning since <Instant at={watch.since} now={now} show="relative" />, needs {daysNeeded} days with Tocsin
        running (so far {days}) and {arrivalsNeeded} spans of five minutes with an alert within six weeks (so far{" "}
        {arrivals}). Until then no notice is sent.
        {isReading && " The log is being read."}
        {days >= daysNeeded && " Alerts are too rare for auto: write a time."}
      </span>
    </p>
  );
}
