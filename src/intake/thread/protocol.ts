import { parentPort, workerData } from "node:worker_threads";
import type { AlertFacts, Translation } from "../../core/alert.ts";
import type { Json } from "../../core/json.ts";
import type { StoredBody } from "../../core/ports/body-reader.ts";
import { readPayloads } from "../read-payloads.ts";
import type { Translator, TranslatorOptions } from "../translator.ts";

export interface ReadingThreadData extends TranslatorOptions {
  /** One shared 32-bit integer: the place of the body that is being read, from 1. 0 before, `answering` after the last. */
  progress: SharedArrayBuffer;
}

export const answering = -1;

/** Bodies in one buffer. Cloning a window on a block would copy the whole block. */
interface ReadingOrder {
  bytes: Uint8Array<ArrayBuffer>;
  lengths: number[];
  contentTypes: (string | undefined)[];
  /** The source of each body. Absent: all came by the account's hook. */
  sources?: (string | undefined)[];
  /** Ids of shapes to describe again. */
  forgotten: string[];
}

/** The translations of one body without payloads: the body has them. */
export type WireReading = { read: Omit<Translation, "payload">[]; hasPayloads: boolean } | { problem: string };

/** `readings`: of one order, as JSON. Cloning the facts costs twice as much. */
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
 * Reads the payload from the body when it is first used: most rules look only at facts, and sending a payload between
 * threads costs as much as its facts.
 *
 * A class, since V8 gives each object with a getter of its own a new hidden class, which is slow.
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

/** The thread's side: reads orders, and notes the place of the body in shared memory. */
export function serveReading(
  translator: Pick<Translator, "translate"> & Partial<Pick<Translator, "forgetShapes">>,
): void {
  const port = parentPort;
  if (port === null) throw new Error("this file is the entry of a thread");
  const progress = new Int32Array((workerData as ReadingThreadData).progress);
  const say = (message: FromReadingThread) => port.postMessage(message);

  /** Written at once, so that only text is kept until the order is done. */
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
