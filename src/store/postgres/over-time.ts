import { severities } from "../../core/alert.ts";
import type { AlertLog, StepCount, TimeSteps } from "../../core/ports/alert-log.ts";
import type { Sql } from "./database.ts";
import { firstSince, lastUntil, problemsOfSteps, sinceId, untilId } from "./list-statement.ts";

/** By then what came in a step has been routed, but for what cannot be. */
const settledAfterMs = 10 * 60_000;
/** Steps of all presets of the page together, a few times. */
const mostKept = 1_000;
/** Steps that are counted in the first statement; those that are kept come along. */
const firstAtOnce = 4;

type Counted = Omit<StepCount, "problems">;

/** What is asked for of the steps, see `TimeSteps`. */
interface Span extends Pick<TimeSteps, "problemsOf"> {
  from: number;
  below: number;
}

/**
 * Counts alerts step by step along the index of severities, which has their times as well: a step of time is a range of
 * positions, a little wider than the time by as much as clocks may be apart. Steps are counted together, more at a time the
 * longer it goes on. A past step is counted once and kept; those that a removal may have reached are not.
 *
 * @param nowMs milliseconds that only go forward.
 */
export function createOverTime(read: Sql, nowMs: () => number = () => performance.now()): AlertLog["countOverTime"] {
  const kept = new Map<string, Counted>();

  /** When the newest came, and the time from which on nothing has been removed. */
  async function readEnds(): Promise<{ settledAt: number; keptFrom: number }> {
    const { rows } = await read.query<{ newest: number | null; oldest: number | null }>(
      `SELECT (SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1) AS newest,
         (SELECT received_at FROM alerts ORDER BY seq LIMIT 1) AS oldest`,
      [],
      "ends_of_log",
    );
    return {
      settledAt: (rows[0]?.newest ?? 0) - settledAfterMs,
      keptFrom: (rows[0]?.oldest ?? 0) + settledAfterMs,
    };
  }

  /** @param steps where they begin. */
  async function countSteps(steps: number[], stepMs: number, asked: Span): Promise<Map<number, Counted>> {
    const counted = new Map(steps.map((at) => [at, emptyStep(at)]));
    if (steps.length === 0) return counted;
    const origin = Math.min(...steps);
    const [first, last] = [Math.max(origin, asked.from), Math.min(Math.max(...steps) + stepMs, asked.below)];
    const { rows } = await read.query<{
      at: number;
      severity: Counted extends never ? never : keyof Counted;
      count: number;
    }>(
      `SELECT $7::bigint + (a.received_at - $7) / $3 * $3 AS at, a.severity, count(*) AS count FROM alerts a
       WHERE a.severity = ANY($4::text[]) AND a.severity IS NOT NULL
         AND a.seq >= ${firstSince("$5")} AND a.seq <= ${lastUntil("$6")} AND a.received_at >= $1 AND a.received_at < $2::bigint
       GROUP BY 1, 2`,
      [first, last, stepMs, severities, sinceId(first), untilId(last), origin],
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
  ): Promise<Map<number, number>> {
    const since = steps.map((at) => Math.max(at, from));
    const until = steps.map((at) => Math.min(at + stepMs, below));
    const { rows } = await read.query<{ at: number; problems: number }>(
      `WITH steps AS MATERIALIZED (SELECT s.at, s.since, s.until, ${firstSince("s.first_id")} AS low,
           ${lastUntil("s.last_id")} + 1 AS high
         FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) s (at, since, until, first_id, last_id))
       ${problemsOfSteps}`,
      [problemsOf ?? null, steps, since, until, since.map((at) => sinceId(at)), until.map((at) => untilId(at))],
      "problems_of_steps",
    );
    return new Map(rows.map(({ at, problems }) => [at, problems]));
  }

  return async ({ fromAt, stepMs, steps, receivedFrom = fromAt, receivedTo, problemsOf }, mostMs) => {
    const endsAt = nowMs() + mostMs;
    const asked: Span = { from: receivedFrom, below: (receivedTo ?? fromAt + steps * stepMs - 1) + 1, problemsOf };
    const { settledAt, keptFrom } = await readEnds();
    const isWhole = (at: number) => asked.from <= at && asked.below >= at + stepMs;
    const isSettled = (at: number) => isWhole(at) && at + stepMs <= settledAt && at > keptFrom;
    const found: StepCount[] = [];
    for (let [next, most] = [steps - 1, firstAtOnce]; next >= 0; most *= 4) {
      if (found.length > 0 && nowMs() > endsAt) return { steps: found, isMore: true };
      const some: number[] = [];
      const missing: number[] = [];
      for (; next >= 0; next -= 1) {
        const at = fromAt + next * stepMs;
        const isKept = isSettled(at) && kept.has(`${at} ${stepMs}`);
        if (!isKept && missing.length >= most) break;
        if (!isKept) missing.push(at);
        some.push(at);
      }
      const [counted, problems] = await Promise.all([
        countSteps(missing, stepMs, asked),
        countProblems(some, stepMs, asked),
      ]);
      for (const at of some) {
        const key = `${at} ${stepMs}`;
        const step = counted.get(at) ?? kept.get(key) ?? emptyStep(at);
        if (isSettled(at)) kept.set(key, step);
        if (kept.size > mostKept) kept.delete(kept.keys().next().value as string);
        found.push({ ...step, problems: problems.get(at) ?? 0 });
      }
    }
    return { steps: found, isMore: false };
  };
}

const emptyStep = (at: number): Counted =>
  ({ at, ...Object.fromEntries(severities.map((severity) => [severity, 0])) }) as Counted;
