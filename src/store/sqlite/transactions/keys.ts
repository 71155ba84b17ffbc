import type { ExpiringKey, KeyKind } from "../../../core/ports/shared.ts";
import type { TransactionContext } from "./context.ts";

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
