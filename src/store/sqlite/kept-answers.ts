import type { AlertsFound, OverTime } from "../../core/ports/alert-log.ts";
import type { Call, CallResult } from "./group-commit.ts";
import { toWireResult, type WireResult } from "./thread-protocol.ts";

/** Characters of questions and answers together: some twenty pages of the log. */
const mostKept = 2_000_000;

/** Whether the answer is complete. One that ended at a time limit may be longer the next time. */
type IsWhole = (value: unknown, args: unknown[]) => boolean;
const always: IsWhole = () => true;

/** Questions that pages ask again and again, and whose answers depend only on stored data. */
const steady: Partial<Record<Call["name"], IsWhole>> = {
  listAlertsWithin: (value) => (value as AlertsFound).stopped === undefined,
  countOverTime: (value) => !(value as OverTime).isMore,
  countMatches: (value, [query]) => {
    const { count, isMore } = value as { count: number; isMore: boolean };
    return !isMore || count >= (query as { limit: number }).limit;
  },
  countByDestination: always,
  neighbours: always,
  keyHistory: always,
};

export type AnswerKept = (call: Call, read: () => Promise<CallResult>) => Promise<WireResult>;

/**
 * Keeps answers of the reading thread, as text, until something is committed. SQLite's `dataVersion` changes with any commit of
 * another connection. It is asked before the reading, so an answer is never older than its number.
 * @param most characters that are kept. The next commit drops all of them.
 */
export function keepAnswers(dataVersion: () => number, most = mostKept): AnswerKept {
  const kept = new Map<string, string>();
  let version: number | undefined;
  let size = 0;

  function forgetAll(): void {
    kept.clear();
    size = 0;
  }

  return async (call, read) => {
    const isWhole = steady[call.name];
    if (isWhole === undefined) return toWireResult(await read(), call);
    const current = dataVersion();
    if (current !== version) forgetAll();
    version = current;
    const question = `${call.name} ${JSON.stringify(call.arguments)}`;
    const known = kept.get(question);
    if (known !== undefined) return { ok: true, json: known };
    const result = await read();
    const answer = toWireResult(result, call);
    if (!result.ok || answer === "accepted" || !("json" in answer)) return answer;
    if (!isWhole(result.value, call.arguments)) return answer;
    const length = question.length + answer.json.length;
    if (size + length > most) forgetAll();
    if (length > most) return answer;
    kept.set(question, answer.json);
    size += length;
    return answer;
  };
}
