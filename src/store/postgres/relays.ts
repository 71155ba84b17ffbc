import type { RelayReport, RelaySelf, Relays, RelayView } from "../../core/ports/relays.ts";
import type { Database, Sql } from "./database.ts";
import { toText } from "./parameters.ts";

type RelayRow = Omit<RelayView, "lanes" | "lanesSince" | "report"> & {
  lanes: Record<string, number> | null;
  report: string | null;
};

/** The relays that run on this database, by leases of its clock. `relayName`: of this process, which replaces a former one. */
export function createRelays(database: Database, { relayName }: { relayName: string }): Relays {
  /** What the last announcement said about routing and delivering. */
  let told: string | undefined;

  return {
    async announceRelay(self: RelaySelf, leaseMs) {
      const telling = `${self.id} ${self.report?.started}`;
      const relays = await database.transaction(async (tx) => {
        if (told === undefined)
          await tx.query("DELETE FROM relays WHERE place = $1 AND id <> $2", [relayName, self.id]);
        await tx.query(
          `INSERT INTO configurations (hash) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM configurations WHERE hash = $1)
           ON CONFLICT (hash) DO NOTHING`,
          [self.configuration],
        );
        await tx.query(
          `UPDATE configurations SET seen_at = clock_timestamp()
           WHERE hash = $1 AND seen_at < clock_timestamp() - interval '1 minute'`,
          [self.configuration],
        );
        await tx.query(
          `INSERT INTO relays (id, name, version, configuration, started_at, seen_at, gone_at, report, place, reads_alert_changes)
           VALUES ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp() + $6::bigint * interval '1 millisecond', $7, $8, true)
           ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, gone_at = excluded.gone_at, report = excluded.report`,
          [
            self.id,
            toText(self.name),
            self.version,
            self.configuration,
            self.startedAt,
            leaseMs,
            self.report === undefined ? null : JSON.stringify(self.report),
            relayName,
          ],
        );
        if (telling !== told) tx.notes.lanes = true;
        return list(tx);
      });
      told = telling;
      return relays;
    },

    forgetRelay: (id) =>
      database.transaction(async (tx) => {
        const day = "interval '1 day'";
        await tx.query(`DELETE FROM relays WHERE id = $1 OR gone_at < clock_timestamp() - ${day}`, [id]);
        tx.notes.lanes = true;
      }),

    listRelays: () => list(database.read),
  };
}

async function list(sql: Sql): Promise<RelayView[]> {
  const { rows } = await sql.query<RelayRow>(
    `SELECT r.id, r.name, r.version, r.configuration, c.version AS "configurationVersion", r.started_at AS "startedAt",
       (extract(epoch FROM r.seen_at) * 1000)::bigint AS "seenAt",
       (SELECT json_object_agg(lane_group, (extract(epoch FROM granted_at) * 1000)::bigint ORDER BY lane_group)
        FROM lanes WHERE owner = r.id AND lease_until > clock_timestamp()) AS lanes,
       EXISTS (SELECT 1 FROM configurations later
         WHERE later.version > c.version AND later.seen_at > clock_timestamp() - interval '1 day') AS "isSuperseded", r.report
     FROM relays r JOIN configurations c ON c.hash = r.configuration
     WHERE r.gone_at > clock_timestamp() ORDER BY r.id`,
  );
  return rows.map(({ lanes, report, ...row }) => ({
    ...row,
    lanes: Object.keys(lanes ?? {}),
    lanesSince: lanes ?? {},
    ...(report !== null && { report: JSON.parse(report) as RelayReport }),
  }));
}
