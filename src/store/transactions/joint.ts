import type { LaneFence } from "../../core/ports/lanes.ts";
import type { Tx, WhichLanes } from "../tx.ts";

/** The arguments of the port's method. */
export type JointCall = [lane: LaneFence, parts: readonly { deliverySeqs: number[] }[]];

/** A transaction that calls of several lanes may share. */
export interface Joint<Call extends JointCall, Answer> {
  /** The calls ask nothing besides their first statement. */
  isOneStatement(calls: readonly Call[]): boolean;
  /** Answers each call. Undefined: nothing was written for its lane; with `free`, nothing was written at all. */
  run(tx: Tx, calls: readonly Call[], which: WhichLanes): Promise<(Answer | undefined)[]>;
  /** The answer to a call for whose lane nothing was written. */
  answerOther(tx: Tx, call: Call): Promise<Answer>;
}

/** For one call alone. */
export async function runJoint<Call extends JointCall, Answer>(
  tx: Tx,
  { run, answerOther }: Joint<Call, Answer>,
  call: Call,
): Promise<Answer> {
  const [answer] = await run(tx, [call], "all");
  return answer ?? answerOther(tx, call);
}
