import { type Severity, severities } from "../../core/alert.ts";
import { timeOfId } from "../../core/id.ts";
import type { AlertLog, StepCount, TimeSteps } from "../../core/ports/alert-log.ts";
import { problemsOfSteps } from "./list-statement.ts";
import type { OneRow, Reading } from "./reading.ts";
import { firstSince, lastUntil, sinceId, untilId } from "./times.ts";

/** By then what came in a step has been routed, but for what cannot be. */
const settledAfterMs = 10 * 60_000;
/** Steps of all presets of the page together, a few times. */
const mostKept = 1_000;
/** Steps that are counted in the first statement; those that are kept come along. */
const firstAtOnce = 4;
/** Changes since the last look that are read; behind more of them all is counted anew. */
const mostChanges = 5_000;

type Counted = Omit<StepCount, "problems">;

/** What is asked for of the steps, see `TimeSteps`. */
interface Span extends Pick<TimeSteps, "problemsOf"> {
  from: number;
  below: number;
}

/** What went wrong in a step, for as long as none of its alerts has changed. */
interface KeptProblems {
  problems: number;
  /** Its alerts: from the first `seq` on, and below the second. */
  low: number;
  high: number;
  /** It has all changes of transactions below this one. */
  upTo: bigint;
}

interface Ends {
  settledAt: number;
  keptFrom: number;
  /** All changes of transactions below this one can be seen. */
  upTo: bigint;
}

/**
 * Counts alerts step by step along the index of severities, which has their times as well: a step of time is a range of
 * positions, a little wider than the time by as much as clocks may be apart. Steps are counted together, more at a time the
 * longer it goes on. A past step is counted once and kept, and what went wrong in it until one of its alerts changes; those
 * that a removal may have reached are not.
 *
 * @param nowMs milliseconds that only go forward.
 */
export function createOverTime(
  read: Pick<Reading, "query" | "row">,
  nowMs: () => number = () => performance.now(),
): AlertLog["countOverTime"] {
  const kept = new Map<string, Counted>();
  const keptProblems = new Map<string, KeptProblems>();
  let knownLate = "";

  function keep<T>(map: Map<string, T>, key: string, value: T): void {
    map.set(key, value);
    if (map.size > mostKept) map.delete(map.keys().next().value as string);
  }

  /** When the newest came, and the time from which on nothing has been removed. Forgets what has changed since the last look. */
  async function readEnds(): Promise<Ends> {
    let since: bigint | undefined;
    let high = 0;
    for (const one of keptProblems.values()) {
      if (since === undefined || one.upTo < since) since = one.upTo;
      high = Math.max(high, one.high);
    }
    const found = await read.row(endsSince(since ?? lastTransaction, high));
    const { newest, oldest, complete, changes, changed, late, late_until } = found;
    const upTo = BigInt(complete);
    const settledAt = (newest ?? 0) - settledAfterMs;
    // While alerts of any time may still come, and once they have, nothing is known of the past.
    const isLate = late_until !== null && timeOfId(late_until) > settledAt;
    if (isLate || late !== knownLate) {
      kept.clear();
      keptProblems.clear();
    }
    knownLate = late;
    for (const [key, one] of keptProblems) {
      // Kept since this was asked: what changed before was not looked for.
      if (since === undefined || one.upTo < since) continue;
      if (changes >= mostChanges || changed?.some((seq) => seq >= one.low && seq < one.high)) keptProblems.delete(key);
      else if (one.upTo < upTo) one.upTo = upTo;
    }
    return { settledAt, keptFrom: (oldest ?? 0) + settledAfterMs, upTo };
  }

  /** @param steps where they begin, the last one first. */
  async function countSteps(steps: number[], stepMs: number, asked: Span): Promise<Map<number, Counted>> {
    const counted = new Map(steps.map((at) => [at, emptyStep(at)]));
    if (steps.length === 0) return counted;
    const runs = runsOf(steps, stepMs, asked);
    const { rows } = await read.query<{ at: number; severity: Severity; count: number }>(
      `WITH runs AS MATERIALIZED (SELECT r.since, r.until, ${firstSince("r.first_id")} AS low, ${lastUntil("r.last_id")} AS high
         FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[]) r (since, until, first_id, last_id))
       SELECT $1::bigint + (a.received_at - $1) / $2 * $2 AS at, a.severity, count(*) AS count FROM runs CROSS JOIN LATERAL (
         SELECT a.received_at, a.severity FROM alerts a
         WHERE a.severity = ANY($7::text[]) AND a.severity IS NOT NULL AND a.seq >= runs.low AND a.seq <= runs.high
           AND a.received_at >= runs.since AND a.received_at < runs.until OFFSET 0) a
       GROUP BY 1, 2`,
      [
        Math.min(...steps),
        stepMs,
        runs.map(({ since }) => since),
        runs.map(({ until }) => until),
        runs.map(({ since }) => sinceId(since)),
        runs.map(({ until }) => untilId(until)),
        severities,
      ],
      "count_steps",
    );
    for (const { at, severity, count } of rows) {
      const step = counted.get(at);
      if (step !== undefined) step[severity] = count;
    }
    return counted;
  }

  async function countProblems(
    steps: number[],
    stepMs: number,
    { from, below, problemsOf }: Span,
  ): Promise<Map<number, Omit<KeptProblems, "upTo">>> {
    if (steps.length === 0) return new Map();
    const since = steps.map((at) => Math.max(at, from));
    const until = steps.map((at) => Math.min(at + stepMs, below));
    const { rows } = await read.query<{ at: number } & Omit<KeptProblems, "upTo">>(
      `WITH steps AS MATERIALIZED (SELECT s.at, s.since, s.until, ${firstSince("s.first_id")} AS low,
           ${lastUntil("s.last_id")} + 1 AS high
         FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) s (at, since, until, first_id, last_id))
       ${problemsOfSteps}`,
      [problemsOf ?? null, steps, since, until, since.map((at) => sinceId(at)), until.map((at) => untilId(at))],
      "problems_of_steps",
    );
    return new Map(rows.map(({ at, ...found }) => [at, found]));
  }

  return async ({ fromAt, stepMs, steps, receivedFrom = fromAt, receivedTo, problemsOf }, mostMs) => {
    const endsAt = nowMs() + mostMs;
    const asked: Span = { from: receivedFrom, below: (receivedTo ?? fromAt + steps * stepMs - 1) + 1, problemsOf };
    const { settledAt, keptFrom, upTo } = await readEnds();
    const isWhole = (at: number) => asked.from <= at && asked.below >= at + stepMs;
    const isSettled = (at: number) => isWhole(at) && at + stepMs <= settledAt && at > keptFrom;
    const keyOf = (at: number) => `${at} ${stepMs}`;
    const problemsKeyOf = (at: number) => `${at} ${stepMs} ${problemsOf ?? ""}`;
    const found: StepCount[] = [];
    for (let [next, most] = [steps - 1, firstAtOnce]; next >= 0; most *= 4) {
      if (found.length > 0 && nowMs() > endsAt) return { steps: found, isMore: true };
      const some: { at: number; counted?: Counted; problems?: number }[] = [];
      for (let missing = 0; next >= 0; next -= 1) {
        const at = fromAt + next * stepMs;
        const counted = isSettled(at) ? kept.get(keyOf(at)) : undefined;
        const problems = isSettled(at) ? keptProblems.get(problemsKeyOf(at))?.problems : undefined;
        if (counted === undefined || problems === undefined) missing += 1;
        if (missing > most) break;
        some.push({ at, counted, problems });
      }
      const [counts, wrong] = await Promise.all([
        countSteps(
          some.filter((one) => one.counted === undefined).map(({ at }) => at),
          stepMs,
          asked,
        ),
        countProblems(
          some.filter((one) => one.problems === undefined).map(({ at }) => at),
          stepMs,
          asked,
        ),
      ]);
      for (const { at, counted, problems } of some) {
        const step = counted ?? counts.get(at) ?? emptyStep(at);
        const now = wrong.get(at);
        if (isSettled(at) && counted === undefined) keep(kept, keyOf(at), step);
        if (isSettled(at) && now !== undefined) keep(keptProblems, problemsKeyOf(at), { ...now, upTo });
        found.push({ ...step, problems: problems ?? now?.problems ?? 0 });
      }
    }
    return { steps: found, isMore: false };
  };
}

/** Above all numbers of transactions. */
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

/** @param high of alerts from this `seq` on it is not asked whether they have changed. */
const endsSince = (since: bigint, high: number): OneRow<EndsRow> => ({
  name: "ends",
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

/** Stretches of time of steps that follow each other: steps between them have been counted already. */
function runsOf(steps: readonly number[], stepMs: number, { from, below }: Span): { since: number; until: number }[] {
  const runs: { since: number; until: number }[] = [];
  for (const at of steps) {
    const last = runs.at(-1);
    if (last !== undefined && last.since === at + stepMs) last.since = at;
    else runs.push({ since: at, until: at + stepMs });
  }
  return runs.map(({ since, until }) => ({ since: Math.max(since, from), until: Math.min(until, below) }));
}

const emptyStep = (at: number): Counted =>
  ({ at, ...Object.fromEntries(severities.map((severity) => [severity, 0])) }) as Counted;
