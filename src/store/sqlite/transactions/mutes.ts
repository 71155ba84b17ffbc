import type { Matcher, Mute } from "../../../core/rules.ts";
import type { TransactionContext } from "./context.ts";

interface MuteRow {
  id: string;
  matchers: string;
  reason: string;
  starts_at: number;
  ends_at: number;
  created_at: number;
  created_by: string;
}

export function createMutes({ db }: Pick<TransactionContext, "db">) {
  const insert = db.prepare(
    "INSERT INTO mutes (id, matchers, reason, starts_at, ends_at, created_at, created_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const end = db.prepare("UPDATE mutes SET ends_at = ? WHERE id = ? AND ends_at > ?");
  const list = db.prepare<[number], MuteRow>(
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
    listMutes: (now: number, includeEnded: boolean): Mute[] =>
      list.all(includeEnded ? -1 : now).map((row) => ({
        id: row.id,
        matchers: JSON.parse(row.matchers) as Matcher[],
        reason: row.reason,
        startsAt: row.starts_at,
        endsAt: row.ends_at,
        createdAt: row.created_at,
        createdBy: row.created_by,
      })),
  };
}
