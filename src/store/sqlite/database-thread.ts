import { availableParallelism } from "node:os";
import { createBatching, type Waiting } from "../batching.ts";
import type { Call, CallResult, Commit } from "./group-commit.ts";
import type { ServedSession, ThreadData } from "./thread.ts";
import { type Line, type LineOptions, openLine, type Serving } from "./thread-line.ts";
import { bodyLengthOf, type CallsAnswer, fromWireResult, type PackedCalls, packCalls } from "./thread-protocol.ts";

/** What one message to a thread holds at most; more waits for the next, so that a flood delays no commit for long. */
const mostPerBatch = { items: 512, weight: 16 * 1024 * 1024 };

/** What serves calls, many at a time. */
interface ServesCalls extends Serving {
  calls(packed: PackedCalls): Promise<CallsAnswer>;
}

export interface DatabaseThread<Served extends Serving = ServedSession> extends Pick<Line<Served>, "ask"> {
  /** Resolves when the commit that holds the call is on disk. Calls commit in the order they were made. */
  call(call: Call): Promise<unknown>;
  /** Ends it after the calls that were made before. */
  close(): Promise<void>;
}

export interface DatabaseThreadOptions extends LineOptions {
  /** Called after each batch has been answered. */
  onCommitted?: (calls: Call[], commit: Commit) => void;
}

/**
 * A thread that owns a database connection. It takes the next batch of calls when the last is on disk (batching.ts):
 * an idle store answers a single call after its own sync, a busy one shares a sync among all that came meanwhile.
 *
 * @throws what opening the database throws.
 */
export async function startDatabaseThread<Served extends ServesCalls = ServedSession>(
  data: ThreadData,
  options: DatabaseThreadOptions,
): Promise<DatabaseThread<Served>> {
  const line = await openLine<Served>(data, options);
  const { make, settled } = createBatching<Call, unknown>({
    most: mostPerBatch,
    weightOf: bodyLengthOf,
    send,
    cores: availableParallelism(),
    waitsForOthers: "readOnly" in data && data.readOnly,
  });

  async function send(batch: Waiting<Call, unknown>[], answered: () => void): Promise<void> {
    const calls = batch.map((entry) => entry.call);
    const answer = await askFor(calls).catch((error: Error) => error);
    // Before the callers go on: what they do next must not keep the thread idle.
    answered();
    if (answer instanceof Error) {
      for (const entry of batch) entry.reject(answer);
      return;
    }
    const results = calls.map((call, index) => fromWireResult(answer.results[index], call));
    batch.forEach(({ resolve, reject }, index) => {
      const result = results[index] as CallResult;
      if (result.ok) resolve(result.value);
      else reject(result.error);
    });
    options.onCommitted?.(calls, { ...answer, results });
  }

  async function askFor(calls: Call[]): Promise<CallsAnswer> {
    const packed = packCalls(calls);
    return (line as Line<ServesCalls>).ask("calls", [packed], packed.bodies ? [packed.bodies.buffer] : []);
  }

  return {
    ask: line.ask,
    call: make,
    async close() {
      await settled();
      await line.end();
    },
  };
}
