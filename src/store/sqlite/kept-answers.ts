import type { AlertsFound, OverTime } from "../../core/ports/alert-log.ts";
import type { Call, CallResult } from "./group-commit.ts";
import { toWireResult, type WireResult } from "./thread-protocol.ts";

/** Characters of questions and answers together: some twenty pages of the log. */
const mostKept = 2_000_000;

/** Says that an answer is all of it: one that ended because its time was over may be longer the next time. */
type IsWhole = (value: unknown, args: unknown[]) => boolean;
const always: IsWhole = () => true;

/** Answers that follow from what is stored alone, to questions that pages ask again and again. */
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
 * Gives answers of the reading thread again, as text, for as long as nothing was committed: `dataVersion` is SQLite's own
 * number of what this connection sees, and any commit of another connection changes it. Asked before the reading: what is
 * committed in between makes an answer newer than its number, never older.
 *
 * @param most characters that are kept; with the next commit all of it goes.
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
