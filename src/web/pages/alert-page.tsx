import type { Hono } from "hono";
import { darkTheme, lightTheme } from "../../charts/theme.ts";
import { encode } from "../../contract/encode.ts";
import { viewAlertDetail } from "../../contract/make-views.ts";
import type { LogState, MutePreview } from "../../contract/operations.ts";
import { evidenceView } from "../../contract/views/alerts.ts";
import { AppError } from "../../core/errors.ts";
import { findAlert } from "../../core/find-alert.ts";
import { metricKeyOf } from "../../core/metric-key.ts";
import type { AlertDetail, AlertSummary } from "../../core/ports/alert-log.ts";
import { parseMatch } from "../../matching/read-match.ts";
import { decisionsPanel, deliveriesPanel, headFacts } from "../../panels/alert.ts";
import { endWhenOver, likeByDefault, type MuteChoice, matchLike, muteThisPanel } from "../../panels/mutes.ts";
import { factsOf } from "../../panels/sections.ts";
import { collectEvidence } from "../evidence.ts";
import { orProblem, readField, readFields, readForm } from "../form.ts";
import { previewBeside, readMute } from "../read-mute.ts";
import { frameOf, type PageDeps, type WebContext, type WebEnv, zoneOf } from "../web-env.ts";
import { evidencePanel } from "./alert-evidence.ts";
import {
  drawKeyPicture,
  drawMetricPicture,
  KeyLine,
  KeySection,
  MetricPicture,
  mostKeyEvents,
} from "./alert-history.tsx";
import { notRead, SeverityMark, titleOf } from "./alert-text.tsx";
import { Layout, Notice, Problem, statusOf } from "./layout.tsx";
import { LongBox } from "./long-box.tsx";
import { PanelView } from "./panel.tsx";
import { answerPanel } from "./panel-page.tsx";
import { alertResendPanel } from "./resend-page.ts";

export function addAlertPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { store, operations } = deps;
  addAlertFiles(app, deps);

  /** @param problem the reason why the reader's action was refused */
  async function render(c: WebContext, id: string, problem?: AppError, asked?: MuteChoice) {
    const shown = await readAlert(c, deps, id);
    const choice = asked ?? { chosen: likeByDefault, preview: await previewDefault(shown.alert, shown) };
    const done = describeDone(c.req.query("done"), c.req.query("n"));
    return c.render(<AlertPage {...{ ...shown, choice, done, problem }} />, statusOf(problem));
  }

  /** Counts for the mute form. Each view of the page counts, so it looks at fewer alerts than a preview on request. */
  async function previewDefault({ facts, request }: AlertDetail, asOf: LogState): Promise<MutePreview | undefined> {
    if (facts === undefined || request === undefined) return undefined;
    return previewBeside(deps, parseMatch(matchLike(facts, likeByDefault)), { mostAlerts: 500, asOf });
  }

  async function askWhere(c: WebContext, id: string, problem?: AppError) {
    const frame = frameOf(c, deps);
    const panel = alertResendPanel(await findAlert(store, id), await operations.destinations());
    return answerPanel(c, { frame, problem, panel, title: "Resend to whom?" });
  }

  const backTo = (c: WebContext, id: string, done: Record<string, string>) =>
    c.redirect(`/alerts/${encodeURIComponent(id)}?${new URLSearchParams(done)}`, 303);

  app.get("/alerts/:id", (c) => render(c, c.req.param("id")));
  app.get("/alerts/:id/resend", (c) => askWhere(c, c.req.param("id")));

  app.post("/alerts/:id/resend", async (c) => {
    const id = c.req.param("id");
    const chosen = readFields(await readForm(c), "destination").filter((name) => name !== "");
    if (chosen.length === 0) return askWhere(c, id, new AppError("invalid_request", "Tick at least one destination."));
    return orProblem(
      async () => backTo(c, id, { done: "resent", n: String((await operations.resend(id, chosen)).length) }),
      (problem) => render(c, id, problem),
    );
  });

  app.post("/alerts/:id/release", async (c) => {
    const id = c.req.param("id");
    const destination = readField(await readForm(c), "destination") || undefined;
    const releases = await operations.releaseHeld({ alertIds: [id], destination });
    return backTo(c, id, { done: "released", n: String(releases.reduce((sum, { released }) => sum + released, 0)) });
  });

  app.post("/alerts/:id/mute", async (c) => {
    const id = c.req.param("id");
    const form = await readForm(c);
    const { facts } = await findAlert(store, id);
    const chosen = readFields(form, "like");
    const written = { for: readField(form, "for"), reason: readField(form, "reason") };
    return orProblem(
      async () => {
        if (facts === undefined) throw new AppError("conflict", "The alert has not been read yet.");
        const match = matchLike(facts, chosen);
        if (Object.keys(match).length === 0) {
          throw new AppError("invalid_request", "Tick at least one thing in which the alerts are alike.");
        }
        if (readField(form, "do") === "preview") {
          const preview = await operations.previewMute(parseMatch(match));
          return render(c, id, undefined, { chosen, preview, written });
        }
        const end = written.for === endWhenOver[0] ? { for: undefined, untilOver: true as const } : {};
        await operations.addMute(readMute(deps, { match, ...written, ...end }, "page"));
        return backTo(c, id, { done: "muted" });
      },
      (problem) => render(c, id, problem, { chosen, written }),
    );
  });
}

function addAlertFiles(app: Hono<WebEnv>, deps: PageDeps): void {
  const { store } = deps;

  app.get("/alerts/:id/body", async (c) => {
    const { id, request } = await findAlert(store, c.req.param("id"));
    if (request === undefined) throw new AppError("not_found", "This has no request: Tocsin wrote it itself.");
    return answerFile(c, request.body, `${id}.txt`, "application/octet-stream");
  });

  app.get("/alerts/:id/evidence", async (c) => {
    const alert = await findAlert(store, c.req.param("id"));
    const evidence = { data: encode(evidenceView, await collectEvidence(deps, alert)) };
    const text = new TextEncoder().encode(`${JSON.stringify(evidence, undefined, 2)}\n`);
    return answerFile(c, text, `${alert.id}.json`, "application/json; charset=utf-8");
  });

  app.get("/alerts/:id/metric.svg", async (c) => {
    const alert = await findAlert(store, c.req.param("id"));
    const key = metricKeyOf(alert);
    if (key === undefined || deps.metricHistory === undefined) throw noPicture();
    const [points, history] = await Promise.all([
      deps.metricHistory(key),
      store.keyHistory(alert.id, mostKeyEvents),
      // Asked now, since the page fetches the line next to the picture once the picture is loaded.
      deps.market?.describe(alert.id, { deadlineMs: longestMarketLookMs }),
    ]);
    const svg = drawMetricPicture(alert, history, points, {
      now: deps.clock.now(),
      theme: c.req.query("theme") === "dark" ? darkTheme : lightTheme,
      timeZone: zoneOf(c),
      isNarrow: c.req.query("narrow") !== undefined,
    });
    return c.body(svg, 200, { "content-type": "image/svg+xml; charset=utf-8" });
  });

  app.get("/alerts/:id/picture.png", async (c) => {
    const alert = await findAlert(store, c.req.param("id"));
    const svg = drawKeyPicture(alert, await store.keyHistory(alert.id, mostKeyEvents), zoneOf(c));
    if (svg === undefined || deps.toPng === undefined) throw noPicture();
    const png = await deps.toPng(svg);
    if (png === undefined) {
      throw new AppError("failed", "The picture could not be made now.", {
        hint: "Try again in a moment. It needs the optional packages @resvg/resvg-js and dejavu-fonts-ttf.",
        retryAfterMs: 2_000,
      });
    }
    return answerFile(c, png, `${alert.id}.png`, "image/png", "inline");
  });
}

const longestMarketLookMs = 2_500;

function answerFile(c: WebContext, content: Uint8Array, name: string, type: string, how = "attachment"): Response {
  const disposition = `${how}; filename="${name}"`;
  return c.body(new Uint8Array(content), 200, { "content-type": type, "content-disposition": disposition });
}

function noPicture(): AppError {
  return new AppError("not_found", "There is no picture of this alert.");
}

/** Only a number comes from the address, so no link can put words into our mouth. */
function describeDone(done: string | undefined, count: string | undefined): string | undefined {
  if (done === "muted") return "Muted. Alerts like this are stored and not sent until the mute ends.";
  const deliveries = /^\d{1,4}$/.test(count ?? "") ? Number(count) : 0;
  if (done === "released")
    return deliveries === 0 ? "It was not held any more." : "Released: it is sent now, before the quiet hours end.";
  if (done !== "resent") return undefined;
  return `Resent: ${deliveries} ${deliveries === 1 ? "delivery is" : "deliveries are"} on the way, marked as a resend.`;
}

async function readAlert(c: WebContext, deps: PageDeps, id: string) {
  const { store, operations } = deps;
  const frame = frameOf(c, deps);
  const [version, counts, alert, neighbours, history, downtimes, { destinations = [] }] = await Promise.all([
    // Read first, so the stream sends changes that happen during the rest.
    store.latestChange(),
    store.countAlerts(),
    findAlert(store, id),
    store.neighbours(id),
    store.keyHistory(id, mostKeyEvents),
    operations.downtimes(),
    frame.health(),
  ]);
  return { deps, frame, version, counts, alert, ...neighbours, history, downtimes, destinations };
}

interface AlertPageProps extends Awaited<ReturnType<typeof readAlert>> {
  choice: MuteChoice;
  done?: string;
  problem?: AppError;
}

function AlertPage(props: AlertPageProps) {
  const { deps, frame, version, alert, newer, older, history, downtimes, destinations, choice, done, problem } = props;
  const { id, facts } = alert;
  const seen = viewAlertDetail(alert, deps);
  const mute = muteThisPanel(alert, choice);
  const title = seen.headline ?? notRead;
  const hasMetric = deps.metricHistory !== undefined && metricKeyOf(alert) !== undefined;
  const configured = (name: string) => destinations.find((destination) => destination.name === name);
  return (
    <Layout frame={frame} title={title} version={version} alertId={id}>
      <nav class="row" aria-label="Neighbours">
        <a href="/">All alerts</a>
        <span class="row">
          <Neighbour alert={newer} words="← Newer" deps={deps} />
          <Neighbour alert={older} words="Older →" deps={deps} />
        </span>
      </nav>
      {done !== undefined && problem === undefined && <Notice kind="done">{done}</Notice>}
      <Problem error={problem} />
      <header class="headline">
        {facts && <SeverityMark severity={facts.severity} status={facts.status} />}
        <h1 dir="auto">{title}</h1>
        <div data-live="now">
          <KeyLine history={history} id={id} frame={frame} />
        </div>
        {facts?.text !== undefined && (
          <LongBox name="the text" text={facts.text}>
            <p class="words" dir="auto">
              {facts.text}
            </p>
          </LongBox>
        )}
        <PanelView panel={[factsOf(headFacts(seen, downtimes))]} frame={frame} />
      </header>
      <div class="columns">
        <div>
          <PanelView panel={[deliveriesPanel(seen, { now: frame.now, downtimes, configured })]} frame={frame} />
          {mute && (
            <section aria-label="Mute">
              <PanelView panel={[mute]} frame={frame} />
            </section>
          )}
          <PanelView panel={[decisionsPanel(seen, deps.operations.routeAgain(alert))]} frame={frame} />
        </div>
        {(history.events.length > 1 || hasMetric) && (
          <div>
            <div data-live="key">
              <KeySection alert={alert} history={history} frame={frame} canPng={deps.toPng !== undefined} />
            </div>
            {hasMetric && <MetricPicture alert={alert} market={deps.market && (deps.market.known(alert) ?? "")} />}
          </div>
        )}
      </div>
      <PanelView panel={[evidencePanel(seen, deps, alert)]} frame={frame} />
    </Layout>
  );
}

function Neighbour({ alert, words, deps }: { alert?: AlertSummary; words: string; deps: PageDeps }) {
  if (alert === undefined) return null;
  return (
    <a href={`/alerts/${alert.id}`} title={titleOf(alert, alert.facts && deps.learnedName?.(alert.facts))}>
      {words}
    </a>
  );
}
