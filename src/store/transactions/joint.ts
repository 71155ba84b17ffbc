import type { Tx, WhichLanes } from "../tx.ts";

/** A transaction that calls of several lanes may share. Each call is made of the arguments of the port's method. */
export interface Joint<Call extends unknown[], Answer> {
  /** How much of a transaction a call takes. */
  sizeOf(call: Call): number;
  /** The calls ask nothing besides their first statement. */
  isOneStatement(calls: readonly Call[]): boolean;
  /** Answers each call. Undefined: nothing was written for its lane; with `free`, nothing was written at all. */
  run(tx: Tx, calls: readonly Call[], which: WhichLanes): Promise<(Answer | undefined)[]>;
  /** The answer to a call for whose lane nothing was written. */
  answerOther(tx: Tx, call: Call): Promise<Answer>;
}

/** For one call alone. */
export async function runJoint<Call extends unknown[], Answer>(
  tx: Tx,
  { run, answerOther }: Joint<Call, Answer>,
  call: Call,
): Promise<Answer> {
  const [answer] = await run(tx, [call], "all");
  return answer ?? answerOther(tx, call);
}
