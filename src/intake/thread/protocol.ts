import { parentPort, workerData } from "node:worker_threads";
import type { AlertFacts, Translation } from "../../core/alert.ts";
import type { Json } from "../../core/json.ts";
import type { StoredBody } from "../../core/ports/body-reader.ts";
import { readPayloads } from "../read-payloads.ts";
import type { Translator, TranslatorOptions } from "../translator.ts";

/** The data with which the thread is started. */
export interface ReadingThreadData extends TranslatorOptions {
  /**
   * One shared 32-bit integer: the place in its order, from 1, of the body that is being read. 0 before the first body, and
   * `answering` after the last.
   */
  progress: SharedArrayBuffer;
}

export const answering = -1;

/** Bodies to read, one after another in one buffer: cloning many windows would copy their underlying blocks. */
interface ReadingOrder {
  bytes: Uint8Array<ArrayBuffer>;
  lengths: number[];
  contentTypes: (string | undefined)[];
  /** The sources whose hooks the bodies came by. Absent: all came by the account's. */
  sources?: (string | undefined)[];
  /** Ids of shapes that are to be described once more. */
  forgotten: string[];
}

/** The result for one body: its translations without payloads, which stay in the body. */
export type WireReading = { read: Omit<Translation, "payload">[]; hasPayloads: boolean } | { problem: string };

/**
 * `readings`: of one order, as JSON. Cloning the facts costs twice as much as writing and parsing them, and one text costs less
 * than many.
 */
export type FromReadingThread = { kind: "ready" } | { kind: "answer"; readings: string };

export function packOrder(bodies: StoredBody[], forgotten: string[]): ReadingOrder {
  const lengths = bodies.map(({ body }) => body.length);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const { body } of bodies) {
    bytes.set(body, at);
    at += body.length;
  }
  const contentTypes = bodies.map(({ contentType }) => contentType);
  const order: ReadingOrder = { bytes, lengths, contentTypes, forgotten };
  if (bodies.some(({ source }) => source !== undefined)) order.sources = bodies.map(({ source }) => source);
  return order;
}

function toWire(translations: Translation[]): WireReading {
  return {
    // Member by member: a spread costs more.
    read: translations.map(({ facts, namesItself, mapped, shape }) => ({ facts, namesItself, mapped, shape })),
    // Either all alerts of a body have a payload, or none.
    hasPayloads: translations[0]?.payload !== undefined,
  };
}

export function fromWire(
  { body, contentType }: StoredBody,
  { read, hasPayloads }: Exclude<WireReading, { problem: string }>,
): Translation[] {
  if (!hasPayloads) return read;
  let payloads: ReturnType<typeof readPayloads> | undefined;
  const payloadOf = (index: number) => {
    payloads ??= readPayloads(body, contentType);
    return payloads(index);
  };
  return read.map((one, index) => new TranslationOfBody(one, () => payloadOf(index)));
}

/**
 * Reads the payload from the body when it is first used, since most rules look only at facts. The thread has read that body
 * within the limit already, and sending a payload back would cost as much as its facts.
 *
 * A class, since an object with its own getter is slow: the engine gives each one its own hidden class.
 */
class TranslationOfBody implements Translation {
  facts: AlertFacts;
  readonly namesItself: Translation["namesItself"];
  readonly mapped: Translation["mapped"];
  readonly shape: Translation["shape"];
  readonly #read: () => Json | undefined;
  #payload: Json | undefined;

  constructor({ facts, namesItself, mapped, shape }: Omit<Translation, "payload">, read: () => Json | undefined) {
    this.facts = facts;
    this.namesItself = namesItself;
    this.mapped = mapped;
    this.shape = shape;
    this.#read = read;
  }

  get payload(): Json | undefined {
    this.#payload ??= this.#read();
    return this.#payload;
  }
}

/** The thread's side: reads one order after the other, and notes the present body in shared memory. */
export function serveReading(
  translator: Pick<Translator, "translate"> & Partial<Pick<Translator, "forgetShapes">>,
): void {
  const port = parentPort;
  if (port === null) throw new Error("this file is the entry of a thread");
  const progress = new Int32Array((workerData as ReadingThreadData).progress);
  const say = (message: FromReadingThread) => port.postMessage(message);

  /** Written at once, so only text is kept until the order is done. */
  function read(body: StoredBody): string {
    try {
      return JSON.stringify(toWire(translator.translate(body)));
    } catch (error) {
      return JSON.stringify({ problem: String(error).slice(0, 200) } satisfies WireReading);
    }
  }

  port.on("message", ({ bytes, lengths, contentTypes, sources, forgotten }: ReadingOrder) => {
    if (forgotten.length > 0) translator.forgetShapes?.(forgotten);
    let end = 0;
    const readings = lengths.map((length, index) => {
      Atomics.store(progress, 0, index + 1);
      const start = end;
      end += length;
      const contentType = contentTypes[index];
      return read({ body: bytes.subarray(start, end), contentType, source: sources?.[index] });
    });
    Atomics.store(progress, 0, answering);
    say({ kind: "answer", readings: `[${readings.join(",")}]` });
  });
  say({ kind: "ready" });
}
