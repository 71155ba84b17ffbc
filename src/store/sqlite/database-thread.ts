import { availableParallelism } from "node:os";
import type { Maintenance, StoreHealth } from "../../core/ports/administration.ts";
import { createBatching } from "../batching.ts";
import type { Call, CallResult, Commit } from "./group-commit.ts";
import { type LineOptions, openLine } from "./thread-line.ts";
import {
  type Answers,
  bodyLengthOf,
  fromWireResult,
  packCalls,
  type ThreadData,
  type ToThread,
} from "./thread-protocol.ts";

type Question = ToThread extends infer M ? (M extends ToThread ? Omit<M, "id"> : never) : never;

/** What one message to a thread holds at most; more waits for the next, so that a flood delays no commit for long. */
const maxCallsPerBatch = 512;
const maxBodyBytesPerBatch = 16 * 1024 * 1024;

export interface DatabaseThread {
  /** Resolves when the commit that holds the call is on disk. Calls commit in the order they were made. */
  call(call: Call): Promise<unknown>;
  health(): Promise<StoreHealth>;
  maintain(now: number): Promise<Maintenance>;
  backup(path: string): Promise<void>;
  /** Ends it after the calls that were made before. */
  close(): Promise<void>;
}

export interface DatabaseThreadOptions extends LineOptions {
  /** Called after each batch has been answered. */
  onCommitted?: (calls: Call[], commit: Commit) => void;
}

interface Waiting {
  call: Call;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * A thread that owns a database connection. It takes the next batch of calls when the last is on disk (batching.ts):
 * an idle store answers a single call after its own sync, a busy one shares a sync among all that came meanwhile.
 *
 * @throws what opening the database throws.
 */
export async function startDatabaseThread(data: ThreadData, options: DatabaseThreadOptions): Promise<DatabaseThread> {
  const line = await openLine<Question, Answers>(data, options);
  const batching = createBatching<Waiting>({
    sizeOf: batchSizeOf,
    send,
    cores: availableParallelism(),
    waitsForOthers: data.readOnly,
  });

  async function send(batch: Waiting[], answered: () => void): Promise<void> {
    const calls = batch.map((entry) => entry.call);
    const answer = await askFor(calls).catch((error: Error) => error);
    // Before the callers go on: what they do next must not keep the thread idle.
    answered();
    if (answer instanceof Error) {
      for (const entry of batch) entry.reject(answer);
      return;
    }
    const results = calls.map((call, index) => fromWireResult(answer.results[index], call));
    settle(batch, results);
    options.onCommitted?.(calls, { ...answer, results });
  }

  async function askFor(calls: Call[]): Promise<Answers["calls"]> {
    const packed = packCalls(calls);
    return line.ask({ kind: "calls", ...packed }, packed.bodies ? [packed.bodies.buffer] : []);
  }

  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        batching.add({ call, resolve, reject });
      }),
    health: () => line.ask({ kind: "health" }),
    maintain: (now) => line.ask({ kind: "maintain", now }),
    backup: (path) => line.ask({ kind: "backup", path }),
    async close() {
      await batching.settled();
      await line.end();
    },
  };
}

function batchSizeOf(waiting: readonly Waiting[]): number {
  let bytes = 0;
  let size = 0;
  for (const { call } of waiting) {
    bytes += bodyLengthOf(call);
    if (size === maxCallsPerBatch || (size > 0 && bytes > maxBodyBytesPerBatch)) break;
    size += 1;
  }
  return size;
}

function settle(batch: Waiting[], results: CallResult[]): void {
  batch.forEach((entry, index) => {
    const result = results[index] as CallResult;
    if (result.ok) entry.resolve(result.value);
    else entry.reject(result.error);
  });
}
