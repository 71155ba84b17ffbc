import {
  createSharedTransactions,
  type JointMethods,
  type RecordRouting,
  type RemoveOld,
  type SharedMethods,
} from "../../transactions/index.ts";
import { runJoint } from "../../transactions/joint.ts";
import type { Tx } from "../../tx.ts";
import { createSqliteDialect, runShared } from "../tx.ts";
import type { TransactionContext } from "./context.ts";

export function bindShared(context: TransactionContext): {
  methods: SharedMethods & JointMethods;
  recordRouting: RecordRouting;
  removeOld: RemoveOld;
} {
  const { shared, joint, recordRouting, removeOld } = createSharedTransactions(createSqliteDialect(context), {
    ...{ relayName: "", startedAt: "" },
    newId: context.newId,
  });
  const bound = Object.entries(shared).map(([name, transaction]) => {
    const work = transaction as (tx: Tx, ...args: unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => runShared((tx) => work(tx, ...args), context)];
  });
  return {
    methods: {
      ...(Object.fromEntries(bound) as SharedMethods),
      claimRun: (...call) => runShared((tx) => runJoint(tx, joint.claimRun, call), context),
      recordAttempts: (...call) => runShared((tx) => runJoint(tx, joint.recordAttempts, call), context),
    },
    recordRouting,
    removeOld,
  };
}
