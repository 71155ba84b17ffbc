import type { Acceptance, Inbox } from "../../../core/ports/inbox.ts";
import type { Asked } from "../../transactions/accepting.ts";
import { createSharedTransactions, type JointMethods, type SharedMethods } from "../../transactions/index.ts";
import { runJoint } from "../../transactions/joint.ts";
import type { Tx } from "../../tx.ts";
import { createSqliteDialect, runShared } from "../tx.ts";
import type { TransactionContext } from "./context.ts";
import { createLog } from "./log.ts";
import { createRemoving } from "./removing.ts";
import { createRouting } from "./routing.ts";
import { createSearching } from "./searching.ts";
import { createWriting } from "./writing.ts";

/** Every transaction function of the port, against one connection that may write. */
export function createTransactions(context: TransactionContext, sql = createSqliteDialect(context)) {
  const searching = createSearching(context);
  const writing = createWriting(context, searching);
  const { shared, joint, acceptRequests, removeOld } = createSharedTransactions(sql, {
    ...{ relayName: "", startedAt: "" },
    newId: context.newId,
  });
  const bound = Object.entries(shared).map(([name, transaction]) => {
    const work = transaction as (tx: Tx, ...args: unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => runShared((tx) => work(tx, ...args), context, writing)];
  });
  const accept = (asked: readonly Asked[]) => runShared((tx) => acceptRequests(tx, asked), context, writing);
  const together: JointMethods & Inbox = {
    acceptRequest: async (request, drafts) => (await accept([{ request, drafts }]))[0] as Acceptance,
    claimRun: (...call) => runShared((tx) => runJoint(tx, joint.claimRun, call), context),
    recordAttempts: (...call) => runShared((tx) => runJoint(tx, joint.recordAttempts, call), context),
  };
  return {
    ...(Object.fromEntries(bound) as SharedMethods),
    ...together,
    acceptRequests: accept,
    ...createRouting(context),
    ...createLog(context, sql),
    indexAlerts: searching.indexAlerts,
    ...createRemoving(context, removeOld),
  };
}

export type Transactions = ReturnType<typeof createTransactions>;
export type TransactionName = keyof Transactions;
