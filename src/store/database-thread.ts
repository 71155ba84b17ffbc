import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { AppError } from "../core/errors.ts";
import type { StoreHealth, StoreMaintenance } from "../core/store.ts";
import type { Call } from "./group-commit.ts";
import {
  type Answers,
  bodyLengthOf,
  type FromThread,
  fromWireError,
  packBodies,
  type ThreadData,
  type ToThread,
  type WireResult,
} from "./thread-protocol.ts";

/** What one message to a thread holds at most; more waits for the next, so that a flood delays no commit for long. */
const maxCallsPerBatch = 512;
const maxBodyBytesPerBatch = 16 * 1024 * 1024;

export interface DatabaseThread {
  /** Resolves when the commit that holds the call is on disk. Calls commit in the order they were made. */
  call(call: Call): Promise<unknown>;
  health(): Promise<StoreHealth>;
  maintain(): Promise<StoreMaintenance>;
  backup(path: string): Promise<void>;
  /** Ends it after the calls that were made before. */
  close(): Promise<void>;
}

export interface DatabaseThreadOptions {
  /** The compiled `thread.ts`. */
  entry: URL;
  /** Called after each batch with the version that the database is at by then. */
  onVersion?: (version: number) => void;
  /** The thread has ended though nobody closed it: every call from now on is refused. */
  onStopped?: (error: Error) => void;
}

interface Waiting {
  call: Call;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * A thread that owns a database connection. It takes the next batch of calls when the last is on disk: an idle store
 * answers a single call after its own sync, a busy one shares a sync among all that came meanwhile.
 *
 * @throws what opening the database throws.
 */
export async function startDatabaseThread(
  data: ThreadData,
  options: DatabaseThreadOptions,
): Promise<DatabaseThread> {
  const line = await openLine(data, options);
  let waiting: Waiting[] = [];
  let current: Promise<void> | undefined;

  function sendNext(): void {
    const batch = waiting.slice(0, batchSizeOf(waiting));
    waiting = waiting.slice(batch.length);
    current = batch.length === 0 ? undefined : sendBatch(batch);
  }

  async function sendBatch(batch: Waiting[]): Promise<void> {
    const answer = await askFor(batch).catch((error: Error) => error);
    // Before the callers go on: what they do next must not keep the thread idle.
    sendNext();
    if (answer instanceof Error) {
      for (const entry of batch) entry.reject(answer);
      return;
    }
    settle(batch, answer.results);
    options.onVersion?.(answer.version);
  }

  async function askFor(batch: Waiting[]): Promise<Answers["calls"]> {
    const { calls, bodies } = packBodies(batch.map((entry) => entry.call));
    return line.ask({ kind: "calls", calls, bodies }, bodies ? [bodies.buffer] : []);
  }

  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        waiting.push({ call, resolve, reject });
        if (!current) sendNext();
      }),
    health: () => line.ask({ kind: "health" }),
    maintain: () => line.ask({ kind: "maintain" }),
    backup: (path) => line.ask({ kind: "backup", path }),
    async close() {
      while (current) await current;
      await line.end();
    },
  };
}

function batchSizeOf(waiting: Waiting[]): number {
  let bytes = 0;
  let size = 0;
  for (const { call } of waiting) {
    bytes += bodyLengthOf(call);
    if (size === maxCallsPerBatch || (size > 0 && bytes > maxBodyBytesPerBatch)) break;
    size += 1;
  }
  return size;
}

function settle(batch: Waiting[], results: WireResult[]): void {
  batch.forEach((entry, index) => {
    const result = results[index];
    if (result?.ok) entry.resolve(result.value);
    else entry.reject(result ? fromWireError(result.error) : new Error("the store gave no result"));
  });
}

type Question = ToThread extends infer M ? (M extends ToThread ? Omit<M, "id"> : never) : never;

/** Questions and answers with one thread. When the thread ends, whoever waits is told so: nobody waits for ever. */
interface Line {
  ask<K extends Question["kind"]>(
    question: Extract<Question, { kind: K }>,
    transfer?: ArrayBuffer[],
  ): Promise<Answers[K]>;
  end(): Promise<void>;
}

async function openLine(data: ThreadData, options: DatabaseThreadOptions): Promise<Line> {
  const worker = new Worker(options.entry, { workerData: data });
  const open = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  let ending = false;
  let gone: Error | undefined;

  function fail(error: Error): void {
    if (gone) return;
    gone = error;
    for (const question of open.values()) question.reject(error);
    open.clear();
    if (!ending) options.onStopped?.(error);
  }

  function take(id: number) {
    const question = open.get(id);
    open.delete(id);
    return question;
  }

  await new Promise<void>((resolve, reject) => {
    worker.on("message", (message: FromThread) => {
      switch (message.kind) {
        case "ready":
          resolve();
          return;
        case "not_opened":
          ending = true;
          reject(fromWireError(message.error));
          return;
        case "answer":
          take(message.id)?.resolve(message.answer);
          return;
        case "failure":
          take(message.id)?.reject(fromWireError(message.error));
          return;
      }
    });
    const stop = (cause?: unknown) => {
      const error = stoppedError(cause);
      reject(error);
      fail(error);
    };
    worker.on("error", stop);
    worker.on("messageerror", stop);
    worker.on("exit", () => stop());
  });

  const ask: Line["ask"] = (question, transfer = []) =>
    new Promise((resolve, reject) => {
      if (gone) throw gone;
      lastId += 1;
      const id = lastId;
      worker.postMessage({ ...question, id }, transfer);
      // Only now: what cannot be sent has thrown, and nobody would answer it.
      open.set(id, { resolve: resolve as (answer: unknown) => void, reject });
    });

  return {
    ask,
    async end() {
      if (gone) return;
      ending = true;
      const exited = once(worker, "exit");
      await ask({ kind: "close" });
      await exited;
    },
  };
}

function stoppedError(cause?: unknown): AppError {
  return new AppError("store_unavailable", "The database thread has stopped.", {
    hint: "Restart Tocsin; everything that was answered 202 is on disk.",
    cause,
    retryAfterMs: 10_000,
  });
}
