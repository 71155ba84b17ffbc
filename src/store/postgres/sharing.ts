import { AppError } from "../../core/errors.ts";
import { createBatching } from "../batching.ts";
import type { JointMethods, JointTransactions } from "../transactions/index.ts";
import type { Joint } from "../transactions/joint.ts";
import type { WhichLanes } from "../tx.ts";
import type { Database } from "./database.ts";
import { toTx } from "./tx.ts";

/** What one transaction holds at most; more waits for the next. */
const mostTogether = 512;

/**
 * Calls of whatever lanes that come while a transaction is under way share the next: each commit, each statement and each row
 * that is counted on costs more than what is in it. A call that breaks a rule fails alone.
 */
function createSharing<Call extends unknown[], Answer>(
  { statement, transaction, single }: Database,
  { sizeOf, isOneStatement, run, answerOther }: Joint<Call, Answer>,
): (...call: Call) => Promise<Answer> {
  interface Waiting {
    call: Call;
    resolve(answer: Answer): void;
    reject(error: unknown): void;
  }

  const runIn = (calls: readonly Call[], which: WhichLanes) =>
    (isOneStatement(calls) ? statement : transaction)((tx) => run(toTx(tx, tx.notes), calls, which));

  async function alone(call: Call): Promise<Answer> {
    const [answer] = await runIn([call], "all");
    return answer ?? answerOther(toTx(single), call);
  }

  function sizeOfBatch(waiting: readonly Waiting[]): number {
    let taken = 0;
    const end = waiting.findIndex(({ call }, index) => {
      taken += sizeOf(call);
      return index > 0 && taken > mostTogether;
    });
    return end === -1 ? waiting.length : end;
  }

  const makeAlone = ({ call, resolve, reject }: Waiting) => alone(call).then(resolve, reject);

  async function send(batch: Waiting[], answered: () => void): Promise<void> {
    const [first] = batch;
    if (first !== undefined && batch.length === 1) {
      await makeAlone(first).finally(answered);
      return;
    }
    const calls = batch.map(({ call }) => call);
    const outcome = await runIn(calls, "free").catch((error: unknown) => ({ error }));
    answered();
    if (Array.isArray(outcome)) {
      // Not one behind the other: what one lane waits for is not the others'.
      await Promise.all(
        batch.map((waiting, index) => {
          const answer = outcome[index];
          return answer === undefined ? makeAlone(waiting) : waiting.resolve(answer);
        }),
      );
    } else if (outcome.error instanceof AppError) for (const { reject } of batch) reject(outcome.error);
    else for (const waiting of batch) await makeAlone(waiting);
  }

  const batching = createBatching<Waiting>({ sizeOf: sizeOfBatch, send, cores: 2 });
  return (...call) =>
    new Promise((resolve, reject) => {
      batching.add({ call, resolve, reject });
    });
}

export function bindJoint(database: Database, { claimRun, recordAttempts }: JointTransactions): JointMethods {
  return { claimRun: createSharing(database, claimRun), recordAttempts: createSharing(database, recordAttempts) };
}
