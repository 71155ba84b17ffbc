import { drawSparkLine } from "../../charts/spark-line.ts";
import { drawableThreshold, toNumber } from "../../core/alert.ts";
import type { AlertLog, AlertSummary, KeyValues } from "../../core/ports/alert-log.ts";
import { RecentMap } from "../../ground/recent-map.ts";

const mostValues = 30;
/** Fewer values add nothing to the row. */
const leastValues = 3;
/** Some pages of the log, half a megabyte. The values before an alert never change. */
const mostKept = 1_000;

/** Keyed by the alert's id. None for a key with few values. */
export type SparksOf = (alerts: readonly AlertSummary[]) => Promise<ReadonlyMap<string, string>>;

/** Asks the store once for all keys of a page that are not drawn yet. */
export function createSparks(store: Pick<AlertLog, "keyValues">): SparksOf {
  const kept = new RecentMap<string, string>(mostKept);

  return async (alerts) => {
    const drawable = alerts.filter(({ run, facts }) => run !== undefined && toNumber(facts?.value) !== null);
    const unknown = drawable.filter(({ id }) => !kept.has(id));
    const lines = new Map(drawable.map(({ id }) => [id, kept.get(id) ?? ""]));
    if (unknown.length > 0) {
      const ids = unknown.map(({ id }) => id);
      const found = new Map((await store.keyValues(ids, mostValues)).map((values) => [values.id, values]));
      for (const alert of unknown) {
        const values = found.get(alert.id);
        // The store leaves out a line under load. The next view gets it.
        if (values === undefined) continue;
        const line = drawLine(alert, values);
        lines.set(alert.id, line);
        kept.set(alert.id, line);
      }
    }
    return lines;
  };
}

function drawLine({ facts, run }: AlertSummary, { values }: KeyValues): string {
  const points = values.map(({ at, sent }) => ({ at, value: toNumber(sent) })).filter(({ value }) => value !== null);
  if (facts === undefined || points.length < leastValues) return "";
  return drawSparkLine({
    points,
    threshold: drawableThreshold(facts),
    state: run?.isOver ? "over" : "firing",
    title: "Values of this key",
    unit: facts.unit,
  });
}
