import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { AppError } from "../../core/errors.ts";
import { type FromThread, fromWireError } from "./thread-protocol.ts";

/**
 * Questions and answers with one thread, by the kind of the question. When the thread ends, whoever waits is rejected: nobody waits
 * for ever.
 */
export interface Line<Question extends { kind: keyof Answers }, Answers> {
  ask<K extends keyof Answers>(question: Question & { kind: K }, transfer?: ArrayBuffer[]): Promise<Answers[K]>;
  end(): Promise<void>;
}

export interface LineOptions {
  /** Its compiled file. It ends by itself when it has answered `{ kind: "close" }`. */
  entry: URL;
  /** The thread has ended though nobody closed it: every call from now on is refused. */
  onStopped?: (error: Error) => void;
}

/**
 * Of a thread's heap, for what is new: what a commit leaves behind is short-lived, and V8's own bound of 48 MB stays
 * full for good after a flood. It costs no rate that can be told from the noise.
 */
const maxYoungGenerationSizeMb = 8;

/** @throws what opening the database throws. */
export async function openLine<Question extends { kind: keyof Answers }, Answers>(
  data: object,
  options: LineOptions,
): Promise<Line<Question, Answers>> {
  const worker = new Worker(options.entry, { workerData: data, resourceLimits: { maxYoungGenerationSizeMb } });
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

  const ask = <Answer>(question: object, transfer: ArrayBuffer[] = []): Promise<Answer> =>
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
