import { once } from "node:events";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { AppError } from "../../core/errors.ts";
import { createBatching, type Waiting } from "../batching.ts";
import type { Call, CallResult, Commit } from "./group-commit.ts";
import type { ServedSession, ThreadData } from "./thread.ts";
import { type FromThread, fromWireError, type Serving } from "./thread-line.ts";
import { bodyLengthOf, type CallsAnswer, fromWireResult, type PackedCalls, packCalls } from "./thread-protocol.ts";

/** The limit of one message to a thread. More waits for the next one, so that a flood delays no commit for long. */
const mostPerBatch = { items: 512, weight: 16 * 1024 * 1024 };

/** A thread that serves calls, many at a time. */
interface ServesCalls extends Serving {
  calls(packed: PackedCalls): Promise<CallsAnswer>;
}

type Given<Method> = Method extends (...given: infer G) => unknown ? G : never;
type Answer<Method> = Method extends (...given: never[]) => infer Result ? Awaited<Result> : never;

export interface DatabaseThread<Served extends Serving = ServedSession> {
  ask<K extends keyof Served & string>(method: K, given: Given<Served[K]>): Promise<Answer<Served[K]>>;
  /** Resolves when the commit that holds the call is on disk. Calls commit in the order they were made. */
  call(call: Call): Promise<unknown>;
  /** Ends the thread after the calls that were made before. */
  close(): Promise<void>;
}

export interface DatabaseThreadOptions {
  /** The thread's compiled file, which calls `serve`. Default: `thread.js` next to this file. */
  entry?: URL;
  /** Called when the open thread has ended and nobody closed it. Every later call is refused. */
  onStopped?: (error: Error) => void;
  /** The error of such calls, with a hint. Default: that of the relay's log, which only a restart brings back. */
  stopped?: { message: string; hint: string };
  /** Called after each batch was answered. */
  onCommitted?: (calls: Call[], commit: Commit) => void;
}

/** The part of a thread's heap for new objects. V8's default of 48 MB stays in use after a flood. */
const maxYoungGenerationSizeMb = 8;

const ownEntry = new URL("./thread.js", import.meta.url);
let ahead: Worker | undefined;

/** Starts a thread for the next caller of `startDatabaseThread`, to load in the meantime. It keeps no process from ending. */
export function startThreadAhead(): void {
  const worker = startThread(ownEntry);
  worker.unref();
  ahead = worker;
  const forget = () => {
    if (ahead === worker) ahead = undefined;
  };
  worker.once("error", forget).once("exit", forget);
}

function takeThread(entry: URL): Worker {
  if (entry !== ownEntry || ahead === undefined) return startThread(entry);
  const worker = ahead;
  ahead = undefined;
  worker.ref();
  return worker;
}

const startThread = (entry: URL) => new Worker(entry, { resourceLimits: { maxYoungGenerationSizeMb } });

const logStopped = {
  message: "The database thread has stopped.",
  hint: "Restart Tocsin; everything that was answered 202 is on disk.",
};

/** The connection to one thread. When the thread ends, all waiting calls are rejected. Throws the error of opening. */
async function openLine(data: object, options: DatabaseThreadOptions) {
  const { entry = ownEntry, onStopped, stopped = logStopped } = options;
  const worker = takeThread(entry);
  worker.postMessage(data);
  const open = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  let isOpen = false;
  let gone: Error | undefined;

  function fail(error: Error): void {
    if (gone) return;
    gone = error;
    for (const question of open.values()) question.reject(error);
    open.clear();
    if (isOpen) onStopped?.(error);
  }

  function take(id: number) {
    const question = open.get(id);
    open.delete(id);
    return question;
  }

  await new Promise<void>((resolve, reject) => {
    worker.on("message", (message: FromThread) => {
      if (message.kind === "answer") take(message.id)?.resolve(message.answer);
      else if (message.kind === "failure") take(message.id)?.reject(fromWireError(message.error));
      else if (message.kind === "not_opened") reject(fromWireError(message.error));
      else {
        isOpen = true;
        resolve();
      }
    });
    const stop = (cause?: unknown) => {
      const { message, hint } = stopped;
      const error = new AppError("store_unavailable", message, { hint, cause, retryAfterMs: 10_000 });
      reject(error);
      fail(error);
    };
    worker.on("error", stop);
    worker.on("messageerror", stop);
    worker.on("exit", () => stop());
  });

  const ask = <Answer>(method: string, given: unknown[], transfer: ArrayBuffer[] = []): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (gone) throw gone;
      lastId += 1;
      const id = lastId;
      worker.postMessage({ id, method, given }, transfer);
      // After sending: a call that cannot be sent has thrown, and would never be answered.
      open.set(id, { resolve: resolve as (answer: unknown) => void, reject });
    });

  return {
    ask,
    async end() {
      if (gone) return;
      isOpen = false;
      const exited = once(worker, "exit");
      await ask("close", []);
      await exited;
    },
  };
}

/**
 * A thread that owns a database connection. It takes the next batch of calls when the last one is on disk (batching.ts). An idle
 * store answers a call after the call's own sync. In a busy one, all calls that came meanwhile share a sync.
 * @throws the error of opening the database.
 */
export async function startDatabaseThread<Served extends ServesCalls = ServedSession>(
  data: ThreadData,
  options: DatabaseThreadOptions,
): Promise<DatabaseThread<Served>> {
  const { ask, end } = await openLine(data, options);
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
    // Sent before the callers continue, since their next steps must not keep the thread idle.
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
    return ask("calls", [packed], packed.bodies ? [packed.bodies.buffer] : []);
  }

  return {
    ask,
    call: make,
    async close() {
      await settled();
      await end();
    },
  };
}
