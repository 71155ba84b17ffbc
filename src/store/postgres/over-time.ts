import { type Severity, severities } from "../../core/alert.ts";
import { timeOfId } from "../../core/id.ts";
import { RecentMap } from "../../ground/recent-map.ts";
import { problemsBetween } from "../list-filters.ts";
import { mostCounted } from "../listing/list-statements.ts";
import { mostKept, type StepCounter, settledAfterMs } from "../listing/over-time.ts";
import type { OneRow, Reading } from "./reading.ts";
import { firstSince, lastUntil, sinceId, untilId } from "./times.ts";
import { postgresDialect } from "./tx.ts";

/** Changes since the last look that are read. With more, everything is counted anew. */
const mostChanges = 5_000;

/** The problems of a step, kept as long as none of its alerts changes. */
interface KeptProblems {
  problems: number;
  /** The alerts of the step: from the first `seq` on, and below the second. */
  low: number;
  high: number;
  /** A transaction: the count has all changes of those before it. */
  upTo: bigint;
}

/** Counts several steps in one statement, each a little wider than its time: the clocks of relays may differ. */
export function createStepCounter(read: Pick<Reading, "query" | "row">): StepCounter {
  const kept = new RecentMap<string, KeptProblems>(mostKept);
  let knownLate = "";
  /** All changes of transactions below this one are visible. */
  let upTo = 0n;

  /** Forgets the steps that have changed since the last look. */
  function forgetChanged({ changes, changed }: EndsRow, since: bigint): void {
    for (const [key, one] of kept) {
      // The step was kept after this look was sent, so the look does not cover its changes.
      if (one.upTo < since) continue;
      if (changes >= mostChanges || changed?.some((seq) => seq >= one.low && seq < one.high)) kept.delete(key);
      else if (one.upTo < upTo) one.upTo = upTo;
    }
  }

  return {
    // Large enough to include the steps whose counts are kept.
    first: 4,
    growth: 4,

    async readEnds() {
      let since = lastTransaction;
      let high = 0;
      for (const one of kept.values()) {
        if (one.upTo < since) since = one.upTo;
        high = Math.max(high, one.high);
      }
      const found = await read.row(endsSince(since, high));
      const { newest, oldest, late, late_until } = found;
      upTo = BigInt(found.complete);
      // While late alerts may come, and after they have come, the kept counts of the past are wrong.
      const isPastOther =
        late !== knownLate || (late_until !== null && timeOfId(late_until) > (newest ?? 0) - settledAfterMs);
      knownLate = late;
      if (isPastOther) kept.clear();
      forgetChanged(found, since);
      return { newest, oldest, isPastOther };
    },

    async countSteps(steps, { from, below, stepMs }) {
      const runs = runsOf(steps, stepMs).map(({ since, until }) => [Math.max(since, from), Math.min(until, below)]);
      const [since, until] = [runs.map(([at]) => at as number), runs.map(([, at]) => at as number)];
      const { rows } = await read.query<{ at: number; severity: Severity; count: number }>(
        `WITH runs AS MATERIALIZED (SELECT r.since, r.until, ${firstSince("r.first_id")} AS low, ${lastUntil("r.last_id")} AS high
           FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[]) r (since, until, first_id, last_id))
         SELECT $1::bigint + (a.received_at - $1) / $2 * $2 AS at, a.severity, count(*) AS count FROM runs CROSS JOIN LATERAL (
           SELECT a.received_at, a.severity FROM alerts a
           WHERE a.severity = ANY($7::text[]) AND a.severity IS NOT NULL AND a.seq >= runs.low AND a.seq <= runs.high
             AND a.received_at >= runs.since AND a.received_at < runs.until OFFSET 0) a
         GROUP BY 1, 2`,
        [Math.min(...steps), stepMs, since, until, since.map(sinceId), until.map(untilId), severities],
      );
      const counted = new Map<number, Partial<Record<Severity, number>>>();
      for (const { at, severity, count } of rows) counted.set(at, { ...counted.get(at), [severity]: count });
      return counted;
    },

    async countProblems(steps, { from, below, stepMs, problemsOf, isSettled }) {
      const seen = upTo;
      const keyOf = (at: number) => `${at} ${stepMs} ${problemsOf ?? ""}`;
      const known = steps.map((at) => [at, isSettled(at) ? kept.get(keyOf(at))?.problems : undefined] as const);
      const problems = new Map(known.flatMap(([at, count]) => (count === undefined ? [] : [[at, count]])));
      const missing = steps.filter((at) => !problems.has(at));
      if (missing.length === 0) return problems;
      const since = missing.map((at) => Math.max(at, from));
      const until = missing.map((at) => Math.min(at + stepMs, below));
      const { rows } = await read.query<{ at: number } & Omit<KeptProblems, "upTo">>(problemsOfSteps, [
        problemsOf ?? null,
        missing,
        since,
        until,
        since.map(sinceId),
        until.map(untilId),
      ]);
      for (const { at, ...found } of rows) {
        problems.set(at, found.problems);
        if (isSettled(at)) kept.set(keyOf(at), { ...found, upTo: seen });
      }
      return problems;
    },
  };
}

/** The alerts with problems in each step, up to a limit. `$1`: the severity, or null for all. */
const problemsOfSteps = `WITH steps AS MATERIALIZED (
    SELECT s.at, s.since, s.until, ${firstSince("s.first_id")} AS low, ${lastUntil("s.last_id")} + 1 AS high
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) s (at, since, until, first_id, last_id))
  SELECT s.at, s.low, s.high, (SELECT count(*) FROM (
    SELECT DISTINCT p.seq FROM (${problemsBetween(postgresDialect, "s.low", "s.high")}) p
      CROSS JOIN LATERAL (SELECT received_at, severity FROM alerts WHERE seq = p.seq OFFSET 0) a
    WHERE a.received_at >= s.since AND a.received_at < s.until AND ($1::text IS NULL OR a.severity = $1)
    LIMIT ${mostCounted}) x) AS problems FROM steps s`;

const lastTransaction = 2n ** 63n - 1n;

interface EndsRow {
  newest: number | null;
  oldest: number | null;
  complete: string;
  changes: number;
  changed: number[] | null;
  late: string;
  late_until: string | null;
}

/** @param high changes of alerts from this `seq` on are not looked for. */
const endsSince = (since: bigint, high: number): OneRow<EndsRow> => ({
  sql(add) {
    const place = `${add(String(since))}::xid8`;
    return `SELECT (SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1) AS newest,
       (SELECT received_at FROM alerts ORDER BY seq LIMIT 1) AS oldest,
       (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + change_base())::text AS complete, later.*, late.*
     FROM (SELECT count(*) AS changes, array_agg(seq) FILTER (WHERE seq < ${add(high)}) AS changed FROM (
       (SELECT seq FROM alert_changes WHERE changed_by >= ${place} ORDER BY changed_by, seq LIMIT ${mostChanges})
       UNION ALL (SELECT seq FROM alerts WHERE changed_by IS NOT NULL AND changed_by >= ${place}
         ORDER BY changed_by, seq LIMIT ${mostChanges})) changes) later,
       (SELECT concat_ws(' ', count(*), min(from_id), max(to_id)) AS late, max(to_id) AS late_until FROM late_spans) late`;
  },
});

/** The times of adjacent steps, joined. Steps between them have been counted already. */
function runsOf(steps: readonly number[], stepMs: number): { since: number; until: number }[] {
  const runs: { since: number; until: number }[] = [];
  for (const at of steps) {
    const last = runs.at(-1);
    if (last !== undefined && last.since === at + stepMs) last.since = at;
    else runs.push({ since: at, until: at + stepMs });
  }
  return runs;
}
