import type { Removal, RemovalStep, RoomGiven } from "../../../core/ports/retention.ts";
import { toPosition } from "../../positions.ts";
import type { RemoveOld } from "../../transactions/index.ts";
import { runShared } from "../tx.ts";
import type { TransactionContext } from "./context.ts";
import { createSearchParts } from "./searching.ts";

/** 256 KiB of pages that are moved and cut off the end of the file. */
const pagesAtOnce = 32;

/** Room that stays, as a share of the file: what comes next takes it, and would only make the file grow again. */
const reserve = 0.02;

/** Removes what is old with its part of the search index, and makes the file smaller. */
export function createRemoving(context: TransactionContext, removeOld: RemoveOld) {
  const { db } = context;
  const parts = createSearchParts(context);
  const lastAlert = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();

  function usedBytes(): number {
    const pages = db.pragma("page_count", { simple: true }) as number;
    const free = db.pragma("freelist_count", { simple: true }) as number;
    return (pages - free) * (db.pragma("page_size", { simple: true }) as number);
  }

  async function remove(step: RemovalStep): Promise<Pick<Removal, "removed" | "next">> {
    // First what was freed by the last ones, so that what the log takes is known before more is removed.
    if (parts.clearForgotten()) return { removed: 0, next: step.after ?? toPosition(0) };
    const { from, to, ...done } = await runShared((tx) => removeOld(tx, step), context);
    parts.shrink(from, to);
    return done;
  }

  return {
    async removeAlerts(step: RemovalStep): Promise<Removal> {
      const startedAt = performance.now();
      const done = await remove(step);
      return { ...done, accepted: lastAlert.get() ?? 0, usedBytes: usedBytes(), tookMs: performance.now() - startedAt };
    },

    giveBackRoom(): RoomGiven {
      const startedAt = performance.now();
      let more = parts.clearForgotten();
      if (!more) {
        const kept = Math.floor((db.pragma("page_count", { simple: true }) as number) * reserve);
        const spare = (db.pragma("freelist_count", { simple: true }) as number) - kept;
        if (spare > 0) db.pragma(`incremental_vacuum(${Math.min(spare, pagesAtOnce)})`);
        more = spare > pagesAtOnce;
      }
      return { more, tookMs: performance.now() - startedAt };
    },
  };
}
