import type { Hono } from "hono";
import type { GapReport, GapVerdict, MissingAlert } from "../../core/gaps.ts";
import type { WebEnv } from "../web-env.ts";
import { Chip, type Tone } from "./delivery-chips.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant, lengthOf } from "./instants.tsx";
import { Layout } from "./layout.tsx";

/** The API has all. */
const mostShown = 200;

/** `GET /gaps`: alerts that should have come and did not, as the last look found. */
export function addGapsPage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/gaps", (c) => c.html(<GapsPage frame={frameOf(c, deps)} report={deps.operations.gaps()} />));
}

function GapsPage({ frame, report }: { frame: Frame; report?: GapReport }) {
  return (
    <Layout frame={frame} title="Gaps" section="/gaps">
      <h1>Gaps</h1>
      <p>
        Alerts that should have come and did not: the records of the metrics at the alerting service cross a threshold,
        and no alert of it is in the log. They are told once; none is sent afterwards.
      </p>
      {report === undefined ? (
        <div class="empty">
          <h2>It has not been looked yet</h2>
          <p>
            The first look is five minutes after a start, where <code>ALERTING_URL</code> is set and{" "}
            <code>watch.gaps</code> is not off. <code>tocsin gaps</code> looks at once.
          </p>
        </div>
      ) : (
        <Report report={report} now={frame.now} />
      )}
    </Layout>
  );
}

function Report({ report, now }: { report: GapReport; now: number }) {
  const { since, checkedAt, downtimes, missing, unknown, rules, crossings, answered, recordEveryMs } = report;
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
          {crossings.toLocaleString("en")} of {rules.toLocaleString("en")} rules, of which{" "}
          {answered.toLocaleString("en")} brought an alert
        </dd>
        {recordEveryMs !== undefined && (
          <>
            <dt>Not seen</dt>
            <dd>what begins and ends between two records, {lengthOf(recordEveryMs)}</dd>
          </>
        )}
        {downtimes.length > 0 && (
          <>
            <dt>Tocsin did not run</dt>
            <dd>
              {downtimes.slice(-10).map(({ fromAt, toAt }) => (
                <div>
                  <Instant at={fromAt} now={now} />, {lengthOf(toAt - fromAt)}
                </div>
              ))}
            </dd>
          </>
        )}
      </dl>
      {missing.length === 0 ? (
        <div class="empty">
          <h2>
            {crossings === 0 && unknown.length > 0
              ? "It cannot tell whether alerts are missing"
              : "No alert is missing, as far as the records show"}
          </h2>
        </div>
      ) : (
        <Missing missing={missing} now={now} />
      )}
      {unknown.length > 0 && (
        <section aria-labelledby="unknown-title">
          <h2 id="unknown-title">What it cannot tell</h2>
          <ul>
            {unknown.slice(0, mostShown).map(({ what, why }) => (
              <li>
                <bdi>{what}</bdi>: <bdi>{why}</bdi>
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

function Missing({ missing, now }: { missing: MissingAlert[]; now: number }) {
  return (
    <section aria-labelledby="missing-title">
      <h2 id="missing-title">Missing</h2>
      <div class="table">
        <table>
          <thead>
            <tr>
              <th>How sure</th>
              <th>Metric</th>
              <th>Condition</th>
              <th>Between</th>
              <th>and</th>
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
                  <bdi>{one.metricKey}</bdi>
                </td>
                <td>{one.status === "firing" ? one.condition : `${one.condition} ended`}</td>
                <td>
                  <Instant at={one.fromAt} now={now} />
                </td>
                <td>
                  <Instant at={one.toAt} now={now} />
                </td>
                <td>
                  {one.before} to {one.after}
                </td>
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
