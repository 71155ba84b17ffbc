import type { ExpiringKey, ExpiringKeyStore } from "../../core/ports/shared.ts";
import { fromRow } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { Dialect, InTx } from "../tx.ts";

export function createExpiringKeys(sql: Dialect) {
  // A key that has expired and was not removed yet is taken over.
  const put = sql.statement(
    { kind: "text", key: "text", expires_at: "int8", now: "int8" },
    `INSERT INTO expiring_keys (kind, key, expires_at) VALUES (:kind, :key, :expires_at)
     ON CONFLICT (kind, key) DO UPDATE SET expires_at = excluded.expires_at WHERE expiring_keys.expires_at <= :now
     RETURNING key`,
  );
  const find = sql.statement(
    { kind: "text", key: "text", now: "int8" },
    "SELECT key FROM expiring_keys WHERE kind = :kind AND key = :key AND expires_at > :now",
  );
  const list = sql.statement(
    { kind: "text", now: "int8" },
    "SELECT key, expires_at FROM expiring_keys WHERE kind = :kind AND expires_at > :now",
    (row: Pick<Row<"expiring_keys">, "key" | "expires_at">): ExpiringKey => fromRow(row, ["key", "expires_at"]),
  );
  const remove = sql.statement({ now: "int8" }, "DELETE FROM expiring_keys WHERE expires_at <= :now RETURNING key");

  return {
    putKeyIfAbsent: async (tx, kind, { key, expiresAt }, now) =>
      (await tx.run(put, { kind, key, expires_at: expiresAt, now })).length > 0,
    hasKey: async (tx, kind, key, now) => (await tx.run(find, { kind, key, now })).length > 0,
    listKeys: async (tx, kind, now) => tx.run(list, { kind, now }),
    removeExpiredKeys: async (tx, now) => (await tx.run(remove, { now })).length,
  } satisfies InTx<ExpiringKeyStore & { removeExpiredKeys(now: number): Promise<number> }>;
}
