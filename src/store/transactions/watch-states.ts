import type { CommonStates, DutyStates, WatchState, WatchStore } from "../../core/ports/watch.ts";
import type { Dialect, InTx } from "../tx.ts";
import { underFence } from "./lanes.ts";

export function createWatchStates(sql: Dialect) {
  const load = sql.statement(
    { name: "text" },
    "SELECT state FROM watch_states WHERE name = :name",
    ({ state }: { state: string }): unknown => JSON.parse(state),
  );
  const save = sql.insertion("watch_states", { conflict: "replace" });
  const saveUnderFence = sql.insertion("watch_states", {
    conflict: "replace",
    where: underFence(sql),
  });
  const add = sql.insertion("watch_states", { conflict: "keep" });
  const change = sql.statement(
    { name: "text", from: "text", to: "text" },
    "UPDATE watch_states SET state = :to WHERE name = :name AND state = :from RETURNING name",
  );
  const toRow = ({ name, state }: WatchState) => ({ name, state: JSON.stringify(state) });

  return {
    loadWatchState: async (tx, name) => (await tx.run(load, { name }))[0],
    async saveWatchState(tx, watch) {
      await tx.insert(save, [toRow(watch)], {});
    },
    async changeWatchState(tx, watch, from) {
      const { name, state } = toRow(watch);
      const isChanged =
        from === undefined
          ? (await tx.insert(add, [{ name, state }], {})) > 0
          : (await tx.run(change, { name, from: JSON.stringify(from), to: state })).length > 0;
      if (isChanged && sql.isShared) tx.notes.mail = true;
      return isChanged;
    },
    async saveWatchStateFor(tx, { group, fence }, watch) {
      return (await tx.insert(saveUnderFence, [toRow(watch)], { group, fence })) > 0 ? "done" : "lost";
    },
  } satisfies InTx<WatchStore & CommonStates & DutyStates>;
}
