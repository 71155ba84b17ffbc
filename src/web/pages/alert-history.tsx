import { raw } from "hono/html";
import { type ChartMark, drawLineChart, type LineChart } from "../../charts/line-chart.ts";
import { breakAtHoles, type ChartPoint } from "../../charts/series.ts";
import { type ChartTheme, lightTheme } from "../../charts/theme.ts";
import { drawableThreshold, toNumber } from "../../core/alert.ts";
import { describeKey, type KeyState } from "../../core/key-history.ts";
import { isSameSeries, valueAmong } from "../../core/metric-value.ts";
import type { AlertDetail, KeyEvent, KeyHistory } from "../../core/ports/alert-log.ts";
import { ordinal } from "../../ground/numbers/format-number.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { weekMs } from "../../ground/time/spans.ts";
import type { Cell } from "../../panels/panel.ts";
import { say, tableOf } from "../../panels/sections.ts";
import type { Frame } from "../web-env.ts";
import { PanelView, Text } from "./panel.tsx";

export const mostKeyEvents = 60;

/** The alerts that are listed on each side of this alert. The log has all. */
const shownBeside = 4;

/** Whether the key fires or is over, since when, how often. Readers who come from a message ask this first. */
export function KeyLine({ history, id, frame }: { history: KeyHistory; id: string; frame: Frame }) {
  const state = describeKey(history, id);
  if (state === undefined) return null;
  const all = history.events.length > 1 && say` · ${{ link: "#key-title", text: say`all of this key` }}`;
  return (
    <p class={`key-line ${state.now}`}>
      <Text cell={[describeState(state), all]} frame={frame} />
    </p>
  );
}

function describeState({ now, episode, isCurrent, isSinceLeast, since: at, time }: KeyState): Cell {
  const lasted = episode?.to === undefined ? undefined : lengthOf(Math.max(0, episode.to - episode.from));
  const since = say`${isSinceLeast && say`at least `}${{ at }}`;
  const again =
    time !== undefined &&
    time.number > 1 &&
    say` · ${time.isLeast && say`at least `}${{ words: ordinal(time.number) }} time since ${{ at: time.since }}`;
  if (now === "unknown") return say`Neither firing nor over: its sender says nothing of that${again}`;
  if (!isCurrent) {
    const over = { words: lasted === undefined ? "This one is over" : `Over after ${lasted}` };
    return say`${{ bold: over }}${{ words: now === "firing" ? "; it fires again since" : ", fired again, and is over since" }}
      ${since}${again}`;
  }
  if (now === "firing")
    return say`${{ bold: say`Firing since` }} ${since}, and nothing has said that it is over${again}`;
  return say`${{ bold: say`Over since` }} ${since}${lasted !== undefined && { words: `, after ${lasted}` }}${again}`;
}

interface KeyProps {
  alert: AlertDetail;
  history: KeyHistory;
  frame: Frame;
  canPng: boolean;
}

export function KeySection({ alert, history, frame, canPng }: KeyProps) {
  const { events } = history;
  if (alert.facts === undefined || events.length < 2) return null;
  const at = events.findIndex(({ id }) => id === alert.id);
  const near = tableOf(
    events.slice(Math.max(0, at - shownBeside), at + shownBeside + 1),
    {
      when: ({ receivedAt }) => ({ at: receivedAt }),
      alert: (event) =>
        event.id === alert.id
          ? { bold: { words: `${wordsOf(event)}, this one` } }
          : { link: `/alerts/${event.id}`, text: { words: wordsOf(event) } },
      value: { align: "right", of: ({ value, unit }) => value !== undefined && { amount: value, unit } },
    },
    { keep: [] },
  );
  return (
    <section aria-labelledby="key-title">
      <h2 id="key-title">Alerts of the same key</h2>
      <p class="soft">
        <code>{alert.facts.alertKey}</code>{" "}
        <a href={`/?${new URLSearchParams({ key: alert.facts.alertKey })}`}>All in the log</a>
      </p>
      <KeyPicture alert={alert} chart={keyChart(alert, history, frame.timeZone)} canPng={canPng} />
      <PanelView panel={[near]} frame={frame} />
    </section>
  );
}

function wordsOf({ status, severity, isRepeat }: KeyEvent): string {
  if (isRepeat) return "sent again, a repeat";
  if (status === "resolved") return "over";
  return severity === "unknown" ? "came" : severity;
}

/** Draws two pictures, for a wide and for a narrow window. A style shows the fitting one. */
function KeyPicture({ alert, chart, canPng }: { alert: AlertDetail; chart?: LineChart; canPng: boolean }) {
  if (chart === undefined) return null;
  return (
    <figure class="picture">
      <div class="on-desk">{raw(drawLineChart({ ...chart, width: 640, height: 220 }))}</div>
      <div class="on-phone">{raw(drawLineChart({ ...chart, width: 310, height: 200 }))}</div>
      <figcaption class="soft">
        The values that the alerts themselves have brought. ▲ fired, ○ over, the dotted line is this alert.
        {canPng && (
          <>
            {" "}
            <a href={`/alerts/${alert.id}/picture.png`}>As PNG</a>
          </>
        )}
      </figcaption>
    </figure>
  );
}

function keyChart(alert: AlertDetail, history: KeyHistory, timeZone: string): LineChart | undefined {
  const { facts } = alert;
  const happened = sameSeries(alert, history);
  const points = happened.map(({ receivedAt, value }) => ({ at: receivedAt, value: toNumber(value) }));
  if (facts === undefined || points.filter(({ value }) => value !== null).length < 2) return undefined;
  return {
    title: "Values of the alerts of this key",
    points,
    threshold: drawableThreshold(facts),
    unit: facts.unit,
    dots: true,
    marks: marksOf(alert, happened),
    timeZone,
  };
}

/** The events of the alert's key with the same metric and unit. */
const sameSeries = ({ facts }: AlertDetail, { events }: KeyHistory) =>
  facts === undefined ? [] : events.filter((event) => !event.isRepeat && isSameSeries(event, facts));

const marksOf = (alert: AlertDetail, events: readonly KeyEvent[]) =>
  events.map(({ id, receivedAt, status }): ChartMark => {
    const [over, fires] = id === alert.id ? (["this-over", "this"] as const) : (["resolved", "firing"] as const);
    return { at: receivedAt, kind: status === "resolved" ? over : fires };
  });

/** Draws the last seven days of an alert's metric, with its threshold and the moments when its key fired. */
export function drawMetricPicture(
  alert: AlertDetail,
  history: KeyHistory,
  points: readonly ChartPoint[] | undefined,
  { isNarrow, ...drawn }: { now: number; theme: ChartTheme; timeZone: string; isNarrow: boolean },
): string {
  const { facts } = alert;
  // A value such as "M USD" next to single units, or a change in percent, means that the records have another unit.
  const isOther = facts !== undefined && toNumber(facts.value) !== null && valueAmong(facts, points ?? []) === null;
  return drawLineChart({
    title: facts?.metric ?? "",
    points: breakAtHoles(points ?? []),
    threshold: facts && !isOther ? drawableThreshold(facts) : undefined,
    unit: isOther ? undefined : facts?.unit,
    marks: marksOf(alert, sameSeries(alert, history)),
    from: drawn.now - weekMs,
    to: drawn.now,
    emptyText: points === undefined ? "the service does not answer now" : "the service has no records of it",
    heading: points !== undefined && points.length > 0,
    width: isNarrow ? 340 : 640,
    height: points === undefined || points.length === 0 ? 60 : isNarrow ? 220 : 280,
    theme: drawn.theme,
    timeZone: drawn.timeZone,
  });
}

/** The picture as a file for others. Undefined without enough values. */
export function drawKeyPicture(alert: AlertDetail, history: KeyHistory, timeZone: string): string | undefined {
  const chart = keyChart(alert, history, timeZone);
  return chart && drawLineChart({ ...chart, title: alert.facts?.title ?? chart.title, theme: lightTheme });
}

/** The browser loads the picture, so the page waits for no service. The script fills in the market line. */
export function MetricPicture({ alert, market }: { alert: AlertDetail; market?: string }) {
  const address = `/alerts/${alert.id}/metric.svg`;
  return (
    <section aria-labelledby="metric-title">
      <h2 id="metric-title">The metric, last seven days</h2>
      <picture>
        <source srcset={`${address}?theme=dark&narrow`} media="(prefers-color-scheme: dark) and (width <= 520px)" />
        <source srcset={`${address}?theme=dark`} media="(prefers-color-scheme: dark)" />
        <source srcset={`${address}?narrow`} media="(width <= 520px)" />
        <img class="metric" src={address} alt="Line of the metric over seven days, as the service has it" />
      </picture>
      {market !== undefined && (
        <div data-live="market">{market !== "" && <p class="soft">The market: {market}</p>}</div>
      )}
    </section>
  );
}
