import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import type { BodyReader, BodyReading, StoredBody } from "../../core/ports/body-reader.ts";
import type { TranslatorOptions } from "../translator.ts";
import { type FromReadingThread, fromWire, packOrder, type WireReading } from "./protocol.ts";
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
/** Bodies that the thread gets at once, unless one is larger. */
const maxOrderBytes = 256 * 1024;
/** A thread that has not reported by then never will. */
const startLimitMs = 30_000;
/** Shapes that wait to be described again. Any beyond are asked for again later. */
const maxForgotten = 100;

const stopped = { kind: "not_read", reason: "the relay is being stopped" } as const;

/**
 * Reads bodies in a thread that can be ended. The thread gets one order of bodies at a time, and answers each. When a
 * body takes too long, or the thread dies of it, the body is `unreadable`, and a new thread reads the rest.
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
    const { readings, reason } = await thread.read(bodies, this.#forgotten);
    if (reason !== undefined) {
      const rest = await this.#readOrder(bodies.slice(readings.length + 1), call);
      return [...readings, { kind: "unreadable", reason }, ...rest];
    }
    this.#resting = setTimeout(() => void this.#rest(), this.options.restAfterMs ?? 30_000).unref();
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

interface End {
  /** One for each of the first bodies, in order. */
  readings: BodyReading[];
  /** Why the thread ended while it read the next body. Absent: all were read. */
  reason?: string;
}

class Thread {
  /** Why the thread could not start. Never rejects. */
  readonly started: Promise<string | undefined>;
  readonly #worker: Worker;
  readonly #limitMs: number;
  #endStart: (problem: string | undefined) => void = () => {};
  #onAnswer: (reading: string) => void = () => {};
  #endOrder: (reason: string) => void = () => {};
  #ended: string | undefined;

  constructor(options: BodyReaderOptions) {
    const { entry = new URL("./thread.js", import.meta.url), maxBodyBytes = mebibyte, sources = [] } = options;
    const { maxHeapMb = 192 + 64 * Math.ceil(maxBodyBytes / mebibyte), mapping, readsShapes = false } = options;
    this.#limitMs = options.limitMs ?? 1_000;
    const workerData: TranslatorOptions = {
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
      if (message.kind === "answer") this.#onAnswer(message.reading);
      else this.#endStart(undefined);
    });
    this.#worker.on("messageerror", (error: Error) => void this.end(describeEnd(error, maxHeapMb)));
    // An error may overtake answers. An exit, which follows it, does not.
    this.#worker.on("error", (error: Error) => {
      this.#ended ??= describeEnd(error, maxHeapMb);
    });
    this.#worker.on("exit", () => void this.end("the thread that reads ended"));
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  async end(reason: string): Promise<void> {
    this.#ended ??= reason;
    this.#endStart(this.#ended);
    this.#endOrder(this.#ended);
    await this.#worker.terminate();
  }

  /** @param forgotten ids of shapes to describe again. The set is emptied */
  async read(bodies: StoredBody[], forgotten: Set<string>): Promise<End> {
    const readings: BodyReading[] = [];
    const ended = new Promise<string | undefined>((resolve) => {
      this.#endOrder = resolve;
      this.#onAnswer = (reading) => {
        readings.push(toReading(bodies[readings.length] as StoredBody, JSON.parse(reading) as WireReading));
        if (readings.length === bodies.length) resolve(undefined);
      };
      if (this.#ended !== undefined) resolve(this.#ended);
    });
    const order = packOrder(bodies, [...forgotten]);
    forgotten.clear();
    this.#worker.postMessage(order, [order.bytes.buffer]);
    const watch = this.#watch(bodies, readings);
    const reason = await ended;
    clearInterval(watch);
    // A thread that is being ended may still answer: its bodies are read again.
    this.#onAnswer = () => {};
    return { readings, reason };
  }

  /** Looks four times within the limit. */
  #watch(bodies: StoredBody[], readings: BodyReading[]): NodeJS.Timeout {
    const lookEveryMs = this.#limitMs / 4;
    const limitOf = (place: number) => this.#limitMs * (1 + (bodies[place]?.body.length ?? 0) / mebibyte);
    const isOver = createReadingTime({ lookEveryMs, limitOf });
    const look = () => {
      const place = readings.length;
      if (isOver({ place, now: performance.now(), cpuMs: usedCpuMs() }))
        void this.end(`reading it took longer than ${Math.round(limitOf(place) / 100) / 10} s`);
    };
    // After a pause of this process timers come before the answers that have arrived, immediates behind them.
    return setInterval(() => setImmediate(look), lookEveryMs);
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
