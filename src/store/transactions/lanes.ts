import type { DestinationStatus } from "../../core/destination-status.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence, LaneMemory, LaneRequest, Lanes } from "../../core/ports/lanes.ts";
import { rowOf, toPace } from "../rows.ts";
import { columnNames, type Row } from "../tables.ts";
import type { Dialect, InTx, Tx } from "../tx.ts";

/** The calling process, among several relays of one database. */
export interface Self {
  /** Lanes of an earlier process of this name are free for the next one. */
  relayName: string;
  /** ISO 8601, by the database's clock. */
  startedAt: string;
}

/**
 * The condition of a statement that writes for a lane. A relay that acquires the group takes its row FOR UPDATE. It waits until
 * all writes under the old fence are committed, and later writes find another fence. Renewing a lease disturbs neither.
 */
export const underFence = ({ forKeyShare }: Dialect) => ({
  given: { group: "text", fence: "int8" } as const,
  text: `EXISTS (SELECT 1 FROM lanes WHERE lane_group = :group AND fence = :fence ${forKeyShare})`,
});

export type Fences = ReturnType<typeof createFences>;

/** Looks at lanes. A lane that is held stays held until the transaction has ended. */
export function createFences(sql: Dialect) {
  const find = sql.statement(
    { group: "text", fence: "int8" },
    `SELECT fence FROM lanes WHERE lane_group = :group AND fence = :fence ${sql.forKeyShare}`,
  );
  return {
    isHeld: async (tx: Tx, lane: LaneFence): Promise<boolean> => (await tx.run(find, lane)).length > 0,
    async listHeldLanes(tx: Tx, lanes: readonly LaneFence[]): Promise<LaneFence[]> {
      const held = await tx.look(find, lanes);
      return lanes.filter((_, index) => held[index]?.length === 1);
    },
  };
}

const paceColumns = columnNames("paces");

/**
 * A lane is free if nobody has it, if its lease is over by the database's clock, if the asker has it (the answer was lost), or if
 * an earlier process of this name has it. When two relays wrongly have one name, the younger takes the lane once.
 */
const isFree = `(lanes.lease_until IS NULL OR lanes.lease_until <= clock_timestamp() OR lanes.owner = :owner
  OR (lanes.relay = :relay AND lanes.granted_at < :started_at::timestamptz))`;

const prepareGrant = (sql: Dialect) =>
  sql.statement(
    {
      ...({ groups: "text[]", served_by: "text[]", served: "text[]", owner: "text", relay: "text" } as const),
      ...({ started_at: "text", lease_ms: "int8", most: "int8" } as const),
    },
    {
      // The largest fence stays in this table, so a larger one is always new.
      sqlite: `INSERT INTO lanes (lane_group, fence)
        SELECT value, (SELECT coalesce(max(fence), 0) FROM lanes) + key + 1 FROM json_each(:groups) WHERE true LIMIT :most
        ON CONFLICT (lane_group) DO UPDATE SET fence = excluded.fence RETURNING lane_group, fence`,
      // Setting the key, even to its own value, locks the row as FOR UPDATE does. It waits for every write under the old fence,
      // which holds the row with FOR KEY SHARE. None of them commits once the new holder has begun.
      postgres: `INSERT INTO lanes (lane_group, fence, owner, relay, granted_at, lease_until, destinations)
        SELECT lane_group, nextval('lane_fences'), :owner, :relay, clock_timestamp(),
          clock_timestamp() + :lease_ms * interval '1 millisecond',
          ARRAY(SELECT name FROM unnest(:served_by, :served) AS served (served_by, name) WHERE served_by = lane_group)
        FROM (SELECT DISTINCT lane_group FROM unnest(:groups) AS lane_group ORDER BY 1) AS asked
        WHERE NOT EXISTS (SELECT 1 FROM lanes WHERE lanes.lane_group = asked.lane_group AND NOT ${isFree})
        LIMIT :most
        ON CONFLICT (lane_group) DO UPDATE SET lane_group = excluded.lane_group, fence = excluded.fence,
          owner = excluded.owner, relay = excluded.relay, granted_at = excluded.granted_at, lease_until = excluded.lease_until,
          destinations = excluded.destinations
        WHERE ${isFree} RETURNING lane_group, fence`,
    },
    ({ lane_group, fence }: Pick<Row<"lanes">, "lane_group" | "fence">): LaneFence => ({ group: lane_group, fence }),
  );

/** Which relay holds which lane group, and the group's memory. On SQLite one process gets all groups, without leases. */
export function createLanes(sql: Dialect, { relayName, startedAt }: Self) {
  const { readMemories, ...memory } = createLaneMemory(sql);
  const grant = prepareGrant(sql);
  const toGroup = ({ lane_group }: { lane_group: string }) => lane_group;
  const givenLanes = sql.rowsOf({ lane_group: "groups", fence: "fences" });
  const lanesGiven = { groups: "text[]", fences: "int8[]" } as const;
  const renew = sql.statement(
    { ...lanesGiven, lease_ms: "int8" },
    {
      // Nothing is written: an idle relay leaves the disk alone.
      sqlite: `SELECT lane_group FROM ${givenLanes} AS given JOIN lanes USING (lane_group, fence)`,
      postgres: `WITH held AS (
          SELECT lane_group FROM lanes JOIN ${givenLanes} AS given USING (lane_group, fence)
          ORDER BY lane_group FOR NO KEY UPDATE OF lanes)
        UPDATE lanes SET lease_until = clock_timestamp() + :lease_ms * interval '1 millisecond'
        FROM held WHERE lanes.lane_group = held.lane_group RETURNING lanes.lane_group`,
    },
    toGroup,
  );
  const release = sql.statement(
    lanesGiven,
    {
      sqlite: `UPDATE lanes SET fence = (SELECT max(fence) FROM lanes) + given.place FROM ${givenLanes} AS given
        WHERE lanes.lane_group = given.lane_group AND lanes.fence = given.fence RETURNING lanes.lane_group`,
      postgres: `WITH held AS (
          SELECT lane_group FROM lanes JOIN ${givenLanes} AS given USING (lane_group, fence)
          ORDER BY lane_group FOR UPDATE OF lanes)
        UPDATE lanes SET fence = nextval('lane_fences'), owner = NULL, relay = NULL, granted_at = NULL, lease_until = NULL
        FROM held WHERE lanes.lane_group = held.lane_group RETURNING lanes.lane_group`,
    },
    toGroup,
  );
  const toColumns = (lanes: readonly LaneFence[]) => ({
    groups: lanes.map(({ group }) => group),
    fences: lanes.map(({ fence }) => fence),
  });

  return {
    async acquireLanes(tx, owner, requests, leaseMs, most = requests.length) {
      const served = requests.flatMap(({ group, statuses }) =>
        statuses.flatMap(({ kind, name }) => (kind === "destination" ? { group, name } : [])),
      );
      const granted = await tx.run(grant, {
        groups: requests.map(({ group }) => group),
        served_by: served.map(({ group }) => group),
        served: served.map(({ name }) => name),
        owner,
        relay: relayName,
        started_at: startedAt,
        lease_ms: leaseMs,
        most,
      });
      const fences = new Map(granted.map(({ group, fence }) => [group, fence]));
      const taken = requests.filter(({ group }) => fences.has(group));
      const memoryOf = await readMemories(tx, taken);
      return taken.map((request) => ({
        group: request.group,
        fence: fences.get(request.group) as number,
        memory: memoryOf(request),
      }));
    },

    async renewLanes(tx, lanes, leaseMs) {
      if (lanes.length === 0) return [];
      const kept = new Set(await tx.run(renew, { ...toColumns(lanes), lease_ms: leaseMs }));
      return lanes.map(({ group }) => group).filter((group) => kept.has(group));
    },

    async releaseLanes(tx, lanes) {
      const freed = await tx.run(release, toColumns(lanes));
      if (freed.length > 0 && sql.isShared) tx.notes.lanes = true;
    },

    ...memory,
  } satisfies InTx<Lanes> & typeof memory;
}

/** The paces and statuses that go from one holder of a lane group to the next. */
function createLaneMemory(sql: Dialect) {
  const readPaces = sql.statement(
    { keys: "text[]" },
    `SELECT key, sent_at, parked_until, parked_why FROM paces WHERE key ${sql.isOneOf(":keys")}`,
    toPace,
  );
  const toStatus = ({ status }: { status: string }) => JSON.parse(status) as DestinationStatus;
  const readStatus = sql.statement(
    { kind: "text", name: "text" },
    "SELECT status FROM destination_statuses WHERE kind = :kind AND name = :name",
    toStatus,
  );
  const loadStatuses = sql.statement({}, "SELECT status FROM destination_statuses", toStatus);
  const savePaces = sql.insertion("paces", { conflict: "replace", where: underFence(sql) });
  const saveStatus = sql.insertion("destination_statuses", {
    conflict: "replace",
    where: underFence(sql),
  });

  /** @returns the memory of each requested group */
  async function readMemories(tx: Tx, requests: readonly LaneRequest[]) {
    const keys = requests.flatMap(({ statuses }) => statuses);
    const [paces, statuses] = await Promise.all([
      tx.run(readPaces, { keys: requests.flatMap((request) => request.paces) }),
      tx.look(readStatus, keys),
    ]);
    const paceOf = new Map(paces.map((pace) => [pace.key, pace]));
    const statusOf = new Map(keys.map((key, index) => [key, statuses[index] ?? []]));
    return (request: LaneRequest): LaneMemory => ({
      paces: request.paces.flatMap((key) => paceOf.get(key) ?? []),
      statuses: request.statuses.flatMap((key) => statusOf.get(key) ?? []),
    });
  }

  return {
    readMemories,

    async savePaces(tx, { group, fence }, paces) {
      if (paces.length === 0) return "done";
      const last = new Map(paces.map((pace) => [pace.key, pace]));
      const rows = [...last.values()].map((pace) => ({
        ...rowOf(pace, paceColumns),
        sent_at: JSON.stringify(pace.sentAt),
      }));
      return (await tx.insert(savePaces, rows, { group, fence })) > 0 ? "done" : "lost";
    },

    loadStatuses: async (tx) => tx.run(loadStatuses, {}),

    async saveStatus(tx, { group, fence }, status) {
      const row = { kind: status.kind, name: status.name, status: JSON.stringify(status) };
      return (await tx.insert(saveStatus, [row], { group, fence })) > 0 ? "done" : "lost";
    },
  } satisfies InTx<Dispatch, "savePaces" | "loadStatuses" | "saveStatus"> & { readMemories: typeof readMemories };
}
