import type { DestinationStatus, PaceRecord, StatusKey } from "../../../core/destination-status.ts";
import type { LaneFence, LaneGrant, LaneMemory, LaneRequest } from "../../../core/ports/lanes.ts";
import { toPace } from "../../rows.ts";
import type { Row } from "../../tables.ts";
import type { TransactionContext } from "./context.ts";

/** The condition of every statement that writes for a lane; its parameters are the group and the fence. */
export const underFence = "(SELECT fence FROM lanes WHERE lane_group = ?) = ?";

export type LaneKeeping = ReturnType<typeof createLanes>;

/**
 * Who holds which lane group. One process alone has the database open, so whoever asks is granted all, and holds it
 * without a lease until somebody asks again.
 */
export function createLanes({ db }: TransactionContext) {
  // The largest fence of all is one of these rows for ever, since none is removed.
  const nextFence = "(SELECT coalesce(max(fence), 0) + 1 FROM lanes)";
  const acquire = db
    .prepare<[string], number>(
      `INSERT INTO lanes (lane_group, fence) VALUES (?, ${nextFence})
       ON CONFLICT (lane_group) DO UPDATE SET fence = excluded.fence RETURNING fence`,
    )
    .pluck();
  const release = db.prepare(`UPDATE lanes SET fence = ${nextFence} WHERE lane_group = ? AND fence = ?`);
  const held = db.prepare(`SELECT 1 WHERE ${underFence}`);
  const paceOf = db.prepare<[string], Row<"paces">>("SELECT * FROM paces WHERE key = ?");
  const statusOf = db
    .prepare<[string, string], string>("SELECT status FROM destination_statuses WHERE kind = ? AND name = ?")
    .pluck();

  function readPace(key: string): PaceRecord[] {
    const row = paceOf.get(key);
    return row === undefined ? [] : [toPace(row)];
  }

  function readStatus({ kind, name }: StatusKey): DestinationStatus[] {
    const text = statusOf.get(kind, name);
    return text === undefined ? [] : [JSON.parse(text) as DestinationStatus];
  }

  const readMemory = ({ paces, statuses }: LaneRequest): LaneMemory => ({
    paces: paces.flatMap(readPace),
    statuses: statuses.flatMap(readStatus),
  });

  const isHeld = ({ group, fence }: LaneFence): boolean => held.get(group, fence) !== undefined;

  return {
    isHeld,

    acquireLanes: (_owner: string, groups: LaneRequest[], _leaseMs: number, most = groups.length): LaneGrant[] =>
      groups.slice(0, most).map((request) => {
        const { group } = request;
        const fence = acquire.get(group) as number;
        return { group, fence, memory: readMemory(request) };
      }),

    // Nothing is written: an idle relay leaves the disk alone.
    renewLanes: (lanes: LaneFence[], _leaseMs: number): string[] => lanes.filter(isHeld).map(({ group }) => group),

    releaseLanes(lanes: LaneFence[]): void {
      for (const { group, fence } of lanes) release.run(group, fence);
    },
  };
}
