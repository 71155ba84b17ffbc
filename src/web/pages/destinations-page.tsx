import type { Context, Hono } from "hono";
import type { DestinationView, TryResult } from "../../contract/operations.ts";
import {
  changedDestinationPanel,
  countIn,
  destinationCard,
  destinationEnd,
  triedDestinationPanel,
} from "../../contract/panels/destinations.ts";
import type { Panel } from "../../contract/panels/panel.ts";
import { cardIdOf } from "../../core/destination-status.ts";
import { idPattern } from "../../core/id.ts";
import type { AlertDetail, ChangeCursor } from "../../core/ports/alert-log.ts";
import type { DestinationStatistics } from "../../core/ports/statistics.ts";
import type { WebEnv } from "../web-env.ts";
import { DestinationFigures } from "./destination-statistics.tsx";
import { TestNotice } from "./destination-test.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Layout } from "./layout.tsx";
import { CardView, PanelView } from "./panel.tsx";

/** `GET /destinations`: whether each one takes messages, why not, and what to do. */
export function addDestinationsPage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/destinations", async (c) => {
    const frame = frameOf(c, deps);
    const [version, destinations, statistics] = await Promise.all([
      // Asked before the rest, so that whatever changes while that is read comes by the stream.
      deps.store.latestChange(),
      deps.operations.destinations(),
      deps.operations.destinationStatistics(),
    ]);
    return c.render(
      <DestinationsPage
        frame={frame}
        version={version}
        destinations={destinations}
        statistics={statistics}
        done={readDone(c, destinations)}
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

  app.post("/destinations/:name/pause", async (c) => {
    const { name } = await deps.operations.pauseDestination(c.req.param("name"), "page");
    return c.redirect(`/destinations?${new URLSearchParams({ changed: name })}#${cardIdOf(name)}`, 303);
  });

  app.post("/destinations/:name/resume", async (c) => {
    const { name } = await deps.operations.resumeDestination(c.req.param("name"));
    return c.redirect(`/destinations?${new URLSearchParams({ changed: name })}#${cardIdOf(name)}`, 303);
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

/** What was just done. The words come from here and what is true now, so that no link can put words into our mouth. */
function readDone(c: Context<WebEnv>, destinations: DestinationView[]): Panel {
  const find = (asked: string | undefined) => destinations.find(({ name }) => name === asked);
  const changed = find(c.req.query("changed"));
  if (changed !== undefined) return changedDestinationPanel(changed);
  const tried = find(c.req.query("tried"));
  const result = tryResults.find((one) => one === c.req.query("result"));
  if (tried !== undefined && result !== undefined) return triedDestinationPanel(toTryResult(tried, result));
  const released = c.req.query("released") ?? "";
  if (!/^\d{1,9}$/.test(released)) return [];
  const words = Number(released) === 0 ? "Nothing was held any more." : `Released: ${released} held are sent now.`;
  return [{ kind: "note", note: "done", text: { words } }];
}

const tryResults = ["works", "answers", "fails", "parked"] as const;

function toTryResult(destination: DestinationView, result: TryResult["result"]): TryResult {
  const { name, health, reason, nextTryAt } = destination;
  const waiting = countIn(destination, "queued", "waiting");
  return { destination: name, result, health, detail: reason, nextTryAt, waiting };
}

interface DestinationsPageProps {
  frame: Frame;
  version: ChangeCursor;
  destinations: DestinationView[];
  statistics: DestinationStatistics[];
  /** What was just done. */
  done: Panel;
  /** The test that was just sent straight to one. */
  test?: AlertDetail;
}

function DestinationsPage(props: DestinationsPageProps) {
  const { frame, version, destinations, statistics, done, test } = props;
  const definedAt = (name: string) => destinations.find((one) => one.name === name)?.definedAt ?? "the configuration";
  return (
    <Layout frame={frame} at="/destinations" version={version}>
      <PanelView panel={done} frame={frame} />
      {test && <TestNotice alert={test} definedAt={definedAt} now={frame.now} />}
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
        {destinations.map((destination) => {
          const own = statistics.find((one) => one.destination === destination.name);
          return (
            <CardView card={destinationCard(destination, own)} frame={frame} level={2}>
              {own && <DestinationFigures statistics={own} timeZone={frame.timeZone} />}
              <PanelView panel={destinationEnd(destination)} frame={frame} />
            </CardView>
          );
        })}
      </div>
    </Layout>
  );
}
