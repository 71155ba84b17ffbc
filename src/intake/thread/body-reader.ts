import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import type { FactMapping } from "../../core/mapping.ts";
import type { BodyReader, BodyReading, StoredBody } from "../../core/ports/body-reader.ts";
import type { Source } from "../../core/source.ts";
import { type FromReadingThread, fromWire, packOrder, type ReadingThreadData, type WireReading } from "./protocol.ts";
import { createReadingTime } from "./reading-time.ts";

export interface BodyReaderOptions {
  /** The compiled entry of the thread. Default: beside this file. */
  entry?: URL;
  /**
   * Processor time that one body may take, and as much again for each MiB of it. Default 1 s: reading a MiB takes a
   * tenth of that.
   */
  limitMs?: number;
  /** A thread that has read nothing for this long is ended, and gives its memory back. Default 30 s. */
  restAfterMs?: number;
  /** Memory of the thread. Default 256 MB, and 64 more for each MiB above the first that a body may have. */
  maxHeapMb?: number;
  /** The largest body that the hook takes. Default 1 MiB. */
  maxBodyBytes?: number;
  /** Where facts are looked for before they are guessed. Default: nowhere. */
  mapping?: FactMapping;
  /** Named hooks, each with a mapping that comes before that one. Default: none. */
  sources?: readonly Pick<Source, "name" | "mapping">[];
  /** Says which shape each payload has. Default false. */
  readsShapes?: boolean;
}

/** A reader with a thread of its own. */
export interface ReadingThread extends BodyReader {
  /** Why nothing can be read at present: no thread can be started. Undefined when all is well. */
  problem(): string | undefined;
  /** The next body of this shape is described once more: whoever asks does not know what it is made of. */
  forgetShape(id: string): void;
  /** What is being read is `not_read`. */
  close(): Promise<void>;
}

const mebibyte = 1024 * 1024;
/** Bodies of one order, or one that is larger: what is read before the thread answers lies in its memory until then. */
const maxOrderBytes = 256 * 1024;
/** A thread that says nothing for this long after its start will not say anything. */
const startLimitMs = 30_000;

const stopped = { kind: "not_read", reason: "the relay is being stopped" } as const;

/** Orders that the thread has at once: it reads the second while this side takes the answer to the first. */
const maxPosted = 2;
/** Shapes that wait to be described once more; each unknown one asks again when it comes again. */
const maxForgotten = 100;
/** Places are counted on from order to order, and from 1 again before they outgrow 32 bits. */
const lastPlace = 1_000_000_000;

/** One call of `read`. */
interface Call {
  bodies: StoredBody[];
  /** Orders that the thread was not given yet. */
  waiting: Order[];
  settle(index: number, reading: BodyReading): void;
  /** What has no reading by now has this one. */
  finish(rest: BodyReading): void;
}

/** Bodies of one call that go to the thread together. */
interface Order {
  call: Call;
  /** Their positions in the call. */
  indexes: number[];
  /** The place of the first, since the thread was given it. */
  first: number;
}

interface Thread {
  worker: Worker;
  progress: Int32Array;
  isReady: boolean;
}

/**
 * Reads bodies in a thread that can be ended. The thread says in shared memory at which body it is; when that takes too
 * long, or the thread dies (memory, a crash), this body is `unreadable`, and what else it had is read by a new thread.
 *
 *     call ──▶ orders that wait ──▶ posted, at most two ──▶ answered
 *                   ▲                     │
 *                   └─────────────────────┴─ the thread ends: all but the culprit, or each body of an order alone
 *                                            where nobody knows which it was
 */
export function createBodyReader(options: BodyReaderOptions = {}): ReadingThread {
  const {
    limitMs = 1_000,
    restAfterMs = 30_000,
    maxBodyBytes = mebibyte,
    mapping,
    sources = [],
    readsShapes = false,
  } = options;
  // What else a source has may not be cloned, nor has it any business there.
  const readAs = sources.map(({ name, mapping: own }) => ({ name, mapping: own }));
  const { entry = new URL("./thread.js", import.meta.url) } = options;
  const maxHeapMb = options.maxHeapMb ?? 192 + 64 * Math.ceil(maxBodyBytes / mebibyte);
  const lookEveryMs = limitMs / 4;
  /** Those with orders that wait take turns, so that one with many bodies does not keep the next one waiting. */
  let calls: Call[] = [];
  /** Posted to a thread that ended, and first in turn. */
  let again: Order[] = [];
  let posted: Order[] = [];
  const forgotten = new Set<string>();
  let nextPlace = 1;
  let watch: NodeJS.Timeout | undefined;
  let resting: NodeJS.Timeout | undefined;
  let problem: string | undefined;
  let isClosed = false;
  /** Most bodies are read where they arrive, so it is started for the first that is not. */
  let thread: Thread | undefined;

  function startThread(): Thread {
    const progress = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(entry, {
      workerData: {
        progress: progress.buffer,
        mapping,
        sources: readAs,
        readsShapes,
      } satisfies ReadingThreadData,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16 },
    });
    const own: Thread = { worker, progress, isReady: false };
    const timer = setTimeout(() => end("it did not answer"), startLimitMs);
    const end = (reason: string) => {
      clearTimeout(timer);
      endThread(own, reason);
    };
    worker.on("message", (message: FromReadingThread) => {
      if (thread !== own) return;
      if (message.kind === "answer") return takeAnswer(message.readings);
      clearTimeout(timer);
      own.isReady = true;
      problem = undefined;
      post();
    });
    worker.on("error", (error) => end(describeEnd(error, maxHeapMb)));
    worker.on("messageerror", (error) => end(describeEnd(error, maxHeapMb)));
    worker.on("exit", () => end("the thread that reads ended"));
    return own;
  }

  /** Gives the thread as much as it may have. */
  function post(): void {
    clearTimeout(resting);
    while (posted.length < maxPosted && again.length + calls.length > 0) {
      thread ??= startThread();
      if (!thread.isReady) return;
      const order = again.shift() ?? nextOrder();
      if (nextPlace > lastPlace) nextPlace = 1;
      order.first = nextPlace;
      nextPlace += order.indexes.length;
      posted.push(order);
      const bodies = order.indexes.map((index) => bodyOf(order.call, index));
      const packed = packOrder(bodies, order.first, [...forgotten]);
      thread.worker.postMessage(packed, [packed.bytes.buffer]);
      forgotten.clear();
      watch ??= startWatch(thread.progress);
    }
    if (posted.length === 0) resting = setTimeout(endAtRest, restAfterMs).unref();
  }

  /** The next body starts another. */
  function endAtRest(): void {
    const own = thread;
    thread = undefined;
    stopWatch();
    void own?.worker.terminate();
  }

  function nextOrder(): Order {
    const call = calls.shift() as Call;
    const order = call.waiting.shift() as Order;
    if (call.waiting.length > 0) calls.push(call);
    return order;
  }

  function takeAnswer(text: string): void {
    const order = posted.shift();
    // Before the answer is taken apart, so that the thread has work meanwhile.
    post();
    if (order === undefined) return;
    const readings = JSON.parse(text) as WireReading[];
    for (const [at, index] of order.indexes.entries()) {
      order.call.settle(index, toReading(bodyOf(order.call, index), readings[at] as WireReading));
    }
  }

  function endThread(own: Thread, reason: string): void {
    if (thread !== own) return;
    thread = undefined;
    void own.worker.terminate();
    stopWatch();
    if (own.isReady) again = [...withoutCulprit(posted, Atomics.load(own.progress, 0), reason), ...again];
    else {
      problem = reason;
      leave({ kind: "not_read", reason: `no thread for reading can be started: ${reason}` });
    }
    posted = [];
    post();
  }

  /** Nothing that waits or is being read is waited for any longer. */
  function leave(rest: BodyReading): void {
    const all = new Set([...calls, ...[...again, ...posted].map(({ call }) => call)]);
    calls = [];
    again = [];
    posted = [];
    for (const call of all) call.finish(rest);
  }

  /** The thread is looked at a few times within the limit for as long as it has something. */
  function startWatch(progress: Int32Array): NodeJS.Timeout {
    const look = () => ({ now: performance.now(), cpuMs: usedCpuMs() });
    const isOver = createReadingTime({ lookEveryMs, limitOf: (place) => limitOf(bodyAt(place)), start: look() });
    return setInterval(() => {
      const [order] = posted;
      if (order === undefined) return stopWatch();
      const place = Atomics.load(progress, 0);
      // Between two bodies it is about to begin the first order, whose place with a minus stands for that.
      const isOverdue = isOver({ place: place > 0 ? place : -order.first, ...look() });
      const isAnswered = place <= -(order.first + order.indexes.length - 1);
      if (!isOverdue || isAnswered || thread === undefined) return;
      const seconds = Math.round(limitOf(bodyAt(place)) / 100) / 10;
      endThread(thread, `reading it took longer than ${seconds} s`);
    }, lookEveryMs);
  }

  function stopWatch(): void {
    clearInterval(watch);
    watch = undefined;
  }

  function bodyAt(place: number): StoredBody | undefined {
    const order = posted.find(({ first, indexes }) => place >= first && place < first + indexes.length);
    return order && bodyOf(order.call, order.indexes[place - order.first] as number);
  }

  function limitOf(body: StoredBody | undefined): number {
    return limitMs * (1 + (body?.body.length ?? 0) / mebibyte);
  }

  return {
    problem: () => problem,
    forgetShape(id) {
      if (forgotten.size < maxForgotten) forgotten.add(id);
    },
    read(bodies, signal) {
      if (isClosed || signal?.aborted) return Promise.resolve(bodies.map(() => stopped));
      if (bodies.length === 0) return Promise.resolve([]);
      return new Promise((resolve) => {
        const leaveCall = () => {
          calls = calls.filter((one) => one !== call);
          again = again.filter((order) => order.call !== call);
          call.finish(stopped);
        };
        const call = openCall(bodies, (readings) => {
          signal?.removeEventListener("abort", leaveCall);
          resolve(readings);
        });
        signal?.addEventListener("abort", leaveCall, { once: true });
        calls.push(call);
        post();
      });
    },
    async close() {
      isClosed = true;
      clearTimeout(resting);
      const own = thread;
      thread = undefined;
      stopWatch();
      leave(stopped);
      await own?.worker.terminate();
    },
  };
}

function openCall(bodies: StoredBody[], done: (readings: BodyReading[]) => void): Call {
  const readings = new Map<number, BodyReading>();
  const finish = (rest: BodyReading) => done(bodies.map((_body, index) => readings.get(index) ?? rest));
  const call: Call = {
    bodies: [...bodies],
    waiting: [],
    settle(index, reading) {
      readings.set(index, reading);
      if (readings.size === bodies.length) finish(stopped);
    },
    finish,
  };
  call.waiting = inOrders(call);
  return call;
}

function inOrders(call: Call): Order[] {
  const orders: Order[] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const [index, { body }] of call.bodies.entries()) {
    bytes += body.length;
    if (bytes > maxOrderBytes) {
      orders.push({ call, indexes: [], first: 0 });
      bytes = body.length;
    }
    orders.at(-1)?.indexes.push(index);
  }
  return orders;
}

function bodyOf(call: Call, index: number): StoredBody {
  return call.bodies[index] as StoredBody;
}

/**
 * What a thread that ended leaves to read. It was at the body at `place`, which is unreadable; or between two bodies,
 * taking an order or giving an answer: which body that was for is found by reading each alone.
 */
function withoutCulprit(posted: Order[], place: number, reason: string): Order[] {
  const culprit = posted.find(({ first, indexes }) => first + indexes.length > Math.abs(place));
  return posted.flatMap((order) => {
    if (order !== culprit) return [order];
    const { call, indexes } = order;
    const at = indexes.length === 1 ? 0 : place - order.first;
    const index = indexes[at];
    if (index === undefined) return indexes.map((one) => ({ ...order, indexes: [one] }));
    call.settle(index, { kind: "unreadable", reason });
    return indexes.length === 1 ? [] : [{ ...order, indexes: indexes.toSpliced(at, 1) }];
  });
}

function toReading(body: StoredBody, reading: WireReading): BodyReading {
  return "facts" in reading
    ? { kind: "read", translations: fromWire(body, reading) }
    : { kind: "unreadable", reason: reading.problem };
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
