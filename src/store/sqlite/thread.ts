import { parentPort, workerData } from "node:worker_threads";
import { type DatabaseSession, openSession } from "./database-session.ts";
import type { Call, CallResult } from "./group-commit.ts";
import { type AnswerKept, keepAnswers } from "./kept-answers.ts";
import {
  type Answers,
  type FromThread,
  type ThreadData,
  type ToThread,
  toWireError,
  toWireResult,
  unpackCalls,
  type WireResult,
} from "./thread-protocol.ts";

/** Entry of a database thread: opens one connection and serves calls until it is told to close. */
function serve(): void {
  const port = parentPort;
  if (!port) throw new Error("this file is the entry of a thread");
  const say = (message: FromThread) => port.postMessage(message);
  const data = workerData as ThreadData;
  let session: DatabaseSession;
  try {
    session = openSession(data);
  } catch (error) {
    say({ kind: "not_opened", error: toWireError(error) });
    port.close();
    return;
  }
  const answerKept = data.readOnly ? keepAnswers(session.dataVersion) : undefined;
  port.on("message", async (message: ToThread) => {
    const { id } = message;
    try {
      say({ kind: "answer", id, answer: await answer(session, message, answerKept) });
    } catch (error) {
      say({ kind: "failure", id, error: toWireError(error) });
    }
    if (message.kind === "calls") session.copyLog();
    if (message.kind === "close") port.close();
  });
  say({ kind: "ready" });
}

async function answer(
  session: DatabaseSession,
  message: ToThread,
  answerKept: AnswerKept | undefined,
): Promise<Answers[ToThread["kind"]]> {
  switch (message.kind) {
    case "calls": {
      const calls = unpackCalls(message);
      if (answerKept !== undefined) {
        const read = async (call: Call) => (await session.commit([call])).results[0] as CallResult;
        const results: WireResult[] = [];
        for (const call of calls) results.push(await answerKept(call, () => read(call)));
        return { results, version: 0 };
      }
      const commit = await session.commit(calls);
      return { ...commit, results: commit.results.map((result, index) => toWireResult(result, calls[index] as Call)) };
    }
    case "health":
      return session.health();
    case "maintain":
      return session.maintain(message.now);
    case "backup":
      await session.backup(message.path);
      return undefined;
    case "close":
      session.close();
      return undefined;
  }
}

serve();
