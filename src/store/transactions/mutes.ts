import type { Mute } from "../../core/rules.ts";
import { toMute, toRow } from "../rows.ts";
import { columnNames } from "../tables.ts";
import type { Dialect, Tx } from "../tx.ts";

export function createMutes(sql: Dialect) {
  const insert = sql.insertion("add_mute", "mutes");
  const end = sql.statement(
    "end_mute",
    { id: "text", at: "int8" },
    "UPDATE mutes SET ends_at = :at WHERE id = :id AND ends_at > :at RETURNING id",
    ({ id }: { id: string }) => id,
  );
  const list = sql.statement(
    "list_mutes",
    { now: "int8" },
    `SELECT ${columnNames("mutes").join(", ")} FROM mutes WHERE ends_at > :now
     ORDER BY created_at DESC, id DESC LIMIT 1000`,
    toMute,
  );

  return {
    async addMute(tx: Tx, mute: Mute): Promise<void> {
      await tx.insert(insert, [toRow({ ...mute, matchers: JSON.stringify(mute.matchers) })], {});
      tx.notes.mutes = true;
    },
    async endMute(tx: Tx, id: string, at: number): Promise<boolean> {
      const ended = await tx.run(end, { id, at });
      // Said of one that had ended too: another relay may not have heard of it.
      tx.notes.mutes = true;
      return ended.length > 0;
    },
    listMutes: async (tx: Tx, now: number, includeEnded: boolean): Promise<Mute[]> =>
      tx.run(list, { now: includeEnded ? -1 : now }),
  };
}
