import type { PaceRecord } from "../../core/destination-status.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import type { Sql } from "./database.ts";
import { heldLane, underFence } from "./fence.ts";
import { toText } from "./texts.ts";

/** How many were saved: none when the lane is lost. */
export async function savePaces(sql: Sql, { group, fence }: LaneFence, paces: readonly PaceRecord[]): Promise<number> {
  if (paces.length === 0) return 0;
  const byKey = [...new Map(paces.map((pace) => [pace.key, pace])).values()];
  const { rowCount } = await sql.query(
    `WITH ${heldLane}
     INSERT INTO paces (key, sent_at, parked_until, parked_why)
     SELECT p.* FROM unnest($3::text[], $4::text[], $5::bigint[], $6::text[]) AS p (key, sent_at, parked_until, parked_why)
     WHERE ${underFence} ORDER BY p.key
     ON CONFLICT (key) DO UPDATE SET sent_at = excluded.sent_at, parked_until = excluded.parked_until,
       parked_why = excluded.parked_why`,
    [
      group,
      fence,
      byKey.map(({ key }) => key),
      byKey.map(({ sentAt }) => JSON.stringify(sentAt)),
      byKey.map(({ parkedUntil }) => parkedUntil),
      byKey.map(({ parkedWhy }) => (parkedWhy === undefined ? null : toText(parkedWhy))),
    ],
    "save_paces",
  );
  return rowCount;
}
