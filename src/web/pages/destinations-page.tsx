import type { Hono } from "hono";
import type { DestinationView, TryResult } from "../../contract/operations.ts";
import { cardIdOf } from "../../core/destination-status.ts";
import { idPattern } from "../../core/id.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import {
  changedDestinationPanel,
  countIn,
  destinationCard,
  destinationEnd,
  triedDestinationPanel,
} from "../../panels/destinations.ts";
import { emptyOf, type Panel, say } from "../../panels/panel.ts";
import { testPanel } from "../../panels/test.ts";
import type { WebContext, WebEnv } from "../web-env.ts";
import { DestinationFigures } from "./destination-statistics.tsx";
import { frameOf, type PageDeps } from "./frame.ts";
import { Layout } from "./layout.tsx";
import { CardView, PanelView } from "./panel.tsx";

/** `GET /destinations`: whether each one takes messages, why not, and what to do. */
export function addDestinationsPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { store, operations } = deps;
  app.get("/destinations", async (c) => {
    const frame = frameOf(c, deps);
    const [version, destinations, statistics] = await Promise.all([
      // Asked before the rest, so that whatever changes while that is read comes by the stream.
      store.latestChange(),
      operations.destinations(),
      operations.destinationStatistics(),
    ]);
    const test = await findTest(c.req.query("test"));
    const definedAt = (name: string) => destinations.find((one) => one.name === name)?.definedAt;
    return c.render(
      <Layout frame={frame} at="/destinations" version={version}>
        <PanelView panel={readDone(c, destinations)} frame={frame} />
        {test && (
          <div data-live="test">
            <PanelView panel={testPanel(test, definedAt)} frame={frame} />
          </div>
        )}
        {destinations.length === 0 && <PanelView panel={noDestination} frame={frame} />}
        <div class="cards" data-live="destinations">
          {destinations.map((destination) => {
            const own = statistics.find((one) => one.destination === destination.name);
            return (
              <CardView card={destinationCard(destination, own)} frame={frame} level={2}>
                {own && <DestinationFigures statistics={own} frame={frame} />}
                <PanelView panel={destinationEnd(destination)} frame={frame} />
              </CardView>
            );
          })}
        </div>
      </Layout>,
    );
  });

  async function findTest(id: string | undefined): Promise<AlertDetail | undefined> {
    const alert = id !== undefined && idPattern.test(id) ? await store.getAlert(id) : undefined;
    return alert?.origin === "test" && alert.request === undefined ? alert : undefined;
  }

  /** What each button does, and what the address then says of it. */
  const acts: Record<string, (name: string) => Promise<Record<string, string>>> = {
    test: async (name) => ({ test: (await operations.testDestination(name)).alert.id }),
    pause: async (name) => ({ changed: (await operations.pauseDestination(name, "page")).name }),
    resume: async (name) => ({ changed: (await operations.resumeDestination(name)).name }),
    release: async (destination) => {
      const releases = await operations.releaseHeld({ destination });
      return { released: String(releases.reduce((sum, { released }) => sum + released, 0)) };
    },
    try: async (name) => {
      const { destination, result } = await operations.tryDestination(name);
      return { tried: destination, result };
    },
  };
  for (const [act, run] of Object.entries(acts)) {
    app.post(`/destinations/:name/${act}`, async (c) => {
      const said = await run(c.req.param("name"));
      const card = said.changed === undefined ? "" : `#${cardIdOf(said.changed)}`;
      return c.redirect(`/destinations?${new URLSearchParams(said)}${card}`, 303);
    });
  }
}

const noDestination: Panel = [
  emptyOf(
    "No destination is configured",
    say`Alerts are stored and shown, and go nowhere. Set ${{ code: "TELEGRAM_BOT_TOKEN" }} and
      ${{ code: "TELEGRAM_CHAT_IDS" }}, or ${{ code: "SMTP_URL" }}, ${{ code: "EMAIL_FROM" }} and
      ${{ code: "EMAIL_TO" }}, or name destinations in ${{ code: "tocsin.yaml" }}; then restart Tocsin.`,
  ),
];

/** What was just done. The words come from here and what is true now, so that no link can put words into our mouth. */
function readDone(c: WebContext, destinations: DestinationView[]): Panel {
  const find = (asked: string | undefined) => destinations.find(({ name }) => name === asked);
  const changed = find(c.req.query("changed"));
  if (changed !== undefined) return changedDestinationPanel(changed);
  const tried = find(c.req.query("tried"));
  const result = tryResults.find((one) => one === c.req.query("result"));
  if (tried !== undefined && result !== undefined) return triedDestinationPanel(toTryResult(tried, result));
  const released = c.req.query("released") ?? "";
  if (!/^\d{1,9}$/.test(released)) return [];
  const words =
    Number(released) === 0
      ? "Nothing was held any more."
      : `Released: ${released} held, sent as soon as their destination takes messages.`;
  return [{ kind: "note", note: "done", text: { words } }];
}

const tryResults = ["works", "answers", "fails", "parked"] as const;

function toTryResult(destination: DestinationView, result: TryResult["result"]): TryResult {
  const { name, health, reason, nextTryAt } = destination;
  const waiting = countIn(destination, "queued", "waiting");
  return { destination: name, result, health, detail: reason, nextTryAt, waiting };
}
