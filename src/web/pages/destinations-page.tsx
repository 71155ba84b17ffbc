import type { Hono } from "hono";
import { timeWords } from "../../charts/plot.ts";
import type { DestinationView, TryResult } from "../../contract/operations.ts";
import { toneOf, wordOf } from "../../contract/words.ts";
import { cardIdOf } from "../../core/destination-status.ts";
import { idPattern } from "../../core/id.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { type DestinationStatistics, type EndState, outcomes, type PastOutcome } from "../../core/ports/statistics.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import {
  changedDestinationPanel,
  countIn,
  destinationCard,
  destinationEnd,
  triedDestinationPanel,
} from "../../panels/destinations.ts";
import type { Cell, Fact, Panel } from "../../panels/panel.ts";
import { emptyOf, factsOf, groupOf, say } from "../../panels/sections.ts";
import { testPanel } from "../../panels/test.ts";
import { type Frame, frameOf, type PageDeps, type WebContext, type WebEnv } from "../web-env.ts";
import { Layout } from "./layout.tsx";
import { CardView, PanelView } from "./panel.tsx";

/** `GET /destinations`: whether each destination accepts messages, why not, and what to do. */
export function addDestinationsPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { store, operations } = deps;
  app.get("/destinations", async (c) => {
    const frame = frameOf(c, deps);
    const [version, destinations, statistics] = await Promise.all([
      // Read first, so the stream sends changes that happen during the rest.
      store.latestChange(),
      operations.destinations(),
      operations.destinationStatistics(),
    ]);
    const test = await findTest(c.req.query("test"));
    const definedAt = (name: string) => destinations.find((one) => one.name === name)?.definedAt;
    const said: Panel = [
      ...readDone(c, destinations),
      test && groupOf({ live: "test" }, testPanel(test, definedAt)),
      destinations.length === 0 && noDestination,
    ];
    return c.render(
      <Layout frame={frame} at="/destinations" version={version}>
        <PanelView panel={said} frame={frame} />
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

  /** The action of each button. It returns the parameters that say its result in the address. */
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

const noDestination = emptyOf(
  "No destination is configured",
  say`Alerts are stored and shown, and go nowhere. Set ${{ code: "TELEGRAM_BOT_TOKEN" }} and
    ${{ code: "TELEGRAM_CHAT_IDS" }}, or ${{ code: "SMTP_URL" }}, ${{ code: "EMAIL_FROM" }} and
    ${{ code: "EMAIL_TO" }}, or name destinations in ${{ code: "tocsin.yaml" }}; then restart Tocsin.`,
);

/** The words come from here and the facts from now, so no link can put words into our mouth. */
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

function DestinationFigures({ statistics, frame }: { statistics: DestinationStatistics; frame: Frame }) {
  const { day, week, waits, last } = statistics;
  if (last.length === 0 && outcomes.every((outcome) => week[outcome] === 0)) return null;
  const isFirstDay = outcomes.every((outcome) => week[outcome] === day[outcome]);
  const rows: Fact[] = [
    [isFirstDay ? "24 h and 7 d" : "24 h", describeCounts(day)],
    ["7 d", !isFirstDay && describeCounts(week)],
    ["delivery time (24 h)", waits && say`median ${lengthOf(waits.p50Ms)}, p95 ${lengthOf(waits.p95Ms)}`],
  ];
  return (
    <>
      <PanelView panel={[factsOf(rows)]} frame={frame} />
      {last.length > 0 && <Band last={last} timeZone={frame.timeZone} />}
    </>
  );
}

function describeCounts(counts: DestinationStatistics["day"]): Cell {
  const some = outcomes.filter((outcome) => counts[outcome] > 0);
  if (some.length === 0) return say`nothing`;
  return some.flatMap((outcome): Cell[] => [
    { chip: `${groupThousands(counts[outcome])} ${shortWords[outcome]}`, tone: toneOf(outcome) },
    { words: " " },
  ]);
}

/** Oldest left. Screen readers get only the failures by name: fifty times "sent" would drown them. */
function Band({ last, timeZone }: { last: PastOutcome[]; timeZone: string }) {
  const count = (state: EndState) => last.filter((outcome) => outcome.state === state).length;
  const summary = outcomes.flatMap((state) => (count(state) > 0 ? [`${count(state)} ${wordOf(state)}`] : []));
  return (
    <p class="last-outcomes">
      <span class="hidden">{`Last ${last.length}: ${summary.join(", ")}.`}</span>
      {last.map((outcome) => {
        const words = `${describe(outcome)} · ${timeWords(timeZone).full(outcome.at)}`;
        if (toneOf(outcome.state) === "good") return <i class="good" title={words} />;
        return (
          <a class="bad" href={`/alerts/${outcome.alertId}`} title={words}>
            <span class="hidden">{words}</span>
          </a>
        );
      })}
    </p>
  );
}

function describe({ state, afterMs, title, reason }: PastOutcome): string {
  const took = state === "sent" || state === "digested" ? ` after ${lengthOf(afterMs)}` : `: ${reason}`;
  return `${wordOf(state)}${took} · ${title}`;
}

const shortWords: Record<EndState, string> = {
  sent: "sent",
  digested: "in digests",
  failed: "failed",
  expired: "expired",
};
