import type { RelayRequest, RelayRequests, RequestAnswer } from "../../core/ports/requests.ts";
import type { Database } from "./database.ts";

interface RequestRow {
  id: string;
  group: string;
  kind: string;
  args: string;
}

interface StateRow {
  answer: string | null;
  is_taken: boolean;
  is_held: boolean;
}

/** Requests between relays: rows that the holder of their lane group takes. */
export function createRequesting(database: Database): RelayRequests {
  return {
    putRequest: ({ id, group, kind, args }, takeWithinMs) =>
      database.transaction(async (tx) => {
        // Answers that nobody has fetched, since the asker has died.
        await tx.query(
          "DELETE FROM relay_requests WHERE expires_at < clock_timestamp() - interval '1 hour'",
          [],
          "forget_requests",
        );
        await tx.query(
          `INSERT INTO relay_requests (id, lane_group, kind, args, expires_at)
           VALUES ($1, $2, $3, $4, clock_timestamp() + $5::bigint * interval '1 millisecond')`,
          [id, group, kind, JSON.stringify(args ?? null), takeWithinMs],
          "put_request",
        );
        tx.notes.requests = true;
      }),

    async takeRequests(lanes) {
      if (lanes.length === 0) return [];
      const groups = lanes.map(({ group }) => group);
      // Asked every second: as long as nothing waits, no lane is locked and nothing is written.
      const { rows: waiting } = await database.single.query(
        `SELECT 1 FROM relay_requests WHERE fence IS NULL AND expires_at > clock_timestamp() AND lane_group = ANY($1::text[]) LIMIT 1`,
        [groups],
        "look_for_requests",
      );
      if (waiting.length === 0) return [];
      const { rows } = await database.single.query<RequestRow>(
        `WITH held AS MATERIALIZED (
           SELECT lane_group, fence FROM lanes JOIN unnest($1::text[], $2::bigint[]) AS mine (lane_group, fence) USING (lane_group, fence)
           WHERE lease_until > clock_timestamp() ORDER BY lane_group FOR KEY SHARE OF lanes),
         open AS MATERIALIZED (
           SELECT r.id, held.fence FROM relay_requests r JOIN held USING (lane_group)
           WHERE r.fence IS NULL AND r.expires_at > clock_timestamp() ORDER BY r.id FOR UPDATE OF r SKIP LOCKED)
         UPDATE relay_requests r SET fence = open.fence FROM open WHERE r.id = open.id
         RETURNING r.id, r.lane_group AS group, r.kind, r.args`,
        [groups, lanes.map(({ fence }) => fence)],
        "take_requests",
      );
      const requests = rows.map((row): RelayRequest => ({ ...row, args: JSON.parse(row.args) }));
      return requests.sort((a, b) => (a.id < b.id ? -1 : 1));
    },

    answerRequest: (id, answer) =>
      database.transaction(async (tx) => {
        await tx.query(
          "UPDATE relay_requests SET answer = $2 WHERE id = $1 AND answer IS NULL",
          [id, JSON.stringify(answer)],
          "answer_request",
        );
        tx.notes.requests = true;
      }),

    async lookAtRequest(id) {
      const { rows } = await database.single.query<StateRow>(
        `SELECT r.answer, r.fence IS NOT NULL AS is_taken, l.lane_group IS NOT NULL AS is_held
         FROM relay_requests r LEFT JOIN lanes l
           ON l.lane_group = r.lane_group AND l.fence = r.fence AND l.lease_until > clock_timestamp()
         WHERE r.id = $1`,
        [id],
        "look_at_request",
      );
      const [row] = rows;
      if (row === undefined) return "lost";
      if (row.answer !== null) return JSON.parse(row.answer) as RequestAnswer;
      if (!row.is_taken) return "waiting";
      return row.is_held ? "taken" : "lost";
    },

    async withdrawRequest(id) {
      const { rowCount } = await database.single.query(
        "DELETE FROM relay_requests WHERE id = $1 AND fence IS NULL",
        [id],
        "withdraw_request",
      );
      return rowCount > 0;
    },
  };
}
