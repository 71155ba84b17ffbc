import { parentPort, workerData } from "node:worker_threads";
import type { AlertFacts, Translation } from "../../core/alert.ts";
import type { Json } from "../../core/json.ts";
import type { StoredBody } from "../../core/ports/body-reader.ts";
import type { BodyShape } from "../../core/shape.ts";
import { readPayloads } from "../read-payloads.ts";
import type { Translator, TranslatorOptions } from "../translator.ts";

/** What the thread is started with. */
export interface ReadingThreadData extends TranslatorOptions {
  /**
   * One 32-bit integer, shared: the place of the body that is being read; 0 before the first order, and behind the
   * last body of an order its place with a minus in front.
   */
  progress: SharedArrayBuffer;
}

/** Bodies to read, behind each other in one buffer: cloning many windows would copy the blocks below them. */
interface ReadingOrder {
  /** Place of the first body. They are counted on from order to order, so that a place says of which one it is. */
  first: number;
  bytes: Uint8Array<ArrayBuffer>;
  lengths: number[];
  contentTypes: (string | undefined)[];
  /** Whose hooks they came by. Absent: all by the account's. */
  sources?: (string | undefined)[];
  /** Ids of shapes that are to be described once more. */
  forgotten: string[];
}

/** One body as read. */
export type WireReading =
  | {
      facts: AlertFacts[];
      /** Which of them come with a payload: all or none. */
      hasPayloads: boolean;
      namesItself: boolean;
      /** By the place of the alert; absent when no fact of any was found by a mapping. */
      mapped?: Translation["mapped"][];
      /** The same for shapes; of one that is not described its id, which costs half as much to write and to parse. */
      shapes?: (BodyShape | string | null)[];
    }
  | { problem: string };

/**
 * `readings`: those of one order, as JSON. Cloning the facts costs twice as much as writing and parsing them, and one
 * text costs less than many.
 */
export type FromReadingThread = { kind: "ready" } | { kind: "answer"; readings: string };

export function packOrder(bodies: StoredBody[], first: number, forgotten: string[]): ReadingOrder {
  const lengths = bodies.map(({ body }) => body.length);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const { body } of bodies) {
    bytes.set(body, at);
    at += body.length;
  }
  const contentTypes = bodies.map(({ contentType }) => contentType);
  const order: ReadingOrder = { first, bytes, lengths, contentTypes, forgotten };
  if (bodies.some(({ source }) => source !== undefined)) order.sources = bodies.map(({ source }) => source);
  return order;
}

function toWire(translations: Translation[]): WireReading {
  const [first] = translations;
  const isMapped = translations.some(({ mapped }) => mapped !== undefined);
  const hasShapes = translations.some(({ shape }) => shape !== undefined);
  return {
    facts: translations.map(({ facts }) => facts),
    hasPayloads: first?.payload !== undefined,
    // It is of the whole body.
    namesItself: first?.namesItself ?? false,
    ...(isMapped && { mapped: translations.map(({ mapped }) => mapped) }),
    ...(hasShapes && {
      shapes: translations.map(({ shape }) => (shape?.places || shape?.newWord ? shape : (shape?.id ?? null))),
    }),
  };
}

export function fromWire(
  { body, contentType }: StoredBody,
  reading: Exclude<WireReading, { problem: string }>,
): Translation[] {
  const { facts, hasPayloads, namesItself, mapped, shapes } = reading;
  let payloads: ReturnType<typeof readPayloads> | undefined;
  const payloadOf = (index: number) => {
    payloads ??= readPayloads(body, contentType);
    return payloads(index);
  };
  return facts.map((one, index) => {
    const rest = { facts: one, namesItself, mapped: mapped?.[index] ?? undefined, shape: shapeOf(shapes?.[index]) };
    return hasPayloads ? new TranslationOfBody(rest, () => payloadOf(index)) : rest;
  });
}

function shapeOf(shape: BodyShape | string | null | undefined): BodyShape | undefined {
  return typeof shape === "string" ? { id: shape } : (shape ?? undefined);
}

/**
 * Most rules look at facts alone, so the payload stays in the body until somebody asks for it: that body has been read
 * behind the fence within the limit already, and a payload on the way back would cost as much as its facts.
 *
 * A class, since a getter in an object of its own makes each such object another kind to the engine, and slow.
 */
class TranslationOfBody implements Translation {
  facts: AlertFacts;
  readonly namesItself: Translation["namesItself"];
  readonly mapped: Translation["mapped"];
  readonly shape: Translation["shape"];
  readonly #read: () => Json | undefined;
  #payload: Json | undefined;

  constructor({ facts, namesItself, mapped, shape }: Translation, read: () => Json | undefined) {
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

/**
 * The thread's side: reads what it is sent, one order after the other, and notes in shared memory which body it is at.
 */
export function serveReading(
  translator: Pick<Translator, "translate"> & Partial<Pick<Translator, "forgetShapes">>,
): void {
  const port = parentPort;
  if (port === null) throw new Error("this file is the entry of a thread");
  const progress = new Int32Array((workerData as ReadingThreadData).progress);
  const say = (message: FromReadingThread) => port.postMessage(message);

  /** Written at once, so that only text is held until the order is done. */
  function read(body: StoredBody): string {
    try {
      return JSON.stringify(toWire(translator.translate(body)));
    } catch (error) {
      return JSON.stringify({ problem: String(error).slice(0, 200) } satisfies WireReading);
    }
  }

  port.on("message", ({ first, bytes, lengths, contentTypes, sources, forgotten }: ReadingOrder) => {
    if (forgotten.length > 0) translator.forgetShapes?.(forgotten);
    let end = 0;
    const readings = lengths.map((length, index) => {
      Atomics.store(progress, 0, first + index);
      const start = end;
      end += length;
      const contentType = contentTypes[index];
      return read({ body: bytes.subarray(start, end), contentType, source: sources?.[index] });
    });
    Atomics.store(progress, 0, -(first + lengths.length - 1));
    say({ kind: "answer", readings: `[${readings.join(",")}]` });
  });
  say({ kind: "ready" });
}
