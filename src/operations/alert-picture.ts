import { drawAlertChart } from "../charts/alert-chart.ts";
import type { ChartMark } from "../charts/line-chart.ts";
import type { DeskResult } from "../charts/png-desk.ts";
import { type ChartPoint, isKnown } from "../charts/series.ts";
import { darkTheme, lightTheme } from "../charts/theme.ts";
import { drawableThreshold, toNumber } from "../core/alert.ts";
import { type Clock, within } from "../core/clock.ts";
import { isAddress, metricKeyOf, readMetricKey, wordsOfMeasure } from "../core/metric-key.ts";
import { isSameSeries, momentOf, valueAmong } from "../core/metric-value.ts";
import type { AlertDetail, AlertLog, KeyEvent } from "../core/ports/alert-log.ts";
import type { AlertPictureOptions, AlertPictureResult, DrawAlertPicture } from "../core/ports/alert-picture.ts";
import { shortAddress } from "../core/subject-name.ts";

export interface AlertPicturesDeps {
  store: Pick<AlertLog, "getAlert" | "keyHistory">;
  /** A metric's last seven days, bounded. Undefined: not known now. Absent: no service is configured. */
  readHistory?: (key: string) => Promise<readonly ChartPoint[] | undefined>;
  toPng(svg: string): Promise<DeskResult>;
  clock: Clock;
}

const mostKeyEvents = 60;
const mostDrawings = 16;
/** How long a drawing waits for the service before it uses the values of the alerts. */
const historyLimitMs = 1_200;
const keepMs = 5 * 60_000;
/** The service may have missing records a while later, so a poor picture is kept for a shorter time. */
const keepPoorMs = 30_000;
const mostKept = 200;
const mostKeptBytes = 8 * 1024 * 1024;

interface Kept {
  until: number;
  result: AlertPictureResult;
  bytes: number;
}

/** A picture is kept for some minutes, and all requests for one alert share its drawing. */
export function createAlertPictures(deps: AlertPicturesDeps): DrawAlertPicture {
  const { store, readHistory, toPng, clock } = deps;
  /** The picture that was drawn last is at the end. */
  const kept = new Map<string, Kept>();
  const underWay = new Map<string, Promise<AlertPictureResult>>();
  let keptBytes = 0;

  function keep(key: string, result: AlertPictureResult, forMs: number): void {
    const bytes = "png" in result ? result.png.byteLength : 0;
    forget(key);
    kept.set(key, { until: clock.now() + forMs, result, bytes });
    keptBytes += bytes;
    for (const oldest of kept.keys()) {
      if (kept.size <= mostKept && keptBytes <= mostKeptBytes) break;
      forget(oldest);
    }
  }

  function forget(key: string): void {
    keptBytes -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  }

  async function make(key: string, alertId: string, { theme, timeZone }: AlertPictureOptions) {
    const alert = await store.getAlert(alertId);
    if (alert?.facts === undefined) return { none: "unknown_alert" } as const;
    const metric = metricKeyOf(alert);
    const asked = metric === undefined ? undefined : readHistory?.(metric).catch(() => undefined);
    const [record, history] = await Promise.all([
      asked && within(asked, historyLimitMs, clock),
      store.keyHistory(alertId, mostKeyEvents),
    ]);
    const { facts } = alert;
    const events = history.events.filter((event) => !event.isRepeat && isSameSeries(event, facts));
    const chart = describe(alert, facts, events, record);
    if (chart.points.filter(isKnown).length + (chart.value === undefined ? 0 : 1) < 2) {
      const none = { none: "no_values" } as const;
      keep(key, none, keepPoorMs);
      return none;
    }
    const { svg, alt } = drawAlertChart({ ...chart, timeZone, theme: theme === "dark" ? darkTheme : lightTheme });
    const drawn = await toPng(svg);
    if ("problem" in drawn) return { none: drawn.problem };
    keep(key, { png: drawn.png, alt }, chart.isSparse && asked ? keepPoorMs : keepMs);
    return { png: drawn.png, alt };
  }

  return async (alertId, options) => {
    const key = JSON.stringify([alertId, options.theme ?? "light", options.timeZone ?? "UTC"]);
    const found = kept.get(key);
    if (found !== undefined && found.until > clock.now()) return found.result;
    let drawing = underWay.get(key);
    if (drawing === undefined) {
      if (underWay.size >= mostDrawings) return { none: "busy" };
      drawing = make(key, alertId, options)
        .catch((): AlertPictureResult => ({ none: "failed" }))
        .finally(() => underWay.delete(key));
      underWay.set(key, drawing);
    }
    return (await within(drawing, options.deadlineMs, clock, options.signal)) ?? { none: "late" };
  };
}

/** From the service's records, or else from the values of the key's alerts. */
function describe(
  alert: AlertDetail,
  facts: NonNullable<AlertDetail["facts"]>,
  events: readonly KeyEvent[],
  record: readonly ChartPoint[] | undefined,
) {
  const moment = momentOf(alert);
  const isSparse = record === undefined || record.filter((point) => point.at <= moment).length < 2;
  // Earlier alerts are placed at their arrival. This one is placed the same way, whatever time it gives itself.
  const at = isSparse ? alert.receivedAt : moment;
  const before = events.slice(events.findIndex(({ id }) => id === alert.id) + 1).filter((one) => one.receivedAt <= at);
  const own = isSparse ? toNumber(facts.value) : valueAmong(facts, record);
  const isOther = own === null && toNumber(facts.value) !== null;
  return {
    title: nameOf(facts),
    points: isSparse ? before.map(({ receivedAt, value }) => ({ at: receivedAt, value: toNumber(value) })) : record,
    at,
    value: own ?? undefined,
    threshold: isOther ? undefined : drawableThreshold(facts),
    unit: isOther ? undefined : facts.unit,
    marks: before.map(
      ({ receivedAt, status }): ChartMark => ({ at: receivedAt, kind: status === "resolved" ? "resolved" : "firing" }),
    ),
    isSparse,
    isOver: facts.status === "resolved",
  };
}

function nameOf({ metric, token, chain, title }: NonNullable<AlertDetail["facts"]>): string {
  const parts = metric === undefined ? undefined : readMetricKey(metric);
  if (parts === undefined || parts.measure === "") return title;
  const name = token === undefined || isAddress(token.trim()) ? shortAddress(token ?? parts.address) : token;
  const kind = parts.kind === "pool" ? " pool" : "";
  const place = chain !== undefined && /\p{L}/u.test(chain) ? chain : parts.chain;
  return `${name}${kind} ${wordsOfMeasure(parts.measure)} on ${place}`;
}
