import type { LaneFence } from "../../../core/ports/lanes.ts";
import type { ExpiringKey, KeyKind } from "../../../core/ports/shared.ts";
import type { WatchState } from "../../../core/ports/watch.ts";
import type { Mute } from "../../../core/rules.ts";
import { toMute } from "../../rows.ts";
import type { Row } from "../../tables.ts";
import type { TransactionContext } from "./context.ts";
import type { LaneKeeping } from "./lanes.ts";

export function createMutes({ db }: Pick<TransactionContext, "db">) {
  const insert = db.prepare(
    "INSERT INTO mutes (id, matchers, reason, starts_at, ends_at, created_at, created_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const end = db.prepare("UPDATE mutes SET ends_at = ? WHERE id = ? AND ends_at > ?");
  const list = db.prepare<[number], Row<"mutes">>(
    "SELECT * FROM mutes WHERE ends_at > ? ORDER BY created_at DESC, id DESC LIMIT 1000",
  );

  return {
    addMute(mute: Mute): void {
      insert.run(
        mute.id,
        JSON.stringify(mute.matchers),
        mute.reason,
        mute.startsAt,
        mute.endsAt,
        mute.createdAt,
        mute.createdBy,
      );
    },
    endMute: (id: string, at: number): boolean => end.run(at, id, at).changes > 0,
    listMutes: (now: number, includeEnded: boolean): Mute[] => list.all(includeEnded ? -1 : now).map(toMute),
  };
}

export type WatchStates = ReturnType<typeof createWatchStates>;

export function createWatchStates({ db }: Pick<TransactionContext, "db">) {
  const load = db.prepare<[string], string>("SELECT state FROM watch_states WHERE name = ?").pluck();
  const save = db.prepare("INSERT OR REPLACE INTO watch_states (name, state) VALUES (?, ?)");
  const add = db.prepare("INSERT OR IGNORE INTO watch_states (name, state) VALUES (?, ?)");
  const change = db.prepare("UPDATE watch_states SET state = ? WHERE name = ? AND state = ?");

  return {
    loadWatchState(name: string): unknown {
      const text = load.get(name);
      return text === undefined ? undefined : JSON.parse(text);
    },
    saveWatchState({ name, state }: WatchState): void {
      save.run(name, JSON.stringify(state));
    },
    changeWatchState({ name, state }: WatchState, from: unknown): boolean {
      const text = JSON.stringify(state);
      const done = from === undefined ? add.run(name, text) : change.run(text, name, JSON.stringify(from));
      return done.changes > 0;
    },
  };
}

export function createDutyStates({ isHeld }: Pick<LaneKeeping, "isHeld">, { saveWatchState }: WatchStates) {
  return {
    saveWatchStateFor(lane: LaneFence, watch: WatchState): "done" | "lost" {
      if (!isHeld(lane)) return "lost";
      saveWatchState(watch);
      return "done";
    },
  };
}

export function createKeys({ db }: Pick<TransactionContext, "db">) {
  // One that has expired and was not removed yet is taken over.
  const put = db.prepare(
    `INSERT INTO expiring_keys (kind, key, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (kind, key) DO UPDATE SET expires_at = excluded.expires_at WHERE expires_at <= ?`,
  );
  const find = db.prepare("SELECT 1 FROM expiring_keys WHERE kind = ? AND key = ? AND expires_at > ?");
  const list = db.prepare<[string, number], { key: string; expires_at: number }>(
    "SELECT key, expires_at FROM expiring_keys WHERE kind = ? AND expires_at > ?",
  );
  const remove = db.prepare("DELETE FROM expiring_keys WHERE expires_at <= ?");

  return {
    putKeyIfAbsent: (kind: KeyKind, { key, expiresAt }: ExpiringKey, now: number): boolean =>
      put.run(kind, key, expiresAt, now).changes > 0,
    hasKey: (kind: KeyKind, key: string, now: number): boolean => find.get(kind, key, now) !== undefined,
    listKeys: (kind: KeyKind, now: number): ExpiringKey[] =>
      list.all(kind, now).map((row) => ({ key: row.key, expiresAt: row.expires_at })),
    /** How many there were. */
    removeExpiredKeys: (now: number): number => remove.run(now).changes,
  };
}
