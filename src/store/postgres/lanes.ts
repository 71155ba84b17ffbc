import type { DestinationStatus } from "../../core/destination-status.ts";
import type { LaneFence, LaneMemory, LaneRequest, Lanes } from "../../core/ports/lanes.ts";
import { toPace } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { Database, Transaction } from "./database.ts";

export interface LanesDeps {
  /** Of the relay: what a former process of this name held is free to the next one. */
  relayName: string;
  /** When this process began, by the database's clock: ISO 8601. */
  startedAt: string;
}

/**
 * What is free: nobody's, or past its lease by the database's clock, the asker's own (the answer to it was lost), or held by
 * the process of this name that ran before this one. Of two relays that wrongly have one name, the younger takes it once.
 */
const isFree = `(lanes.lease_until IS NULL OR lanes.lease_until <= clock_timestamp() OR lanes.owner = $2
  OR (lanes.relay = $3 AND lanes.granted_at < $4::timestamptz))`;

/** Who holds which lane group, by a lease that the database's clock decides. */
export function createLanes(database: Database, { relayName, startedAt }: LanesDeps): Lanes {
  return {
    async acquireLanes(owner, groups, leaseMs, most = groups.length) {
      const names = groups.map(({ group }) => group);
      const served = groups.flatMap(({ group, statuses }) =>
        statuses.flatMap(({ kind, name }) => (kind === "destination" ? { group, name } : [])),
      );
      return database.transaction(async (tx) => {
        // That the key is set, though to what it is, has the row locked as FOR UPDATE does: behind every write under the old fence
        // that is under way, which holds it with FOR KEY SHARE. None of them commits once the new holder has begun.
        const { rows } = await tx.query<{ lane_group: string; fence: number }>(
          `INSERT INTO lanes (lane_group, fence, owner, relay, granted_at, lease_until, destinations)
           SELECT lane_group, nextval('lane_fences'), $2, $3, clock_timestamp(),
             clock_timestamp() + $5::bigint * interval '1 millisecond',
             ARRAY(SELECT name FROM unnest($7::text[], $8::text[]) AS served (served_by, name) WHERE served_by = lane_group)
           FROM (SELECT DISTINCT lane_group FROM unnest($1::text[]) AS lane_group ORDER BY 1) AS asked
           WHERE NOT EXISTS (SELECT 1 FROM lanes WHERE lanes.lane_group = asked.lane_group AND NOT ${isFree})
           LIMIT $6
           ON CONFLICT (lane_group) DO UPDATE SET lane_group = excluded.lane_group, fence = excluded.fence,
             owner = excluded.owner, relay = excluded.relay, granted_at = excluded.granted_at, lease_until = excluded.lease_until,
             destinations = excluded.destinations
           WHERE ${isFree}
           RETURNING lane_group, fence`,
          [
            names,
            owner,
            relayName,
            startedAt,
            leaseMs,
            most,
            served.map(({ group }) => group),
            served.map(({ name }) => name),
          ],
          "grant_lanes",
        );
        const fences = new Map(rows.map((row) => [row.lane_group, row.fence]));
        const taken = groups.filter(({ group }) => fences.has(group));
        const memories = await readMemories(tx, taken);
        return taken.map((request, index) => ({
          group: request.group,
          fence: fences.get(request.group) as number,
          memory: memories[index] as LaneMemory,
        }));
      });
    },

    async renewLanes(lanes, leaseMs) {
      if (lanes.length === 0) return [];
      const { rows } = await database.single.query<{ lane_group: string }>(
        `WITH held AS (
           SELECT lane_group FROM lanes JOIN unnest($1::text[], $2::bigint[]) AS mine (lane_group, fence) USING (lane_group, fence)
           ORDER BY lane_group FOR NO KEY UPDATE OF lanes)
         UPDATE lanes SET lease_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
         FROM held WHERE lanes.lane_group = held.lane_group RETURNING lanes.lane_group`,
        [...columnsOf(lanes), leaseMs],
        "renew_lanes",
      );
      const kept = new Set(rows.map((row) => row.lane_group));
      return lanes.map(({ group }) => group).filter((group) => kept.has(group));
    },

    releaseLanes: (lanes) =>
      database.transaction(async (tx) => {
        const { rowCount } = await tx.query(
          `WITH held AS (
             SELECT lane_group FROM lanes JOIN unnest($1::text[], $2::bigint[]) AS mine (lane_group, fence) USING (lane_group, fence)
             ORDER BY lane_group FOR UPDATE OF lanes)
           UPDATE lanes SET fence = nextval('lane_fences'), owner = NULL, relay = NULL, granted_at = NULL, lease_until = NULL
           FROM held WHERE lanes.lane_group = held.lane_group`,
          columnsOf(lanes),
          "release_lanes",
        );
        if (rowCount > 0) tx.notes.lanes = true;
      }),
  };
}

const columnsOf = (lanes: LaneFence[]): [string[], number[]] => [
  lanes.map(({ group }) => group),
  lanes.map(({ fence }) => fence),
];

/** In the order of the requests. */
async function readMemories(tx: Transaction, requests: LaneRequest[]): Promise<LaneMemory[]> {
  if (requests.length === 0) return [];
  const statusKeys = requests.flatMap(({ statuses }) => statuses);
  const [paces, statuses] = await Promise.all([
    tx.query<Row<"paces">>(
      "SELECT key, sent_at, parked_until, parked_why FROM paces WHERE key = ANY($1::text[])",
      [requests.flatMap((request) => request.paces)],
      "read_paces",
    ),
    tx.query<{ kind: string; name: string; status: string }>(
      `SELECT kind, name, status FROM destination_statuses
       JOIN unnest($1::text[], $2::text[]) AS asked (kind, name) USING (kind, name)`,
      [statusKeys.map(({ kind }) => kind), statusKeys.map(({ name }) => name)],
      "read_statuses",
    ),
  ]);
  const paceOf = new Map(paces.rows.map((row) => [row.key, toPace(row)]));
  const statusOf = new Map(
    statuses.rows.map(({ kind, name, status }) => [`${kind} ${name}`, JSON.parse(status) as DestinationStatus]),
  );
  return requests.map((request) => ({
    paces: request.paces.flatMap((key) => paceOf.get(key) ?? []),
    statuses: request.statuses.flatMap(({ kind, name }) => statusOf.get(`${kind} ${name}`) ?? []),
  }));
}
