import { Worker } from "node:worker_threads";
import type { PngOrder } from "./png-thread.ts";
import type { PngProblem, PngResult } from "./render-png.ts";

export interface PngDeskOptions {
  /** The compiled entry of the thread. Default: next to this file. */
  entry?: URL;
  /** Pictures that are drawn or wait to be. Default 16; beyond that a picture is refused at once. */
  maxWaiting?: number;
  /** From the asking to the picture, waiting included. Default 2 s. */
  timeLimitMs?: number;
  /** After this long without a picture the thread ends, and with it its memory. Default 1 min. */
  idleMs?: number;
}

/** Why there is no picture: `busy` too many wait, `late` it took too long, `ended` the thread died or the desk is closed. */
export type NoPicture = PngProblem | "busy" | "late" | "ended";

export type DeskResult = { png: Uint8Array } | { problem: NoPicture };

export type PngDesk = ReturnType<typeof createPngDesk>;

/** A larger one is no picture of ours. */
const maxSvgLength = 2_000_000;
const maxHeapMb = 128;

interface Job {
  order: PngOrder;
  settle(result: DeskResult): void;
}

/**
 * Makes PNG of SVG off the event loop. Never throws: a picture decorates, and what it decorates goes on without it.
 * One thread, one picture at a time, in the order in which they were asked for. What takes too long takes its thread
 * with it: a renderer cannot be interrupted otherwise.
 */
export function createPngDesk(options: PngDeskOptions = {}) {
  const { maxWaiting = 16, timeLimitMs = 2_000, idleMs = 60_000 } = options;
  const { entry = new URL("./png-thread.js", import.meta.url) } = options;
  const waiting: Job[] = [];
  let current: Job | undefined;
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  function startThread(): Worker {
    const own = new Worker(entry, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } });
    own.on("message", (result: PngResult) => {
      if (worker === own) finish(result);
    });
    for (const event of ["error", "messageerror", "exit"]) {
      own.on(event, () => {
        if (worker === own) endThread("ended");
      });
    }
    return own;
  }

  function next(): void {
    clearTimeout(idle);
    if (current !== undefined) return;
    current = waiting.shift();
    if (current === undefined) {
      // Neither the thread nor the timer keeps a process alive that has nothing else to do.
      worker?.unref();
      idle = setTimeout(dropThread, idleMs).unref();
      return;
    }
    try {
      worker ??= startThread();
      worker.ref();
      worker.postMessage(current.order);
    } catch {
      endThread("ended");
    }
  }

  function finish(result: DeskResult): void {
    const job = current;
    current = undefined;
    job?.settle(result);
    next();
  }

  function dropThread(): Promise<number> | undefined {
    const own = worker;
    worker = undefined;
    return own?.terminate();
  }

  function endThread(problem: NoPicture): void {
    void dropThread();
    finish({ problem });
  }

  function leave(job: Job): void {
    const at = waiting.indexOf(job);
    if (at !== -1) waiting.splice(at, 1);
    if (current === job) endThread("late");
    else job.settle({ problem: "late" });
  }

  return {
    /** `scale`: times its size, default 2. An abort of `signal` is `late`. */
    draw(svg: string, { scale = 2, signal }: { scale?: number; signal?: AbortSignal } = {}): Promise<DeskResult> {
      if (isClosed) return Promise.resolve({ problem: "ended" });
      if (svg.length > maxSvgLength) return Promise.resolve({ problem: "failed" });
      if (signal?.aborted) return Promise.resolve({ problem: "late" });
      if (waiting.length + (current === undefined ? 0 : 1) >= maxWaiting) return Promise.resolve({ problem: "busy" });
      return new Promise((resolve) => {
        waiting.push(createJob({ svg, scale }, { timeLimitMs, signal, leave, resolve }));
        next();
      });
    },
    /** What is asked for is `ended`. */
    async close(): Promise<void> {
      isClosed = true;
      clearTimeout(idle);
      for (const job of waiting.splice(0)) job.settle({ problem: "ended" });
      const ended = dropThread();
      const job = current;
      current = undefined;
      job?.settle({ problem: "ended" });
      await ended;
    },
  };
}

interface JobEnds {
  timeLimitMs: number;
  signal: AbortSignal | undefined;
  /** Called when the time is over or `signal` is aborted. */
  leave(job: Job): void;
  resolve(result: DeskResult): void;
}

function createJob(order: PngOrder, { timeLimitMs, signal, leave, resolve }: JobEnds): Job {
  const giveUp = () => leave(job);
  const timer = setTimeout(giveUp, timeLimitMs);
  signal?.addEventListener("abort", giveUp, { once: true });
  const job: Job = {
    order,
    settle(result) {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
      resolve(result);
    },
  };
  return job;
}
