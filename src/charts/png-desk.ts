import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { startTimeLimit } from "../ground/net/time-limit.ts";
import type { PngOrder } from "./png-thread.ts";
import type { PngProblem, PngResult } from "./render-png.ts";

export interface PngDeskOptions {
  /** The compiled entry of the thread. Default: next to this file. */
  entry?: URL;
  /** The most pictures that are drawn or wait. Beyond it a picture is refused at once. Default 16. */
  maxWaiting?: number;
  /** From the call to the picture, waiting included. Default 2 s. */
  timeLimitMs?: number;
  /** After this long without a picture the thread ends, which frees its memory. Default 1 min. */
  idleMs?: number;
}

/** `busy`: too many wait. `late`: it took too long. `ended`: the thread died or the desk is closed. */
export type NoPicture = PngProblem | "busy" | "late" | "ended";

export type DeskResult = { png: Uint8Array } | { problem: NoPicture };

const maxSvgLength = 2_000_000;
const maxHeapMb = 128;

/** Never throws: a message goes out without its picture. A slow picture ends the thread, as nothing else stops it. */
export class PngDesk {
  readonly #options: Required<PngDeskOptions>;
  /** Each function ends the wait for a picture. */
  readonly #asked = new Set<(result: DeskResult) => void>();
  #turn: Promise<unknown> = Promise.resolve();
  #thread?: Worker;
  #idle?: NodeJS.Timeout;
  #isClosed = false;

  constructor({ maxWaiting = 16, timeLimitMs = 2_000, idleMs = 60_000, entry }: PngDeskOptions = {}) {
    this.#options = { maxWaiting, timeLimitMs, idleMs, entry: entry ?? new URL("./png-thread.js", import.meta.url) };
  }

  /** `scale`: times the SVG's size, default 2. An abort of `signal` is `late`. */
  readonly draw = async (
    svg: string,
    { scale = 2, signal }: { scale?: number; signal?: AbortSignal } = {},
  ): Promise<DeskResult> => {
    const { maxWaiting, timeLimitMs } = this.#options;
    if (this.#isClosed) return { problem: "ended" };
    if (svg.length > maxSvgLength) return { problem: "failed" };
    if (signal?.aborted) return { problem: "late" };
    if (this.#asked.size >= maxWaiting) return { problem: "busy" };
    const limit = startTimeLimit(timeLimitMs, signal);
    const result = await new Promise<DeskResult>((resolve) => {
      this.#asked.add(resolve);
      const giveUp = () => {
        this.#asked.delete(resolve);
        resolve({ problem: "late" });
      };
      limit.signal.addEventListener("abort", giveUp, { once: true });
      this.#turn = this.#turn.then(async () => {
        if (!limit.signal.aborted && !this.#isClosed) resolve(await this.#drawNow({ svg, scale }, limit.signal));
        this.#asked.delete(resolve);
        this.#restIfIdle();
      });
    });
    limit.clear();
    return result;
  };

  /** Ends each requested picture as `ended`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    for (const resolve of this.#asked) resolve({ problem: "ended" });
    await this.#drop();
  }

  async #drawNow(order: PngOrder, late: AbortSignal): Promise<DeskResult> {
    const over = new AbortController();
    const { signal } = over;
    const end = () => over.abort();
    late.addEventListener("abort", end, { once: true });
    try {
      clearTimeout(this.#idle);
      this.#thread ??= this.#start();
      const thread = this.#thread;
      thread.ref();
      thread.postMessage(order);
      const ended = once(thread, "exit", { signal }).then(() => Promise.reject(new Error("the thread has ended")));
      const [result] = (await Promise.race([once(thread, "message", { signal }), ended])) as [PngResult];
      return result;
    } catch {
      void this.#drop();
      return { problem: late.aborted ? "late" : "ended" };
    } finally {
      late.removeEventListener("abort", end);
      end();
    }
  }

  #start(): Worker {
    const { entry } = this.#options;
    const thread = new Worker(entry, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } });
    thread.on("error", () => {});
    thread.once("exit", () => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    return thread;
  }

  /** Thread and timer do not keep an idle process alive. */
  #restIfIdle(): void {
    if (this.#asked.size > 0 || this.#isClosed) return;
    this.#thread?.unref();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#drop(), this.#options.idleMs).unref();
  }

  #drop(): Promise<number> | undefined {
    const thread = this.#thread;
    this.#thread = undefined;
    return thread?.terminate();
  }
}
