import type { Hono } from "hono";
import { cardIdOf } from "../../core/destination-status.ts";
import { idPattern } from "../../core/id.ts";
import type { DestinationView } from "../../core/operations.ts";
import type { AlertDetail, ChangeCursor } from "../../core/ports/alert-log.ts";
import type { DestinationStatistics } from "../../core/ports/statistics.ts";
import type { WebEnv } from "../web-env.ts";
import { ChangedNotice, DestinationCard } from "./destination-card.tsx";
import { TestNotice } from "./destination-test.tsx";
import { type Tried, TriedNotice } from "./destination-try.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Layout, Notice } from "./layout.tsx";

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
    const tried = destinations.find(({ name }) => name === c.req.query("tried"));
    return c.render(
      <DestinationsPage
        frame={frame}
        version={version}
        destinations={destinations}
        statistics={statistics}
        changed={destinations.find(({ name }) => name === c.req.query("changed"))}
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

/** Only a number is taken from the address, so that no link can put words into our mouth. */
function readCount(text: string | undefined): number | undefined {
  return /^\d{1,9}$/.test(text ?? "") ? Number(text) : undefined;
}

interface DestinationsPageProps {
  frame: Frame;
  version: ChangeCursor;
  destinations: DestinationView[];
  statistics: DestinationStatistics[];
  /** Which one was just paused or resumed. */
  changed?: DestinationView;
  /** How many held deliveries were just released. */
  released?: number;
  /** Which one was just tried, and what came of it. */
  tried?: Tried;
  /** The test that was just sent straight to one. */
  test?: AlertDetail;
}

function DestinationsPage(props: DestinationsPageProps) {
  const { frame, version, destinations, statistics, changed, released, tried, test } = props;
  const definedAt = (name: string) => destinations.find((one) => one.name === name)?.definedAt ?? "the configuration";
  return (
    <Layout frame={frame} at="/destinations" version={version}>
      {tried && <TriedNotice {...tried} now={frame.now} />}
      {test && <TestNotice alert={test} definedAt={definedAt} now={frame.now} />}
      {changed && <ChangedNotice destination={changed} />}
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
          <DestinationCard
            destination={destination}
            statistics={statistics.find((one) => one.destination === destination.name)}
            frame={frame}
          />
        ))}
      </div>
    </Layout>
  );
}
