import type { Context, Hono } from "hono";
import { darkTheme, lightTheme } from "../../charts/theme.ts";
import { encode } from "../../contract/encode.ts";
import type { LogState, MutePreview, RoutedAgain } from "../../contract/operations.ts";
import { evidenceView } from "../../contract/views.ts";
import { AppError } from "../../core/errors.ts";
import type { Downtime } from "../../core/gaps.ts";
import { metricKeyOf } from "../../core/metric-key.ts";
import type { PictureOf } from "../../core/picture-outcome.ts";
import type { AlertDetail, AlertSummary, ChangeCursor, KeyHistory } from "../../core/ports/alert-log.ts";
import type { LearnedName } from "../../core/subject-name.ts";
import { parseMatch } from "../../matching/read-match.ts";
import { collectEvidence } from "../evidence.ts";
import { readField, readFields, readForm } from "../form.ts";
import { previewBeside, readMute } from "../read-mute.ts";
import type { ComposedMessage, WebDeps } from "../web-deps.ts";
import type { WebEnv } from "../web-env.ts";
import { DecisionTable, TodaysRouting } from "./alert-decisions.tsx";
import { DeliveryList } from "./alert-deliveries.tsx";
import { FactList } from "./alert-facts.tsx";
import {
  drawKeyPicture,
  drawMetricPicture,
  KeyLine,
  KeySection,
  MetricPicture,
  mostKeyEvents,
} from "./alert-history.tsx";
import { Journey } from "./alert-journey.tsx";
import { MessageList } from "./alert-messages.tsx";
import { RawRequest } from "./alert-request.tsx";
import { AlertResendPage } from "./alert-resend.tsx";
import { ShareAlert } from "./alert-share.tsx";
import { NameNote, SeverityMark, titleOf } from "./alert-text.tsx";
import { DeliveryChips } from "./delivery-chips.tsx";
import { type Frame, frameOf, type PageDeps, zoneOf } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { Layout, Notice, Problem, statusOf } from "./layout.tsx";
import { canMute, likeByDefault, type MuteChoice, MuteThis, matchLike } from "./mute-this.tsx";

/** One alert: what came, what was decided, where it went; and what can be done about it. */
export function addAlertPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { store, operations } = deps;

  async function findAlert(id: string): Promise<AlertDetail> {
    const alert = await store.getAlert(id);
    if (alert !== undefined) return alert;
    throw new AppError("not_found", "There is no such alert.", {
      hint: "The address may be cut, or the alert is older than what is kept.",
    });
  }

  /** What was asked for has failed as it may; the page says so and shows the alert all the same. */
  async function render(c: Context<WebEnv>, id: string, problem?: AppError, asked?: MuteChoice) {
    const frame = frameOf(c, deps);
    const [version, counts, alert, { newer, older }, history, downtimes] = await Promise.all([
      // Asked before the rest, so that whatever changes while that is read comes by the stream.
      store.latestChange(),
      store.countAlerts(),
      findAlert(id),
      store.neighbours(id),
      store.keyHistory(id, mostKeyEvents),
      operations.downtimes(),
    ]);
    const page = (
      <AlertPage
        frame={frame}
        version={version}
        alert={alert}
        newer={newer}
        older={older}
        history={history}
        downtimes={downtimes}
        messages={deps.composeAgain?.(alert)}
        routedAgain={operations.routeAgain(alert)}
        publicUrl={deps.publicUrl}
        canPng={deps.toPng !== undefined}
        hasMetric={deps.metricHistory !== undefined && metricKeyOf(alert) !== undefined}
        learned={alert.facts && deps.learnedName?.(alert.facts)}
        learnedName={deps.learnedName}
        market={deps.market && (deps.market.known(alert) ?? "")}
        pictureOf={deps.pictureOf}
        done={describeDone(c.req.query("done"), c.req.query("n"))}
        problem={problem}
        choice={asked ?? { chosen: likeByDefault, preview: await previewDefault(alert, { version, counts }) }}
      />
    );
    return c.render(page, statusOf(problem));
  }

  /** Each look at an alert counts, so fewer alerts are looked at than when somebody asks. */
  async function previewDefault({ facts, request }: AlertDetail, asOf: LogState): Promise<MutePreview | undefined> {
    if (facts === undefined || request === undefined) return undefined;
    return previewBeside(deps, parseMatch(matchLike(facts, likeByDefault)), { mostAlerts: 500, asOf });
  }

  app.get("/alerts/:id", (c) => render(c, c.req.param("id")));

  app.get("/alerts/:id/body", async (c) => {
    const { id, request } = await findAlert(c.req.param("id"));
    if (request === undefined) throw new AppError("not_found", "This has no request: Tocsin wrote it itself.");
    return c.body(new Uint8Array(request.body), 200, {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${id}.txt"`,
    });
  });

  app.get("/alerts/:id/evidence", async (c) => {
    const alert = await findAlert(c.req.param("id"));
    const evidence = { data: encode(evidenceView, await collectEvidence(deps, alert)) };
    return c.body(`${JSON.stringify(evidence, undefined, 2)}\n`, 200, {
      "content-type": "application/json; charset=utf-8",
      "content-disposition": `attachment; filename="${alert.id}.json"`,
    });
  });

  app.get("/alerts/:id/metric.svg", async (c) => {
    const alert = await findAlert(c.req.param("id"));
    const key = metricKeyOf(alert);
    if (key === undefined || deps.metricHistory === undefined) throw noPicture();
    const [points, history] = await Promise.all([
      deps.metricHistory(key),
      store.keyHistory(alert.id, mostKeyEvents),
      // Known then, for the line beside the picture.
      deps.market?.describe(alert.id, { deadlineMs: longestMarketLookMs }),
    ]);
    const theme = c.req.query("theme") === "dark" ? darkTheme : lightTheme;
    const svg = drawMetricPicture(alert, history, points, { now: deps.clock.now(), theme, timeZone: zoneOf(c) });
    return c.body(svg, 200, { "content-type": "image/svg+xml; charset=utf-8" });
  });

  app.get("/alerts/:id/picture.png", async (c) => {
    const alert = await findAlert(c.req.param("id"));
    const svg = drawKeyPicture(alert, await store.keyHistory(alert.id, mostKeyEvents), zoneOf(c));
    if (svg === undefined || deps.toPng === undefined) throw noPicture();
    const png = await deps.toPng(svg);
    if (png === undefined) {
      throw new AppError("failed", "The picture could not be made now.", {
        hint: "Try again in a moment. It needs the optional packages @resvg/resvg-js and dejavu-fonts-ttf.",
        retryAfterMs: 2_000,
      });
    }
    return c.body(new Uint8Array(png), 200, {
      "content-type": "image/png",
      "content-disposition": `inline; filename="${alert.id}.png"`,
    });
  });

  async function askWhere(c: Context<WebEnv>, id: string, problem?: AppError) {
    const alert = await findAlert(id);
    const destinations = await operations.destinations();
    return c.render(
      <AlertResendPage frame={frameOf(c, deps)} alert={alert} destinations={destinations} problem={problem} />,
      statusOf(problem),
    );
  }

  app.get("/alerts/:id/resend", (c) => askWhere(c, c.req.param("id")));

  app.post("/alerts/:id/resend", async (c) => {
    const id = c.req.param("id");
    const chosen = readFields(await readForm(c), "destination").filter((name) => name !== "");
    if (chosen.length === 0) return askWhere(c, id, new AppError("invalid_request", "Tick at least one destination."));
    try {
      const made = await operations.resend(id, chosen);
      return c.redirect(`/alerts/${encodeURIComponent(id)}?done=resent&n=${made.length}`, 303);
    } catch (error) {
      if (error instanceof AppError && error.code !== "not_found") return render(c, id, error);
      throw error;
    }
  });

  app.post("/alerts/:id/release", async (c) => {
    const id = c.req.param("id");
    const destination = readField(await readForm(c), "destination");
    const releases = await operations.releaseHeld({
      alertIds: [id],
      destination: destination === "" ? undefined : destination,
    });
    const released = releases.reduce((sum, release) => sum + release.released, 0);
    return c.redirect(`/alerts/${encodeURIComponent(id)}?done=released&n=${released}`, 303);
  });

  app.post("/alerts/:id/mute", async (c) => {
    const id = c.req.param("id");
    const form = await readForm(c);
    const { facts } = await findAlert(id);
    const chosen = readFields(form, "like");
    const written = { for: readField(form, "for"), reason: readField(form, "reason") };
    try {
      if (facts === undefined) throw new AppError("conflict", "The alert has not been read yet.");
      const match = matchLike(facts, chosen);
      if (Object.keys(match).length === 0) {
        throw new AppError("invalid_request", "Tick at least one thing in which the alerts are alike.");
      }
      if (readField(form, "do") === "preview") {
        const preview = await operations.previewMute(parseMatch(match));
        return render(c, id, undefined, { chosen, preview, written });
      }
      await operations.addMute(readMute(deps, { match, ...written }, "page"));
      return c.redirect(`/alerts/${encodeURIComponent(id)}?done=muted`, 303);
    } catch (error) {
      if (error instanceof AppError) return render(c, id, error, { chosen, written });
      throw error;
    }
  });
}

/** The records of the picture may take as long. */
const longestMarketLookMs = 2_500;

function noPicture(): AppError {
  return new AppError("not_found", "There is no picture of this alert.");
}

/** The words come from here and only a number from the address, so that no link can put words into our mouth. */
function describeDone(done: string | undefined, count: string | undefined): string | undefined {
  if (done === "muted") return "Muted. Alerts like this are stored and not sent until the mute ends.";
  const deliveries = /^\d{1,4}$/.test(count ?? "") ? Number(count) : 0;
  if (done === "released")
    return deliveries === 0 ? "It was not held any more." : "Released: it is sent now, before the quiet hours end.";
  if (done !== "resent") return undefined;
  return `Resent: ${deliveries} ${deliveries === 1 ? "delivery is" : "deliveries are"} on the way, marked as a resend.`;
}

interface AlertPageProps {
  frame: Frame;
  version: ChangeCursor;
  alert: AlertDetail;
  newer?: AlertSummary;
  older?: AlertSummary;
  history: KeyHistory;
  downtimes: readonly Downtime[];
  /** Absent: none can be made here. */
  messages?: ComposedMessage[];
  /** Absent: no route was asked. */
  routedAgain?: RoutedAgain;
  publicUrl: string;
  canPng: boolean;
  /** The service may have a history of its metric. */
  hasMetric: boolean;
  /** What its sender gives by address alone. */
  learned?: LearnedName;
  learnedName?: WebDeps["learnedName"];
  /** What the market does, as far as it is known without asking; empty: not yet. Absent: it is never said. */
  market?: string;
  pictureOf?: PictureOf;
  done?: string;
  problem?: AppError;
  choice: MuteChoice;
}

function AlertPage(props: AlertPageProps) {
  const { frame, version, alert, newer, older, history, messages, publicUrl, done, problem, choice } = props;
  const { facts } = alert;
  const nameIn = (other: AlertSummary) => other.facts && props.learnedName?.(other.facts);
  return (
    <Layout frame={frame} title={titleOf(alert, props.learned)} version={version} alertId={alert.id}>
      <nav class="row" aria-label="Neighbours">
        <a href="/">All alerts</a>
        <span class="row">
          {newer && (
            <a href={`/alerts/${newer.id}`} title={titleOf(newer, nameIn(newer))}>
              ← Newer
            </a>
          )}
          {older && (
            <a href={`/alerts/${older.id}`} title={titleOf(older, nameIn(older))}>
              Older →
            </a>
          )}
        </span>
      </nav>
      {done !== undefined && problem === undefined && <Notice kind="done">{done}</Notice>}
      <Problem error={problem} />
      <header class="headline">
        {facts && <SeverityMark severity={facts.severity} status={facts.status} />}
        <h1 dir="auto">{titleOf(alert, props.learned)}</h1>
        {props.learned && <NameNote learned={props.learned} alert={alert} now={frame.now} />}
        <div data-live="key-line">
          <KeyLine alert={alert} history={history} now={frame.now} />
        </div>
        <p>
          <Instant at={alert.receivedAt} now={frame.now} />{" "}
          {alert.origin !== "hook" && <span class="chip off">{alert.origin}</span>}
        </p>
        <div data-live="chips">
          <DeliveryChips alert={alert} />
        </div>
        <nav class="row on-phone" aria-label="On this page">
          <a href={`/alerts/${alert.id}/resend`}>Resend to …</a>
          {canMute(alert) && <a href="#mute">Mute</a>}
          <a href="#deliveries-title">Deliveries</a>
          <a href="#decisions-title">Why there</a>
          <a href="#request-title">Request</a>
        </nav>
      </header>
      <div class="columns">
        <div>
          <section aria-labelledby="facts-title">
            <h2 id="facts-title">What it says</h2>
            <FactList alert={alert} now={frame.now} />
            <div class="row">
              <a href={`/alerts/${alert.id}/resend`}>Resend to …</a>
              <MuteThis alert={alert} frame={frame} choice={choice} />
            </div>
          </section>
          {messages !== undefined && (
            <section aria-labelledby="messages-title">
              <h2 id="messages-title">The message at each destination</h2>
              <div data-live="messages">
                <MessageList alert={alert} messages={messages} />
              </div>
            </section>
          )}
        </div>
        <div>
          <div data-live="key">
            <KeySection
              alert={alert}
              history={history}
              now={frame.now}
              timeZone={frame.timeZone}
              canPng={props.canPng}
            />
          </div>
          {props.hasMetric && <MetricPicture alert={alert} market={props.market} />}
          <section aria-labelledby="journey-title">
            <h2 id="journey-title">From arrival to message</h2>
            <div data-live="journey">
              <Journey alert={alert} downtimes={props.downtimes} />
            </div>
          </section>
          <section aria-labelledby="deliveries-title">
            <h2 id="deliveries-title">Deliveries</h2>
            <div data-live="deliveries">
              <DeliveryList alert={alert} frame={frame} pictureOf={props.pictureOf} />
            </div>
          </section>
          <section aria-labelledby="decisions-title">
            <h2 id="decisions-title">What was decided, and why</h2>
            <div data-live="decisions">
              <DecisionTable alert={alert} />
              <TodaysRouting routed={props.routedAgain} now={frame.now} />
            </div>
          </section>
        </div>
      </div>
      <section aria-labelledby="request-title">
        <h2 id="request-title">The request as received</h2>
        <RawRequest alert={alert} now={frame.now} />
      </section>
      <section aria-labelledby="share-title">
        <h2 id="share-title">Show it to others</h2>
        <ShareAlert alert={alert} publicUrl={publicUrl} />
      </section>
    </Layout>
  );
}
