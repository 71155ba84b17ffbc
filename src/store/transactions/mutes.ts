import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { MuteStore } from "../../core/ports/shared.ts";
import { rowOf, toMute } from "../rows.ts";
import { columnNames } from "../tables.ts";
import type { Dialect, InTx, Tx } from "../tx.ts";
import { createLockedLook } from "./name-lock.ts";

export function createMutes(sql: Dialect) {
  const insert = sql.insertion("add_mute", "mutes");
  const end = sql.statement(
    "end_mute",
    { id: "text", at: "int8" },
    "UPDATE mutes SET ends_at = :at WHERE id = :id AND ends_at > :at RETURNING id",
  );
  const list = sql.statement(
    "list_mutes",
    { now: "int8" },
    `SELECT ${columnNames("mutes").join(", ")} FROM mutes WHERE ends_at > :now
     ORDER BY created_at DESC, id DESC LIMIT 1000`,
    toMute,
  );

  const lookLocked = createLockedLook(sql, "endedKey");
  const findLast = sql.statement(
    "find_last_of_key",
    { key: "text" },
    `SELECT ${sql.statusOf("a")} AS status FROM alerts a WHERE a.alert_key = :key AND a.repeat_of IS NULL
     ORDER BY a.seq DESC LIMIT 1`,
    ({ status }: { status: string | null }) => status,
  );

  return {
    async addMute(tx, mute) {
      if (mute.untilOver !== undefined) {
        // Waits for an end that another relay is routing, which could not see this mute.
        const [[last] = []] = await lookLocked(tx, findLast, [{ key: mute.untilOver }], ({ key }) => key);
        if (last === "resolved") return "over";
      }
      const row = rowOf({ ...mute, matchers: JSON.stringify(mute.matchers) }, columnNames("mutes"));
      await tx.insert(insert, [row], {});
      tx.notes.mutes = true;
      return "done";
    },
    async endMute(tx, id, at) {
      const ended = await tx.run(end, { id, at });
      // Signalled for a mute that had ended too: another relay may not have heard of it.
      tx.notes.mutes = true;
      return ended.length > 0;
    },
    listMutes: async (tx, now, includeEnded) => tx.run(list, { now: includeEnded ? -1 : now }),
  } satisfies InTx<MuteStore, "addMute" | "endMute" | "listMutes">;
}

/** The mutes until it is over that hold for what is routed. */
export type OverMutes = Awaited<ReturnType<ReturnType<typeof createOverMutes>>>;

/** An end ends the mutes until its key is over, where it is routed. Another relay that routes an alert of the key waits for that. */
export function createOverMutes(sql: Dialect) {
  const find = sql.statement(
    "find_until_over",
    { keys: "text[]", at: "int8" },
    `SELECT until_over FROM mutes WHERE until_over ${sql.isOneOf(":keys")} AND ends_at > :at ${sql.forUpdate("id")}`,
    (row: { until_over: string }) => row.until_over,
  );
  const end = sql.statement(
    "end_until_over",
    { keys: "text[]", at: "int8" },
    `UPDATE mutes SET ends_at = :at WHERE until_over ${sql.isOneOf(":keys")} AND ends_at > :at`,
  );
  const isEnd = ({ endEdits }: RoutingRecord) => endEdits !== undefined;
  const keyOf = ({ facts }: RoutingRecord) => sql.kept(facts.alertKey);

  return async (tx: Tx, records: readonly RoutingRecord[]) => {
    const keys = [...new Set(records.filter((one) => isEnd(one) || one.ifOver !== undefined).map(keyOf))];
    const at = records[0]?.routedAt ?? 0;
    const holding = new Set(keys.length === 0 ? [] : await tx.run(find, { keys, at }));
    const over = new Set<string>();
    return {
      /** In the order of the records. What such a mute holds back is planned without it where it has ended. */
      settle(record: RoutingRecord): RoutingRecord {
        const key = keyOf(record);
        if (isEnd(record) && holding.delete(key)) over.add(key);
        return record.ifOver === undefined || holding.has(key) ? record : { ...record, ...record.ifOver };
      },
      async save(tx: Tx): Promise<void> {
        if (over.size === 0) return;
        await tx.run(end, { keys: [...over], at });
        tx.notes.mutes = true;
      },
    };
  };
}
