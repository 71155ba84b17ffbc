import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import type { BodyReader, BodyReading, StoredBody } from "../../core/ports/body-reader.ts";
import type { TranslatorOptions } from "../translator.ts";
import {
  answering,
  type FromReadingThread,
  fromWire,
  packOrder,
  type ReadingThreadData,
  type WireReading,
} from "./protocol.ts";
import { createReadingTime } from "./reading-time.ts";

/** Default: no mapping, no sources, no shapes. */
export interface BodyReaderOptions extends Partial<TranslatorOptions> {
  /** The compiled entry of the thread. Default: `thread.js` in this folder. */
  entry?: URL;
  /** Processor time for one body, and as much again for each MiB. Default 1 s, ten times what a MiB needs. */
  limitMs?: number;
  /** An idle thread is ended after so long, to free its memory. Default 30 s. */
  restAfterMs?: number;
  /** Memory of the thread. Default 256 MB, and 64 more for each further MiB that a body may have. */
  maxHeapMb?: number;
  /** The hook's limit. Default 1 MiB. */
  maxBodyBytes?: number;
}

const mebibyte = 1024 * 1024;
/** Bodies that the thread gets at once, unless one is larger. It holds their results until it answers. */
const maxOrderBytes = 256 * 1024;
/** A thread that has not reported by then never will. */
const startLimitMs = 30_000;
/** Shapes that wait to be described again. Any beyond are asked for again later. */
const maxForgotten = 100;

const stopped = { kind: "not_read", reason: "the relay is being stopped" } as const;

/**
 * Reads bodies in a thread that can be ended. The thread gets one order of bodies at a time, and notes in shared memory
 * which body it reads. When that body takes too long, or the thread dies, the body is `unreadable`, and a new thread
 * reads the rest. If the body is unknown, each is read alone.
 */
export class ReadingThread implements BodyReader {
  readonly #forgotten = new Set<string>();
  /** Each function ends the wait of a call. */
  readonly #leave = new Set<() => void>();
  /** Started for the first body. Most bodies are read on arrival, without it. */
  #thread: Thread | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #resting: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #isClosed = false;

  constructor(private readonly options: BodyReaderOptions = {}) {}

  /** Why no thread can be started. Undefined when all is well. */
  problem(): string | undefined {
    return this.#problem;
  }

  /** Describes the next body of this shape again, since the caller lacks the description. */
  forgetShape(id: string): void {
    if (this.#forgotten.size < maxForgotten) this.#forgotten.add(id);
  }

  read(bodies: StoredBody[], signal?: AbortSignal): Promise<BodyReading[]> {
    const readings: BodyReading[] = [];
    return new Promise((resolve) => {
      const call = { isOver: false };
      const finish = () => {
        call.isOver = true;
        this.#leave.delete(finish);
        signal?.removeEventListener("abort", finish);
        resolve(bodies.map((_body, index) => readings[index] ?? stopped));
      };
      this.#leave.add(finish);
      signal?.addEventListener("abort", finish, { once: true });
      if (this.#isClosed || signal?.aborted) finish();
      else void this.#readAll(bodies, readings, call).then(finish);
    });
  }

  /** Bodies that are being read become `not_read`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const leave of this.#leave) leave();
    await this.#rest();
  }

  /** Another call gets its turn between two orders. */
  async #readAll(bodies: StoredBody[], readings: BodyReading[], call: { isOver: boolean }): Promise<void> {
    for (const order of inOrders(bodies)) {
      const turn = this.#turn.then(() => this.#readOrder(order, call));
      this.#turn = turn;
      readings.push(...(await turn));
    }
  }

  async #readOrder(bodies: StoredBody[], call: { isOver: boolean }): Promise<BodyReading[]> {
    if (call.isOver || bodies.length === 0) return [];
    clearTimeout(this.#resting);
    if (this.#thread === undefined || this.#thread.hasEnded) this.#thread = new Thread(this.options);
    const thread = this.#thread;
    const problem = await thread.started;
    if (call.isOver) return [];
    this.#problem = problem;
    if (problem !== undefined)
      return bodies.map(() => ({ kind: "not_read", reason: `no thread for reading can be started: ${problem}` }));
    const end = await thread.read(bodies, this.#forgotten);
    if ("readings" in end) {
      this.#resting = setTimeout(() => void this.#rest(), this.options.restAfterMs ?? 30_000).unref();
      return end.readings;
    }
    const { reason, at } = end;
    if (bodies.length === 1) return [{ kind: "unreadable", reason }];
    if (at === undefined) return this.#readEachAlone(bodies, call);
    const before = await this.#readOrder(bodies.slice(0, at), call);
    const behind = await this.#readOrder(bodies.slice(at + 1), call);
    return [...before, { kind: "unreadable", reason }, ...behind];
  }

  async #readEachAlone(bodies: StoredBody[], call: { isOver: boolean }): Promise<BodyReading[]> {
    const readings: BodyReading[] = [];
    for (const body of bodies) readings.push(...(await this.#readOrder([body], call)));
    return readings;
  }

  /** The next body starts another thread. */
  async #rest(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    clearTimeout(this.#resting);
    await thread?.end("the relay needs it no longer");
  }
}

type End =
  | { readings: BodyReading[] }
  | { reason: string /** The body that was being read. Undefined: unknown. */; at?: number };

class Thread {
  /** Why the thread could not start. Never rejects. */
  readonly started: Promise<string | undefined>;
  readonly #worker: Worker;
  readonly #progress = new Int32Array(new SharedArrayBuffer(4));
  readonly #limitMs: number;
  #endStart: (problem: string | undefined) => void = () => {};
  #endOrder: (end: { answer: string } | { reason: string }) => void = () => {};
  #ended: string | undefined;

  constructor(options: BodyReaderOptions) {
    const { entry = new URL("./thread.js", import.meta.url), maxBodyBytes = mebibyte, sources = [] } = options;
    const { maxHeapMb = 192 + 64 * Math.ceil(maxBodyBytes / mebibyte), mapping, readsShapes = false } = options;
    this.#limitMs = options.limitMs ?? 1_000;
    const workerData: ReadingThreadData = {
      progress: this.#progress.buffer,
      mapping,
      // Other members of a source may not be cloneable, and must not reach the thread.
      sources: sources.map(({ name, mapping: own }) => ({ name, mapping: own })),
      readsShapes,
    };
    const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16 };
    this.#worker = new Worker(entry, { workerData, resourceLimits });
    this.started = new Promise((resolve) => {
      const late = setTimeout(() => void this.end("it did not answer"), startLimitMs);
      this.#endStart = (problem) => {
        clearTimeout(late);
        resolve(problem);
      };
    });
    this.#worker.on("message", (message: FromReadingThread) => {
      if (message.kind === "answer") this.#endOrder({ answer: message.readings });
      else this.#endStart(undefined);
    });
    for (const event of ["error", "messageerror"] as const)
      this.#worker.on(event, (error: Error) => void this.end(describeEnd(error, maxHeapMb)));
    this.#worker.on("exit", () => void this.end("the thread that reads ended"));
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  async end(reason: string): Promise<void> {
    this.#ended ??= reason;
    this.#endStart(this.#ended);
    this.#endOrder({ reason: this.#ended });
    await this.#worker.terminate();
  }

  /** @param forgotten ids of shapes to describe again. The set is emptied */
  async read(bodies: StoredBody[], forgotten: Set<string>): Promise<End> {
    Atomics.store(this.#progress, 0, 0);
    const ended = new Promise<{ answer: string } | { reason: string }>((resolve) => {
      this.#endOrder = resolve;
      if (this.#ended !== undefined) resolve({ reason: this.#ended });
    });
    const packed = packOrder(bodies, [...forgotten]);
    forgotten.clear();
    this.#worker.postMessage(packed, [packed.bytes.buffer]);
    const watch = this.#watch(bodies);
    const end = await ended;
    clearInterval(watch);
    const place = Atomics.load(this.#progress, 0);
    if ("reason" in end) return { reason: end.reason, at: place > 0 ? place - 1 : undefined };
    const readings = JSON.parse(end.answer) as WireReading[];
    return { readings: bodies.map((body, index) => toReading(body, readings[index] as WireReading)) };
  }

  /** Looks four times within the limit. */
  #watch(bodies: StoredBody[]): NodeJS.Timeout {
    const lookEveryMs = this.#limitMs / 4;
    const limitOf = (place: number) => this.#limitMs * (1 + (bodies[place - 1]?.body.length ?? 0) / mebibyte);
    const look = () => ({ now: performance.now(), cpuMs: usedCpuMs() });
    const isOver = createReadingTime({ lookEveryMs, limitOf, start: look() });
    return setInterval(() => {
      const place = Atomics.load(this.#progress, 0);
      if (!isOver({ place, ...look() }) || place === answering) return;
      void this.end(`reading it took longer than ${Math.round(limitOf(place) / 100) / 10} s`);
    }, lookEveryMs);
  }
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

function toReading(body: StoredBody, reading: WireReading): BodyReading {
  return "read" in reading
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
