import { AppError } from "../../core/errors.ts";
import { type BatchingOptions, createBatching, type Waiting } from "../batching.ts";
import type { JointMethods, JointTransactions } from "../transactions/index.ts";
import { type Joint, type JointCall, runJoint, type WhichLanes } from "../tx.ts";
import type { Database } from "./database.ts";
import { toTx } from "./tx.ts";

export interface Shared<Call, Answer> extends Pick<BatchingOptions<Call, Answer>, "most" | "weightOf"> {
  /** The answer to each call, in order. Undefined: the call is to be made alone. */
  makeTogether(calls: readonly Call[]): Promise<readonly (Answer | undefined)[]>;
  makeAlone(call: Call): Promise<Answer>;
  /** Called once the callers have these answers. */
  onAnswered?(answers: readonly (Answer | undefined)[]): void;
}

/** Calls that come while a transaction runs share the next one. A call that breaks a rule fails alone. */
export function createSharing<Call, Answer>(shared: Shared<Call, Answer>) {
  const { makeTogether, makeAlone, onAnswered = () => {} } = shared;

  const settleAlone = ({ call, resolve, reject }: Waiting<Call, Answer>) =>
    makeAlone(call).then((answer) => {
      resolve(answer);
      onAnswered([answer]);
    }, reject);

  async function send(batch: Waiting<Call, Answer>[], answered: () => void): Promise<void> {
    const calls = batch.map(({ call }) => call);
    const isOne = batch.length === 1;
    const made = isOne ? makeAlone(calls[0] as Call).then((answer) => [answer]) : makeTogether(calls);
    const outcome = await made.catch((error: unknown) => ({ error }));
    answered();
    if ("error" in outcome) {
      if (isOne || outcome.error instanceof AppError) for (const { reject } of batch) reject(outcome.error);
      else for (const waiting of batch) await settleAlone(waiting);
      return;
    }
    // All at once: a lane that has to wait must not delay the others.
    const others = batch.map((waiting, index) => {
      const answer = outcome[index];
      return answer === undefined ? settleAlone(waiting) : waiting.resolve(answer);
    });
    onAnswered(outcome);
    await Promise.all(others);
  }

  return createBatching<Call, Answer>({ ...shared, send, cores: 2 });
}

function bindOne<Call extends JointCall, Answer>(
  { statement, transaction, single }: Database,
  joint: Joint<Call, Answer>,
): (...call: Call) => Promise<Answer> {
  const { mayShare, countDeliveries, isOneStatement, run, answerOther } = joint;
  const runIn = (calls: readonly Call[], which: WhichLanes) =>
    (isOneStatement(calls) ? statement : transaction)((tx) => run(toTx(tx, tx.notes), calls, which));
  const { make } = createSharing<Call, Answer>({
    most: { weight: 512 },
    weightOf: countDeliveries,
    makeTogether: (calls) => runIn(calls, "free"),
    makeAlone: async (call) => (await runIn([call], "all"))[0] ?? answerOther(toTx(single), call),
  });
  return (...call) => (mayShare(call) ? make(call) : transaction((tx) => runJoint(toTx(tx, tx.notes), joint, call)));
}

export const bindJoint = (database: Database, { claimRun, recordAttempt }: JointTransactions): JointMethods => ({
  claimRun: bindOne(database, claimRun),
  recordAttempt: bindOne(database, recordAttempt),
});
