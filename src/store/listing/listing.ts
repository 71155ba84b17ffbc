import type { AlertLog, AlertQuery, AlertSummary, FailedCount, FailedDelivery } from "../../core/ports/alert-log.ts";
import { type FailedRow, type ShownRow, toFailedDelivery, toShown } from "../log-entries.ts";
import { fromPosition, toPosition } from "../positions.ts";
import { createFailedStatements, createListStatements } from "./list-statements.ts";
import type { ListWords } from "./list-words.ts";
import { createWalk, type Walked } from "./walk.ts";

/** @param nowMs milliseconds that only go forward. */
export function createListing<Search>(words: ListWords<Search>, nowMs: () => number = () => performance.now()) {
  const { run } = words;
  const statements = { ...createListStatements(words), ...createFailedStatements(words) };
  const { boundsOf, walk, searchesIn } = createWalk(words, nowMs);

  async function list(query: AlertQuery, mostMs: number): Promise<Walked & { alerts: AlertSummary[] }> {
    const rows: ShownRow[] = [];
    const walked = await walk(query, mostMs, async (look) => {
      rows.push(...(await run<ShownRow>(statements.toPage(look, query.limit - rows.length))));
      return rows.length >= query.limit ? "enough" : "more";
    });
    return { ...walked, alerts: rows.map(toShown(query)) };
  }

  return {
    listAlerts: async (query) => (await list(query, Number.POSITIVE_INFINITY)).alerts,

    async listAlertsWithin(query, mostMs) {
      const { alerts, stoppedBelow, looked } = await list(query, mostMs);
      if (stoppedBelow === undefined) return { alerts };
      const [first] = await run<{ received_at: number }>(statements.toReceivedAt(stoppedBelow));
      return { alerts, stopped: { position: toPosition(stoppedBelow), receivedAt: first?.received_at ?? 0, looked } };
    },

    async countMatches(query, mostMs) {
      let count = 0;
      const { stoppedBelow } = await walk(query, mostMs, async (look) => {
        const [counted] = await run<{ count: number }>(statements.toMatchCount(look, query.limit - count));
        count += counted?.count ?? 0;
        return count >= query.limit ? "enough" : "more";
      });
      return { count, isMore: count >= query.limit || stoppedBelow !== undefined };
    },

    async listFailed(query, { limit, after }) {
      const found: FailedDelivery[] = [];
      const bounds = await boundsOf(query);
      // The alert of the last delivery may have further ones.
      const [below = bounds.below] = after === undefined ? [] : fromPosition(after).map((alertSeq) => alertSeq + 1);
      bounds.below = Math.min(bounds.below, below);
      for await (const [search, window] of searchesIn(query, bounds)) {
        if (found.length >= limit) break;
        const page = { limit: limit - found.length, after };
        found.push(...(await run<FailedRow>(statements.toFailed(query, search, window, page))).map(toFailedDelivery));
      }
      return found;
    },

    async countFailed(query) {
      const counts = new Map<string, FailedCount>();
      for await (const [search, window] of searchesIn(query, await boundsOf(query)))
        for (const count of await run<FailedCount>(statements.toFailedCount(query, search, window))) {
          const known = counts.get(count.destination);
          counts.set(count.destination, known === undefined ? count : sumOf(known, count));
        }
      return [...counts.values()];
    },
  } satisfies Partial<AlertLog>;
}

/** Adds the counts of two parts of the log, which share no alert. */
function sumOf(one: FailedCount, other: FailedCount): FailedCount {
  return {
    destination: one.destination,
    deliveries: one.deliveries + other.deliveries,
    alerts: one.alerts + other.alerts,
    ...(one.heldBack !== undefined && { heldBack: one.heldBack + (other.heldBack ?? 0) }),
    oldestAt: Math.min(one.oldestAt, other.oldestAt),
    newestAt: Math.max(one.newestAt, other.newestAt),
  };
}
