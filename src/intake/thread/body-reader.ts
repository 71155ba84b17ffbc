import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import type { BodyReader, BodyReading, StoredBody } from "../../core/ports/body-reader.ts";
import { type FromReadingThread, finished, fromWire, packOrder, type WireReading } from "./protocol.ts";
import { createReadingTime } from "./reading-time.ts";

export interface BodyReaderOptions {
  /** The compiled entry of the thread. Default: beside this file. */
  entry?: URL;
  /**
   * Processor time that one body may take, and as much again for each MiB of it. Default 1 s: reading a MiB takes a
   * tenth of that.
   */
  limitMs?: number;
  /** Memory of the thread. Default 256 MB, and 64 more for each MiB above the first that a body may have. */
  maxHeapMb?: number;
  /** The largest body that the hook takes. Default 1 MiB. */
  maxBodyBytes?: number;
}

/** A reader with a thread of its own. */
export interface ReadingThread extends BodyReader {
  /** Why nothing can be read at present: no thread can be started. Undefined when all is well. */
  problem(): string | undefined;
  /** What is being read is `not_read`. */
  close(): Promise<void>;
}

const mebibyte = 1024 * 1024;
/** Bodies of one order, or one that is larger: what is read before the thread answers lies in its memory until then. */
const maxOrderBytes = 256 * 1024;
/** A thread that says nothing for this long after its start will not say anything. */
const startLimitMs = 30_000;

const stopped = { kind: "not_read", reason: "the relay is being stopped" } as const;

/** What became of one order. `ended`: the thread is gone, and it was reading the body at `at` (from 0), if any. */
type Outcome =
  | { kind: "answered"; readings: WireReading[] }
  | { kind: "ended"; at: number | undefined; reason: string }
  | { kind: "not_read"; reason: string };

interface Thread {
  worker: Worker;
  progress: Int32Array;
  /** Undefined when it is ready, otherwise why it is not. */
  started: Promise<string | undefined>;
  /** Who waits for an answer, or for the end. */
  onAnswer?: (readings: WireReading[]) => void;
  onEnd?: (reason: string) => void;
}

/**
 * Reads bodies in a thread that can be ended. The thread says in shared memory at which body it is; when that takes too
 * long, or the thread dies (memory, a crash), this body is `unreadable`, and the others of its order are read by a new
 * thread.
 */
export function createBodyReader(options: BodyReaderOptions = {}): ReadingThread {
  const { limitMs = 1_000, maxBodyBytes = mebibyte } = options;
  const { entry = new URL("./thread.js", import.meta.url) } = options;
  const maxHeapMb = options.maxHeapMb ?? 192 + 64 * Math.ceil(maxBodyBytes / mebibyte);
  let thread: Thread | undefined = startThread();
  let problem: string | undefined;
  let isClosed = false;
  let last: Promise<unknown> = Promise.resolve();

  function startThread(): Thread {
    const progress = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(entry, {
      workerData: { progress: progress.buffer },
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16 },
    });
    const started = new Promise<string | undefined>((resolve) => {
      const timer = setTimeout(() => end("it did not answer"), startLimitMs);
      const settle = (reason: string | undefined) => {
        clearTimeout(timer);
        resolve(reason);
      };
      function end(reason: string): void {
        if (thread === own) thread = undefined;
        settle(reason);
        own.onEnd?.(reason);
      }
      worker.on("message", (message: FromReadingThread) => {
        if (message.kind === "ready") settle(undefined);
        else own.onAnswer?.(message.readings);
      });
      worker.on("error", (error) => end(describeEnd(error, maxHeapMb)));
      worker.on("messageerror", (error) => end(describeEnd(error, maxHeapMb)));
      worker.on("exit", () => end("the thread that reads ended"));
    });
    const own: Thread = { worker, progress, started };
    return own;
  }

  async function order(bodies: StoredBody[]): Promise<Outcome> {
    if (isClosed) return stopped;
    thread ??= startThread();
    const own = thread;
    const failure = await own.started;
    if (isClosed) return stopped;
    problem = failure;
    if (problem !== undefined) {
      void own.worker.terminate();
      return { kind: "not_read", reason: `no thread for reading can be started: ${problem}` };
    }
    const { bytes, lengths, contentTypes } = packOrder(bodies);
    Atomics.store(own.progress, 0, 0);
    return new Promise((resolve) => {
      const watch = watchProgress(own.progress, bodies, (reason) => own.onEnd?.(reason));
      const settle = (outcome: Outcome) => {
        clearInterval(watch);
        own.onAnswer = undefined;
        own.onEnd = undefined;
        resolve(outcome);
      };
      own.onAnswer = (readings) => settle({ kind: "answered", readings });
      own.onEnd = (reason) => {
        if (thread === own) thread = undefined;
        void own.worker.terminate();
        const place = Atomics.load(own.progress, 0);
        if (isClosed) settle({ kind: "not_read", reason });
        else settle({ kind: "ended", at: place > 0 ? place - 1 : undefined, reason });
      };
      own.worker.postMessage({ bytes, lengths, contentTypes }, [bytes.buffer]);
    });
  }

  /** Looks a few times within the limit whether the thread has got further. */
  function watchProgress(progress: Int32Array, bodies: StoredBody[], onOverdue: (reason: string) => void) {
    const lookEveryMs = limitMs / 4;
    const look = () => ({ now: performance.now(), cpuMs: usedCpuMs() });
    const isOver = createReadingTime({
      lookEveryMs,
      limitOf: (place) => limitOf(bodies[place - 1]?.body),
      start: look(),
    });
    return setInterval(() => {
      const place = Atomics.load(progress, 0);
      if (!isOver({ place, ...look() }) || place === finished) return;
      const seconds = Math.round(limitOf(bodies[place - 1]?.body) / 100) / 10;
      onOverdue(`reading it took longer than ${seconds} s`);
    }, lookEveryMs);
  }

  function limitOf(body: Uint8Array | undefined): number {
    return limitMs * (1 + (body?.length ?? 0) / mebibyte);
  }

  async function readOrder(bodies: StoredBody[]): Promise<BodyReading[]> {
    const readings = new Map<StoredBody, BodyReading>();
    let left = bodies;
    while (left.length > 0) {
      const outcome = await order(left);
      if (outcome.kind !== "ended") {
        for (const [index, body] of left.entries()) readings.set(body, toReading(outcome, index));
        break;
      }
      const { at = left.length === 1 ? 0 : undefined, reason } = outcome;
      if (at === undefined) {
        // It took the order or gave the answer when it ended: which body that was for is found by reading each alone.
        for (const body of left) readings.set(body, (await readOrder([body]))[0] as BodyReading);
        break;
      }
      readings.set(left[at] as StoredBody, { kind: "unreadable", reason });
      left = left.filter((_body, index) => index !== at);
    }
    return bodies.map((body) => readings.get(body) as BodyReading);
  }

  async function readAll(bodies: StoredBody[], signal: AbortSignal | undefined): Promise<BodyReading[]> {
    const readings: BodyReading[] = [];
    for (const part of inOrders(bodies)) {
      if (signal?.aborted) break;
      // In turn, so that a call with many bodies does not keep the next one waiting for all of them.
      const reading = last.then(() => readOrder(part));
      last = reading;
      readings.push(...(await reading));
    }
    return readings;
  }

  return {
    problem: () => problem,
    read(bodies, signal) {
      // Copies, so that one that is given twice is two.
      const reading = readAll(
        bodies.map((body) => ({ ...body })),
        signal,
      );
      return orNotRead(reading, bodies.length, signal);
    },
    async close() {
      isClosed = true;
      const own = thread;
      own?.onEnd?.("the relay is being stopped");
      await own?.worker.terminate();
    },
  };
}

function toReading(outcome: Exclude<Outcome, { kind: "ended" }>, index: number): BodyReading {
  if (outcome.kind === "not_read") return outcome;
  const reading = outcome.readings[index] as WireReading;
  return "facts" in reading
    ? { kind: "read", translations: fromWire(reading) }
    : { kind: "unreadable", reason: reading.problem };
}

function inOrders(bodies: StoredBody[]): StoredBody[][] {
  const orders: StoredBody[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const body of bodies) {
    bytes += body.body.length;
    if (bytes > maxOrderBytes) {
      orders.push([]);
      bytes = body.body.length;
    }
    orders.at(-1)?.push(body);
  }
  return orders;
}

/** The readings, or as many as there are when the signal comes first. */
function orNotRead(
  reading: Promise<BodyReading[]>,
  count: number,
  signal: AbortSignal | undefined,
): Promise<BodyReading[]> {
  const complete = (readings: BodyReading[]) => Array.from({ length: count }, (_, index) => readings[index] ?? stopped);
  if (signal === undefined) return reading;
  return new Promise((resolve) => {
    const stop = () => resolve(complete([]));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    void reading.then((readings) => {
      signal.removeEventListener("abort", stop);
      resolve(complete(readings));
    });
  });
}

function usedCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function describeEnd(error: Error, maxHeapMb: number): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return `reading it needed more than ${maxHeapMb} MB of memory`;
  return `reading it ended the thread: ${error.message}`.slice(0, 300);
}
