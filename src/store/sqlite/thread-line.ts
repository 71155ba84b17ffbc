import { once } from "node:events";
import { type MessagePort, parentPort, Worker } from "node:worker_threads";
import { AppError } from "../../core/errors.ts";
import { inTurn } from "./in-turn.ts";

/** What a thread does for others: they call its methods by name, one after another, and `close` ends it. */
export interface Serving {
  close(): unknown;
  /** Called behind each answer. */
  answered?(): void;
}

type Given<Method> = Method extends (...given: infer G) => unknown ? G : never;
type Answer<Method> = Method extends (...given: never[]) => infer Result ? Awaited<Result> : never;

/** The way to one thread. When the thread ends, all that wait are rejected: nobody waits for ever. */
export interface Line<Served extends Serving> {
  ask<K extends keyof Served & string>(
    method: K,
    given: Given<Served[K]>,
    transfer?: ArrayBuffer[],
  ): Promise<Answer<Served[K]>>;
  end(): Promise<void>;
}

export interface LineOptions {
  /** Its compiled file, which calls `serve`. Default: `thread.js` next to this file. */
  entry?: URL;
  /** The thread was open and has ended, though nobody closed it: every call from now on is refused. */
  onStopped?: (error: Error) => void;
  /** What such a call is answered, and what helps. Default: that of the relay's log, which only a restart brings back. */
  stopped?: { message: string; hint: string };
}

type FromThread =
  | { kind: "ready" }
  | { kind: "not_opened"; error: WireError }
  | { kind: "answer"; id: number; answer: unknown }
  | { kind: "failure"; id: number; error: WireError };

/** Structured cloning strips an error of its class and its fields. */
export type WireError = Pick<Error, "message" | "stack"> & Partial<Pick<AppError, "code" | "hint" | "retryAfterMs">>;

/**
 * The part of a thread's heap for new objects. What a commit leaves behind is short-lived, and V8's own bound of 48 MB
 * stays full for good after a flood. The smaller bound changes no rate by more than noise.
 */
const maxYoungGenerationSizeMb = 8;

const ownEntry = new URL("./thread.js", import.meta.url);
let ahead: Worker | undefined;

/**
 * Starts the thread that the next line to the own entry takes, so that it loads while this thread is busy with something else. It keeps no
 * process from ending. Where it fails, that line starts another.
 */
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

/** @throws what opening the database throws. */
export async function openLine<Served extends Serving>(data: object, options: LineOptions): Promise<Line<Served>> {
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
      // Only now: what cannot be sent has thrown, and nobody would answer it.
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

/** The other end: what the entry of a thread does. The first message says what to open. */
export function serve<Data>(open: (data: Data) => Serving): void {
  const port = parentPort;
  if (!port) throw new Error("this file is the entry of a thread");
  port.once("message", (data: Data) => answerCalls(port, () => open(data)));
}

function answerCalls(port: MessagePort, open: () => Serving): void {
  const say = (message: FromThread) => port.postMessage(message);
  let serving: Serving;
  try {
    serving = open();
  } catch (error) {
    say({ kind: "not_opened", error: toWireError(error) });
    port.close();
    return;
  }
  const methods = serving as unknown as Record<string, (...given: unknown[]) => unknown>;
  port.on("message", ({ id, method, given }: { id: number; method: string; given: unknown[] }) =>
    inTurn(async () => {
      try {
        say({ kind: "answer", id, answer: await methods[method]?.(...given) });
      } catch (error) {
        say({ kind: "failure", id, error: toWireError(error) });
      }
      if (method === "close") port.close();
      else serving.answered?.();
    }),
  );
  say({ kind: "ready" });
}

export function toWireError(error: unknown): WireError {
  if (error instanceof AppError) {
    return { code: error.code, message: error.message, hint: error.hint, retryAfterMs: error.retryAfterMs };
  }
  if (error instanceof Error) return { message: error.message, stack: error.stack };
  return { message: String(error) };
}

export function fromWireError(wire: WireError): Error {
  if (wire.code !== undefined) {
    return new AppError(wire.code, wire.message, { hint: wire.hint, retryAfterMs: wire.retryAfterMs });
  }
  const error = new Error(wire.message);
  if (wire.stack !== undefined) error.stack = wire.stack;
  return error;
}
