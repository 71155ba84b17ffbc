import { SpoolFile } from "../spool/spool-file.ts";
import { openSession, type SessionOptions } from "./database-session.ts";
import type { Call, CallResult } from "./group-commit.ts";
import { keepAnswers } from "./kept-answers.ts";
import { serve } from "./thread-line.ts";
import { type CallsAnswer, type PackedCalls, toWireResult, unpackCalls, type WireResult } from "./thread-protocol.ts";

export type ThreadData = Omit<SessionOptions, "now"> | SpoolData;

/** For a thread of a spool instead of a store: see `SpoolFile`. */
interface SpoolData {
  spool: string;
  writtenTo: number;
}

export type ServedSession = ReturnType<typeof open>;

/** One connection of a store, which answers calls. */
function open(options: Omit<SessionOptions, "now">) {
  const session = openSession(options);
  const answerKept = keepAnswers(session.dataVersion);

  async function read(calls: readonly Call[]): Promise<WireResult[]> {
    const readOne = async (call: Call) => (await session.commit([call])).results[0] as CallResult;
    const results: WireResult[] = [];
    for (const call of calls) results.push(await answerKept(call, () => readOne(call)));
    return results;
  }

  return {
    ...session,
    async calls(packed: PackedCalls): Promise<CallsAnswer> {
      const calls = unpackCalls(packed);
      if (options.readOnly) return { results: await read(calls), version: 0 };
      const commit = await session.commit(calls);
      return { ...commit, results: commit.results.map((result, index) => toWireResult(result, calls[index] as Call)) };
    },
    answered: session.copyLog,
  };
}

serve((data: ThreadData) => ("spool" in data ? new SpoolFile(data.spool, data.writtenTo) : open(data)));
