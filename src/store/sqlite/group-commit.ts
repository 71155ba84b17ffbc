import { AppError } from "../../core/errors.ts";
import type { IncomingRequest } from "../../core/ports/inbox.ts";
import type { Removal, RoomGiven } from "../../core/ports/retention.ts";
import type { RoutingDraft, RoutingRecord } from "../../core/ports/routing-desk.ts";
import { addNotes, hasNews, type Notes, newNotes } from "../signals.ts";
import type { Asked } from "../transactions/accepting.ts";
import type { Ballast } from "./ballast.ts";
import { diskFullError, isDamage, isDiskFull, toStoreError } from "./store-error.ts";
import type { TransactionContext } from "./transactions/context.ts";
import type { TransactionName, Transactions } from "./transactions/index.ts";

/** A transaction that waits for the next commit. */
export interface Call {
  name: TransactionName;
  arguments: unknown[];
}

export type CallResult = { ok: true; value: unknown } | { ok: false; error: unknown };

export interface Commit {
  results: CallResult[];
  version: number;
  /** The signals of the transactions that both databases share. Absent: none. */
  notes?: Notes;
}

export interface GroupCommit {
  /** Runs all calls in one transaction. When it resolves, the successful ones are on disk. It waits only for the database. */
  commit(calls: Call[]): Promise<Commit>;
}

/**
 * Many small transactions share one fsync, in one `BEGIN IMMEDIATE … COMMIT`. When one of them throws, all are rolled back, and
 * each runs again in a transaction of its own. A bad one then fails alone, and the good case costs nothing more.
 *
 * Changed alerts get a new version in the same commit, by which an event stream resumes. Versions only grow, with gaps where a
 * commit was rolled back.
 * @param isReading the connection only reads: all calls of a commit see one snapshot. Default: it may write
 */
export function createGroupCommit(
  context: TransactionContext,
  transactions: Transactions,
  isReading = false,
): GroupCommit {
  const { db, changed } = context;
  const begin = db.prepare(isReading ? "BEGIN" : "BEGIN IMMEDIATE");
  const end = db.prepare("COMMIT");
  const rollback = db.prepare("ROLLBACK");
  const setVersion = db.prepare("UPDATE alerts SET version = ? WHERE seq = ?");
  if (!isReading) context.version = transactions.latestVersion();

  async function runAll(calls: Call[], said: Notes): Promise<unknown[]> {
    changed.clear();
    context.notes = newNotes();
    begin.run();
    try {
      const values: unknown[] = [];
      for (let at = 0; at < calls.length; ) {
        const asked = askedFrom(calls, at);
        if (asked.length > 1) values.push(...(await transactions.acceptRequests(asked)));
        else {
          const value = run(transactions, calls[at] as Call);
          values.push(value instanceof Promise ? await value : value);
        }
        at += Math.max(1, asked.length);
      }
      for (const seq of changed) setVersion.run(++context.version, seq);
      end.run();
      addNotes(said, context.notes);
      return values;
    } catch (error) {
      if (db.inTransaction) rollback.run();
      throw error;
    }
  }

  async function runAlone(call: Call, said: Notes): Promise<CallResult> {
    try {
      return { ok: true, value: (await runAll([call], said))[0] };
    } catch (error) {
      const isDamaged = isDamage(error);
      const simpler = withoutDrafts(call) ?? (isDamaged ? withoutLookingBack(call) : undefined);
      const result = simpler === undefined ? undefined : await runAlone(simpler, said);
      if (!result?.ok) return result ?? { ok: false, error: toStoreError(error) };
      if (isDamaged) context.damage = (error as Error).message;
      return result;
    }
  }

  return {
    async commit(calls) {
      const said = newNotes();
      const results: CallResult[] = [];
      try {
        for (const value of await runAll(calls, said)) results.push({ ok: true, value });
      } catch {
        for (const call of calls) results.push(await runAlone(call, said));
      }
      return { results, version: context.version, ...(hasNews(said) && { notes: said }) };
    },
  };
}

/** The calls from there on that accept requests. Together they cost less than one by one. */
function askedFrom(calls: readonly Call[], at: number): Asked[] {
  const asked: Asked[] = [];
  for (let call = calls[at]; call?.name === "acceptRequest"; call = calls[at + asked.length]) {
    const [request, drafts] = call.arguments as [IncomingRequest, RoutingDraft[]?];
    asked.push({ request, drafts });
  }
  return asked;
}

function run(transactions: Transactions, call: Call): unknown {
  const transaction = transactions[call.name] as (...args: unknown[]) => unknown;
  return transaction(...call.arguments);
}

/** The call without its routing: an alert that could not be routed is stored, and waits for routing. */
function withoutDrafts({ name, arguments: [request, drafts] }: Call): Call | undefined {
  const isDrafted = name === "acceptRequest" && (drafts as readonly RoutingDraft[] | undefined) !== undefined;
  return isDrafted ? { name, arguments: [request] } : undefined;
}

/**
 * The call without the lookup of earlier alerts, which may be damaged: a repeat costs less than a loss. SQLite refuses every
 * write after reading a damaged page, so the call needs a new transaction. Undefined: it has no such lookup.
 */
function withoutLookingBack({ name, arguments: [first, ...others] }: Call): Call | undefined {
  if (name === "acceptRequest") {
    const request = first as IncomingRequest;
    if (request.dedupeKey === undefined) return undefined;
    return { name, arguments: [{ ...request, dedupeKey: undefined }, ...others] };
  }
  if (name === "recordRouting") {
    const records = first as RoutingRecord[];
    if (records.every(({ repeatWindowMs }) => repeatWindowMs === undefined)) return undefined;
    return { name, arguments: [records.map((one) => ({ ...one, repeatWindowMs: undefined })), ...others] };
  }
  return undefined;
}

interface GuardedCommitDeps {
  group: GroupCommit;
  ballast: Pick<Ballast, keyof Ballast>;
  /** Empties the write-ahead log into the database, which makes room for the next commits. */
  emptyLog: () => void;
}

/** On a full disk a commit spends the ballast and runs without its new alerts. Those are refused until the ballast is back. */
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
      // After each commit: once the log has grown into the last free byte, nothing can be copied out of it any more.
      if (ballast.isSpent()) emptyLog();
      return { results, version, ...(hasNews(said) && { notes: said }) };
    },
  };
}

/** The answer to a call that is not run while the disk is full. Undefined: the call is urgent and runs. */
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
