import type { Acceptance, Inbox } from "../../../core/ports/inbox.ts";
import type { Asked } from "../../transactions/accepting.ts";
import {
  createSharedTransactions,
  type JointMethods,
  type RemoveOld,
  type SharedMethods,
} from "../../transactions/index.ts";
import { runJoint } from "../../transactions/joint.ts";
import type { Dialect, Tx } from "../../tx.ts";
import { runShared } from "../tx.ts";
import type { TransactionContext } from "./context.ts";
import type { Writing } from "./writing.ts";

interface OfSqlite {
  acceptRequests(asked: readonly Asked[]): Promise<Acceptance[]>;
  removeOld: RemoveOld;
}

export function bindShared(
  context: TransactionContext,
  sql: Dialect,
  writing: Writing,
): SharedMethods & JointMethods & Inbox & OfSqlite {
  const { shared, joint, acceptRequests, removeOld } = createSharedTransactions(sql, {
    ...{ relayName: "", startedAt: "" },
    newId: context.newId,
  });
  const bound = Object.entries(shared).map(([name, transaction]) => {
    const work = transaction as (tx: Tx, ...args: unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => runShared((tx) => work(tx, ...args), context, writing)];
  });
  const accept = (asked: readonly Asked[]) => runShared((tx) => acceptRequests(tx, asked), context, writing);
  return {
    ...(Object.fromEntries(bound) as SharedMethods),
    removeOld,
    acceptRequests: accept,
    acceptRequest: async (request, drafts) => (await accept([{ request, drafts }]))[0] as Acceptance,
    claimRun: (...call) => runShared((tx) => runJoint(tx, joint.claimRun, call), context),
    recordAttempts: (...call) => runShared((tx) => runJoint(tx, joint.recordAttempts, call), context),
  };
}
