import { type DeliveryState, deliveryStates } from "../../core/delivery.ts";
import type { DestinationCounts, Dispatch } from "../../core/ports/dispatch.ts";
import type { Dialect, InTx } from "../tx.ts";

/** Deliveries that are read to find how long the oldest waits. All 100,000 would take a tenth of a second. */
const mostLookedAt = 500;
const ofDestination = "destination = :destination";
const isUnsent = "resent_by IS NULL AND state IN ('failed', 'expired', 'held')";
const isResend = "purpose = 'bulk_resend' AND resent_by IS NULL";
const unfinished = ["queued", "waiting", "sending", "held"] as const satisfies DeliveryState[];
const anyState = deliveryStates.map((state) => `'${state}'`).join(", ");

const deliveriesBy = (sql: Dialect) => (index: string) =>
  `FROM deliveries ${sql.indexedBy(index)} WHERE ${ofDestination}`;

/** The waiting deliveries of each destination, and the outcomes of its messages. */
export function createDestinationCounts(sql: Dialect) {
  const list = sql.statement(
    {},
    {
      sqlite: "SELECT destination, state, count FROM delivery_counts WHERE count > 0",
      // Each change of a count is a row of its own, so that no two relays wait for one row.
      postgres: `SELECT name AS destination, part AS state, sum(count) AS count FROM tallies WHERE kind = 'delivery'
        GROUP BY name, part HAVING sum(count) > 0`,
    },
    (row: { destination: string; state: DeliveryState; count: number }) => row,
  );
  const deliveries = deliveriesBy(sql);
  const waiting = [
    ...[false, true].map(
      (isBulk) =>
        `${deliveries("deliveries_due")} AND due_at IS NOT NULL AND ${sql.isBulk(isBulk)} ORDER BY due_at, seq`,
    ),
    `${deliveries("deliveries_held")} AND state = 'held' AND due_at IS NOT NULL ORDER BY due_at, seq`,
    ...["queued", "waiting"].map(
      (state) => `${deliveries("deliveries_by_destination_state")} AND state = '${state}' ORDER BY alert_seq`,
    ),
  ].map((rows) => `SELECT * FROM (SELECT created_at ${rows} LIMIT ${mostLookedAt}) AS some_waiting`);
  const findWaiting = sql.statement(
    { destination: "text" },
    `SELECT (SELECT min(created_at) FROM (${waiting.join(" UNION ALL ")}) AS all_waiting) AS oldest,
       (SELECT min(created_at) ${deliveries("deliveries_resends")} AND state IN ('queued', 'waiting', 'sending') AND ${isResend}) AS since`,
    (row: { oldest: number | null; since: number | null }) => row,
  );
  const countResends = sql.statement(
    { destination: "text", since: "int8" },
    `SELECT count(*) AS made, count(CASE WHEN state IN ('sent', 'digested') THEN 1 END) AS arrived
     ${deliveries("deliveries_resends")} AND state IN (${anyState}) AND created_at >= :since AND ${isResend}`,
    (row: { made: number; arrived: number }) => row,
  );
  const findHeld = sql.statement(
    { destination: "text" },
    `SELECT count(*) AS count, min(due_at) AS until ${deliveries("deliveries_held")} AND state = 'held' AND due_at IS NOT NULL
       AND updates <> 'summary' AND group_name IS NULL`,
    (row: { count: number; until: number | null }) => row,
  );
  const findUnsent = sql.statement(
    { destination: "text", state: "text" },
    `SELECT coalesce(finished_at, created_at) AS at ${deliveries("deliveries_unsent_by_destination")} AND state = :state AND ${isUnsent}
     ORDER BY alert_seq DESC LIMIT 1`,
    ({ at }: { at: number }) => at,
  );

  return {
    async countByDestination(tx) {
      const counted = await tx.run(list, {});
      const found = new Map(
        counted.map(({ destination }): [string, DestinationCounts] => [destination, { destination, counts: {} }]),
      );
      const entryOf = ({ destination }: { destination: string }) => found.get(destination) as DestinationCounts;
      for (const row of counted) entryOf(row).counts[row.state] = row.count;
      const held = counted.filter(({ state }) => state === "held");
      const unsent = counted.filter(({ state }) => state === "failed" || state === "expired");
      const busy = [...found.values()].filter(({ counts }) => unfinished.some((state) => counts[state] !== undefined));
      const [waiting, heldRows, unsentAt] = await Promise.all([
        tx.look(findWaiting, busy),
        tx.look(findHeld, held),
        tx.look(findUnsent, unsent),
      ]);
      busy.forEach((entry, index) => {
        entry.oldestWaitingAt = waiting[index]?.[0]?.oldest ?? undefined;
      });
      held.forEach((row, index) => {
        const { count = 0, until } = heldRows[index]?.[0] ?? {};
        if (until) entryOf(row).heldByQuietHours = { count, until };
      });
      unsent.forEach((row, index) => {
        const entry = entryOf(row);
        // The delivery may have been resent or removed since it was counted.
        const [at] = unsentAt[index] ?? [];
        if (at !== undefined) entry.lastFailedAt = Math.max(entry.lastFailedAt ?? at, at);
      });
      const resending = busy.flatMap(({ destination }, index) => {
        const since = waiting[index]?.[0]?.since ?? undefined;
        return since === undefined ? [] : { destination, since };
      });
      const resends = await tx.look(countResends, resending);
      resending.forEach(({ destination, since }, index) => {
        const { made = 0, arrived = 0 } = resends[index]?.[0] ?? {};
        entryOf({ destination }).resending = { made, arrived, since };
      });
      return [...found.values()];
    },
  } satisfies InTx<Dispatch, "countByDestination">;
}

export function createNoticeCounts(sql: Dialect) {
  const deliveries = deliveriesBy(sql);
  const countOfNotices = sql.statement(
    { destination: "text" },
    `SELECT
       (SELECT count(*) ${deliveries("deliveries_urgent")} AND due_at IS NOT NULL AND purpose IN ('resend', 'test', 'notice')
          AND purpose = 'notice') AS waiting,
       (SELECT count(*) ${deliveries("deliveries_unsent_by_destination")} AND ${isUnsent} AND state <> 'held'
          AND purpose = 'notice') AS failed`,
    (row: { waiting: number; failed: number }) => row,
  );

  return {
    countNotices: async (tx, destination) =>
      (await tx.run(countOfNotices, { destination }))[0] ?? { waiting: 0, failed: 0 },
  } satisfies InTx<Dispatch, "countNotices">;
}
