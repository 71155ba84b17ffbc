import { Worker } from "node:worker_threads";
import { AppError } from "../core/errors.ts";
import type { StoreHealth } from "../core/store.ts";
import type { Call } from "./group-commit.ts";
import {
  type FromThread,
  fromWireError,
  packBodies,
  type ThreadData,
  type ToThread,
  type WireResult,
} from "./thread-protocol.ts";

/** Calls of one message to a thread; more wait for the next, so that a flood delays no commit for long. */
const maxCallsPerBatch = 512;

export interface DatabaseThread {
  call(call: Call): Promise<unknown>;
  health(): Promise<StoreHealth>;
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}

interface Waiting {
  call: Call;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Reply = Extract<FromThread, { id: number }>;

/**
 * A thread that owns a database connection. It takes the next batch of calls when the last is on disk: an idle store
 * answers a single call after its own sync, a busy one shares a sync among all that came meanwhile.
 */
export async function startDatabaseThread(
  data: ThreadData,
  options: { entry: URL; onVersion?: (version: number) => void },
): Promise<DatabaseThread> {
  const worker = new Worker(options.entry, { workerData: data });
  const replies = new Map<number, { resolve(reply: Reply): void; reject(error: Error): void }>();
  let waiting: Waiting[] = [];
  let busy = false;
  let gone: Error | undefined;
  let lastId = 0;

  function fail(error: Error): void {
    gone ??= error;
    for (const reply of replies.values()) reply.reject(gone);
    replies.clear();
    for (const entry of waiting) entry.reject(gone);
    waiting = [];
  }

  function ask(message: (id: number) => ToThread, transfer: ArrayBuffer[] = []): Promise<Reply> {
    if (gone) return Promise.reject(gone);
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      replies.set(id, { resolve, reject });
      worker.postMessage(message(id), transfer);
    });
  }

  function sendBatch(): void {
    if (busy || waiting.length === 0) return;
    busy = true;
    const batch = waiting.length <= maxCallsPerBatch ? waiting : waiting.slice(0, maxCallsPerBatch);
    waiting = waiting.slice(batch.length);
    const { calls, bodies } = packBodies(batch.map((entry) => entry.call));
    ask((id) => ({ kind: "calls", id, calls, bodies }), bodies ? [bodies.buffer as ArrayBuffer] : []).then(
      (reply) => {
        busy = false;
        sendBatch();
        if (reply.kind === "results") settle(batch, reply.results);
        if (reply.kind === "results") options.onVersion?.(reply.version);
      },
      (error: Error) => {
        for (const entry of batch) entry.reject(error);
      },
    );
  }

  await new Promise<void>((resolve, reject) => {
    worker.on("message", (message: FromThread) => {
      if (message.kind === "ready") resolve();
      else if (message.kind === "failed") reject(fromWireError(message.error));
      else {
        const reply = replies.get(message.id);
        replies.delete(message.id);
        reply?.resolve(message);
      }
    });
    worker.on("error", (error) => {
      reject(error);
      fail(stoppedError(error));
    });
    worker.on("exit", () => {
      reject(stoppedError());
      fail(stoppedError());
    });
  });

  async function done(message: (id: number) => ToThread): Promise<void> {
    const reply = await ask(message);
    if (reply.kind === "done" && reply.error) throw fromWireError(reply.error);
  }

  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        if (gone) return reject(gone);
        waiting.push({ call, resolve, reject });
        sendBatch();
      }),
    async health() {
      const reply = await ask((id) => ({ kind: "health", id }));
      if (reply.kind !== "health") throw new Error(`unexpected reply ${reply.kind}`);
      return reply.health;
    },
    backup: (path) => done((id) => ({ kind: "backup", id, path })),
    close: () => done((id) => ({ kind: "close", id })),
  };
}

function settle(batch: Waiting[], results: WireResult[]): void {
  batch.forEach((entry, index) => {
    const result = results[index];
    if (result?.ok) entry.resolve(result.value);
    else entry.reject(result ? fromWireError(result.error) : new Error("the store gave no result"));
  });
}

function stoppedError(cause?: unknown): AppError {
  return new AppError("store_unavailable", "The database thread has stopped.", {
    hint: "Restart Tocsin; everything that was answered 202 is on disk.",
    cause,
    retryAfterMs: 10_000,
  });
}
