import type { Hono } from "hono";
import {
  describeCrossings,
  describeLoss,
  describeTurn,
  describeUnknown,
  describeValues,
  type GapReport,
  type GapVerdict,
  summarizeGaps,
} from "../../core/gaps.ts";
import type { WatchView } from "../../core/ports/watch.ts";
import { readField, readForm } from "../form.ts";
import type { WebEnv } from "../web-env.ts";
import { Chip, type Tone } from "./delivery-chips.tsx";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant, lengthOf } from "./instants.tsx";
import { Layout, Notice } from "./layout.tsx";

/** The API has all. */
const mostShown = 200;

/** How long a browser waits for a look; longer ones end by themselves. */
const mostWaitMs = 8_000;

/** `GET /gaps`: alerts that should have arrived and did not, as the last look found. */
export function addGapsPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations, clock } = deps;
  app.get("/gaps", async (c) => {
    const watches = operations.watches().filter(({ name }) => accountOf(name) !== undefined);
    // Who has an account for a source alone means that one.
    const source = c.req.query("source") ?? (watches[0] && accountOf(watches[0].name)) ?? "";
    return c.render(
      <GapsPage
        frame={frameOf(c, deps)}
        source={source}
        others={watches.flatMap(({ name }) => accountOf(name) ?? [])}
        report={await operations.gaps(source || undefined)}
        watch={watches.find(({ name }) => accountOf(name) === source)}
        isLooking={c.req.query("done") === "looking"}
      />,
    );
  });

  app.post("/gaps", async (c) => {
    const source = readField(await readForm(c), "source");
    const waited = new AbortController();
    const look = operations.checkGaps({}, source || undefined).then(() => "looked");
    // What becomes of it later stands on the page.
    look.catch(() => {});
    const done = await Promise.race([look, clock.sleep(mostWaitMs, waited.signal).then(() => "looking")]).finally(() =>
      waited.abort(),
    );
    return c.redirect(`${gapsPageOf(source)}${source === "" ? "?" : "&"}done=${done}`, 303);
  });
}

/** `gaps` → "" (the account of the environment), `gaps:desk` → "desk"; undefined: the watch looks at something else. */
function accountOf(watch: string): string | undefined {
  if (watch === "gaps") return "";
  return watch.startsWith("gaps:") ? watch.slice("gaps:".length) : undefined;
}

function gapsPageOf(source: string): string {
  return source === "" ? "/gaps" : `/gaps?source=${encodeURIComponent(source)}`;
}

interface GapsPageProps {
  frame: Frame;
  /** Whose account it is; empty: that of the environment. */
  source: string;
  /** All accounts that are looked at, the same way. */
  others: string[];
  report?: GapReport;
  /** Absent: nobody looks. */
  watch?: WatchView;
  isLooking: boolean;
}

function GapsPage({ frame, source, others, report, watch, isLooking }: GapsPageProps) {
  return (
    <Layout frame={frame} title="Gaps" section="/gaps">
      <h1>Gaps</h1>
      {isLooking && <Notice kind="done">The look takes longer than usual. Open this page again in a minute.</Notice>}
      <p>
        Alerts that should have arrived and did not: the alerting service's records of a metric cross a threshold, and
        no alert of it is in the log. You get a notice when more are missing than chance explains, and one when alerts
        come again. Missing alerts are listed here, not sent.
      </p>
      {others.length > 1 && <Accounts all={others} shown={source} />}
      {watch !== undefined && (
        <Form frame={frame} action="/gaps" class="inline">
          <input type="hidden" name="source" value={source} />
          <button type="submit">Look now</button>
        </Form>
      )}
      {report === undefined ? (
        <div class="empty">
          {watch === undefined && source !== "" ? (
            <>
              <h2>
                Nobody looks for missing alerts of <bdi>{source}</bdi>
              </h2>
              <p>Only a source that has an account of the service in the configuration is looked at.</p>
            </>
          ) : watch === undefined ? (
            <>
              <h2>Nobody looks for missing alerts</h2>
              <p>
                Set <code>ALERTING_URL</code> and <code>ALERTING_API_KEY</code>, leave <code>watch.gaps</code> on, and
                restart Tocsin.
              </p>
            </>
          ) : watch.lookedAt === undefined ? (
            <>
              <h2>Not looked yet</h2>
              <p>The first look is five minutes after a start: a sender may still repeat what it could not deliver.</p>
            </>
          ) : (
            <h2>{sentence(watch.summary)}</h2>
          )}
        </div>
      ) : (
        <>
          {watch?.verdict === "unknown" || watch?.verdict === "idle" ? (
            <Notice kind="warning">{sentence(watch.summary)}.</Notice>
          ) : null}
          <Report report={report} now={frame.now} />
        </>
      )}
    </Layout>
  );
}

function Accounts({ all, shown }: { all: string[]; shown: string }) {
  return (
    <nav aria-label="Accounts" class="inline">
      {all.map((source) => (
        <a href={gapsPageOf(source)} aria-current={source === shown ? "true" : undefined}>
          {source === "" ? "The account of ALERTING_URL" : source}
        </a>
      ))}
    </nav>
  );
}

function sentence(summary: string): string {
  return summary.charAt(0).toUpperCase() + summary.slice(1);
}

function Report({ report, now }: { report: GapReport; now: number }) {
  const { since, checkedAt, downtimes, missing, outages, unknown, freshMs, recordEveryMs } = report;
  return (
    <>
      <dl class="facts">
        <dt>Looked</dt>
        <dd>
          <Instant at={checkedAt} now={now} />
        </dd>
        <dt>Since</dt>
        <dd>
          <Instant at={since} now={now} />
        </dd>
        <dt>Crossings</dt>
        <dd>
          <bdi>{describeCrossings(report)}</bdi>
        </dd>
        <dt>Too fresh</dt>
        <dd>an alert may be on its way for {lengthOf(freshMs)}, as the past shows</dd>
        {recordEveryMs !== undefined && (
          <>
            <dt>Not seen</dt>
            <dd>crossings that begin and end between two records, {lengthOf(recordEveryMs)}</dd>
          </>
        )}
        {outages.length > 0 && (
          <>
            <dt>Outages</dt>
            <dd>
              {outages.slice(-10).map((one) => (
                <div>
                  <Instant at={one.fromAt} now={now} />, {lengthOf(one.toAt - one.fromAt)}:{" "}
                  <bdi>{describeLoss(one)}</bdi>
                </div>
              ))}
            </dd>
          </>
        )}
        {downtimes.length > 0 && (
          <>
            <dt>Tocsin did not run</dt>
            <dd>
              {downtimes.slice(-10).map(({ fromAt, toAt, asleep, restored }) => (
                <div>
                  <Instant at={fromAt} now={now} />, {lengthOf(toAt - fromAt)}
                  {asleep && " (the machine was asleep, or its clock was set)"}
                  {restored && " (not in the log: it was restored from a backup)"}
                </div>
              ))}
            </dd>
          </>
        )}
      </dl>
      {missing.length === 0 ? (
        <div class="empty">
          <h2>{summarizeGaps(report)}</h2>
        </div>
      ) : (
        <Missing report={report} now={now} />
      )}
      {unknown.length > 0 && (
        <section aria-labelledby="unknown-title">
          <h2 id="unknown-title">What it cannot tell</h2>
          <ul>
            {unknown.slice(0, mostShown).map((one) => (
              <li>
                <bdi>{describeUnknown(one)}</bdi>
              </li>
            ))}
          </ul>
          {unknown.length > mostShown && <p>And {unknown.length - mostShown} more: the API has all of them.</p>}
        </section>
      )}
    </>
  );
}

const tones: Record<GapVerdict, Tone> = { sure: "bad", likely: "busy" };

function Missing({ report, now }: { report: GapReport; now: number }) {
  const { missing } = report;
  return (
    <section aria-labelledby="missing-title">
      <h2 id="missing-title">{summarizeGaps(report)}</h2>
      <div class="table">
        <table>
          <thead>
            <tr>
              <th>How sure</th>
              <th>Alert</th>
              <th>When</th>
              <th>Value</th>
              <th>Why</th>
            </tr>
          </thead>
          <tbody>
            {missing.slice(0, mostShown).map((one) => (
              <tr>
                <td>
                  <Chip tone={tones[one.verdict]}>{one.verdict}</Chip>
                </td>
                <td>
                  <bdi>{describeTurn(one)}</bdi>
                  {one.metricName !== undefined && (
                    <div class="soft">
                      <bdi>{one.metricKey}</bdi>
                    </div>
                  )}
                </td>
                <td>
                  <Instant at={one.toAt} now={now} />, or up to {lengthOf(one.toAt - one.fromAt)} before
                </td>
                <td>{describeValues(one)}</td>
                <td>{one.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {missing.length > mostShown && <p>And {missing.length - mostShown} more: the API has all of them.</p>}
    </section>
  );
}
