import { parentPort, workerData } from "node:worker_threads";
import type { Translation } from "../../core/alert.ts";
import {
  type FromReadingThread,
  finished,
  type ReadingOrder,
  type ReadingThreadData,
  toWire,
  type WireReading,
} from "./protocol.ts";

/**
 * The thread's side: reads what it is sent, one order after the other, and notes in shared memory which body it is at.
 */
export function serveReading(
  translate: (body: Uint8Array, contentType: string | undefined) => Translation[],
): void {
  const port = parentPort;
  if (port === null) throw new Error("this file is the entry of a thread");
  const progress = new Int32Array((workerData as ReadingThreadData).progress);
  const say = (message: FromReadingThread) => port.postMessage(message);

  function read(body: Uint8Array, contentType: string | undefined): WireReading {
    try {
      return toWire(translate(body, contentType));
    } catch (error) {
      return { problem: String(error).slice(0, 200) };
    }
  }

  port.on("message", ({ bytes, lengths, contentTypes }: ReadingOrder) => {
    let end = 0;
    const readings = lengths.map((length, index) => {
      Atomics.store(progress, 0, index + 1);
      const start = end;
      end += length;
      return read(bytes.subarray(start, end), contentTypes[index]);
    });
    Atomics.store(progress, 0, finished);
    say({ kind: "answer", readings });
  });
  say({ kind: "ready" });
}
