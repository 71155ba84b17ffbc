import { AppError } from "../../core/errors.ts";
import type { Removal, RoomGiven } from "../../core/ports/retention.ts";
import { addNotes, hasNews, newNotes } from "../signals.ts";
import type { Ballast } from "./ballast.ts";
import type { Call, CallResult, GroupCommit } from "./group-commit.ts";
import { diskFullError, isDiskFull } from "./store-error.ts";

export interface GuardedCommitDeps {
  group: GroupCommit;
  ballast: Pick<Ballast, keyof Ballast>;
  /** Empties the write-ahead log into the database: what it took is room for the next commits. */
  emptyLog: () => void;
}

/**
 * Group commit on a disk that may be full. A commit that finds it full spends the ballast, empties the log, and is
 * made again in the room that this gives, without its new alerts. From then on, until there is room to lay the
 * ballast by again, new alerts are refused at once and the search index stops and nothing is
 * removed, so that what room there is belongs to the deliveries.
 */
export function createGuardedCommit({ group, ballast, emptyLog }: GuardedCommitDeps): GroupCommit {
  return {
    async commit(calls) {
      const hasRoom = !ballast.isSpent() || ballast.restore();
      const results = new Array<CallResult>(calls.length);
      const said = newNotes();
      const runAll = async (indexes: number[]): Promise<number> => {
        const { results: done, version, notes } = await group.commit(indexes.map((index) => calls[index] as Call));
        indexes.forEach((index, position) => {
          results[index] = done[position] as CallResult;
        });
        if (notes !== undefined) addNotes(said, notes);
        return version;
      };
      const keepUrgent = (index: number): boolean => {
        const answer = answerWithoutRoom(calls[index] as Call);
        if (answer !== undefined) results[index] = answer;
        return answer === undefined;
      };

      const all = [...calls.keys()];
      let version = await runAll(hasRoom ? all : all.filter(keepUrgent));
      const full = all.filter((index) => isFullResult(results[index]));
      if (full.length > 0) {
        ballast.spend();
        emptyLog();
        version = await runAll(full.filter(keepUrgent));
      }
      // Each time: once the log has grown into the last free byte, nothing can be moved out of it any more.
      if (ballast.isSpent()) emptyLog();
      return { results, version, ...(hasNews(said) && { notes: said }) };
    },
  };
}

/** What a call is answered with, unrun, while there is no room; `undefined`: it is urgent and runs anyway. */
function answerWithoutRoom(call: Call): CallResult | undefined {
  if (call.name === "acceptRequest") return { ok: false, error: diskFullError() };
  if (call.name === "indexAlerts") return { ok: true, value: 0 };
  if (call.name === "removeAlerts")
    return { ok: true, value: { removed: 0, accepted: 0, usedBytes: 0, tookMs: 0 } satisfies Removal };
  if (call.name === "giveBackRoom") return { ok: true, value: { more: false, tookMs: 0 } satisfies RoomGiven };
  return undefined;
}

function isFullResult(result: CallResult | undefined): boolean {
  return result?.ok === false && result.error instanceof AppError && isDiskFull(result.error.cause);
}
