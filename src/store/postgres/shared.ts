import type { ExpiringKeyStore, MuteStore, SharedAllowances } from "../../core/ports/shared.ts";
import type { CommonStates, DutyStates, WatchState, WatchStore } from "../../core/ports/watch.ts";
import { toMute } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { Database, Sql } from "./database.ts";
import { heldLane, underFence } from "./fence.ts";
import { toText } from "./texts.ts";

export function createMutes(database: Database): MuteStore {
  return {
    addMute: (mute) =>
      database.transaction(async (tx) => {
        await tx.query(
          `INSERT INTO mutes (id, matchers, reason, starts_at, ends_at, created_at, created_by)
           VALUES ($1, $2, $3, $4, $5, $6, $7)`,
          [
            mute.id,
            JSON.stringify(mute.matchers),
            toText(mute.reason),
            mute.startsAt,
            mute.endsAt,
            mute.createdAt,
            toText(mute.createdBy),
          ],
        );
        tx.notes.mutes = true;
      }),
    endMute: (id, at) =>
      database.transaction(async (tx) => {
        const ended = await tx.query("UPDATE mutes SET ends_at = $2 WHERE id = $1 AND ends_at > $2", [toText(id), at]);
        // Said of one that had ended too: another relay may not have heard of it.
        tx.notes.mutes = true;
        return ended.rowCount > 0;
      }),
    async listMutes(now, includeEnded) {
      const { rows } = await database.single.query<Row<"mutes">>(
        `SELECT id, matchers, reason, starts_at, ends_at, created_at, created_by FROM mutes
         WHERE ends_at > $1 ORDER BY created_at DESC, id DESC LIMIT 1000`,
        [includeEnded ? -1 : now],
        "list_mutes",
      );
      return rows.map(toMute);
    },
  };
}

/** A watch's state in the transaction of what else tells of it. */
export async function saveWatchState(sql: Sql, { name, state }: WatchState): Promise<void> {
  await sql.query(
    "INSERT INTO watch_states (name, state) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET state = excluded.state",
    [name, JSON.stringify(state)],
    "save_watch_state",
  );
}

export function createWatchStates(database: Database): WatchStore & CommonStates & DutyStates {
  return {
    async loadWatchState(name) {
      const { rows } = await database.single.query<{ state: string }>(
        "SELECT state FROM watch_states WHERE name = $1",
        [name],
        "load_watch_state",
      );
      return rows[0] === undefined ? undefined : JSON.parse(rows[0].state);
    },
    saveWatchState: (watch) => database.transaction((tx) => saveWatchState(tx, watch)),
    async changeWatchState({ name, state }, from) {
      const [sql, values] =
        from === undefined
          ? ["INSERT INTO watch_states (name, state) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", []]
          : ["UPDATE watch_states SET state = $2 WHERE name = $1 AND state = $3", [JSON.stringify(from)]];
      const { rowCount } = await database.single.query(sql, [name, JSON.stringify(state), ...values]);
      return rowCount === 1;
    },
    async saveWatchStateFor({ group, fence }, { name, state }) {
      const { rowCount } = await database.single.query(
        `WITH ${heldLane}
         INSERT INTO watch_states (name, state) SELECT $3, $4 WHERE ${underFence}
         ON CONFLICT (name) DO UPDATE SET state = excluded.state`,
        [group, fence, name, JSON.stringify(state)],
        "save_watch_state_for",
      );
      return rowCount > 0 ? "done" : "lost";
    },
  };
}

export function createKeys(database: Database): ExpiringKeyStore {
  return {
    // One that has expired and was not removed yet is taken over.
    putKeyIfAbsent: (kind, { key, expiresAt }, now) =>
      database.transaction(async (tx) => {
        const put = await tx.query(
          `INSERT INTO expiring_keys AS known (kind, key, expires_at) VALUES ($1, $2, $3)
           ON CONFLICT (kind, key) DO UPDATE SET expires_at = excluded.expires_at WHERE known.expires_at <= $4`,
          [kind, toText(key), expiresAt, now],
        );
        return put.rowCount > 0;
      }),
    async hasKey(kind, key, now) {
      const { rows } = await database.read.query(
        "SELECT 1 FROM expiring_keys WHERE kind = $1 AND key = $2 AND expires_at > $3",
        [kind, toText(key), now],
        "has_key",
      );
      return rows.length > 0;
    },
    async listKeys(kind, now) {
      const { rows } = await database.single.query<{ key: string; expires_at: number }>(
        "SELECT key, expires_at FROM expiring_keys WHERE kind = $1 AND expires_at > $2",
        [kind, now],
      );
      return rows.map((row) => ({ key: row.key, expiresAt: row.expires_at }));
    },
  };
}

export function createAllowances(database: Pick<Database, "single">): SharedAllowances {
  return {
    async useAllowances(allowances) {
      const { rows } = await database.single.query<{ waits: number[] }>(
        "SELECT use_allowances($1, $2, $3) AS waits",
        [
          allowances.map(({ name }) => toText(name)),
          allowances.map(({ burst }) => burst),
          allowances.map(({ intervalMs }) => intervalMs),
        ],
        "use_allowances",
      );
      return (rows[0]?.waits ?? []).map((ms) => Math.max(0, Math.ceil(ms)));
    },
  };
}
