import { parentPort } from "node:worker_threads";
import type { AlertFacts, Translation } from "../../core/alert.ts";
import type { Json } from "../../core/json.ts";
import type { StoredBody } from "../../core/ports/body-reader.ts";
import { readPayloads } from "../read-payloads.ts";
import type { Translator } from "../translator.ts";

/** Bodies in one buffer. Cloning a window on a block would copy the whole block. */
interface ReadingOrder {
  bytes: Uint8Array<ArrayBuffer>;
  bodies: (Omit<StoredBody, "body"> & { length: number })[];
  /** Ids of shapes to describe again. */
  forgotten: string[];
}

/** The translations of one body without payloads: the body has them. */
export type WireReading = { read: Omit<Translation, "payload">[]; hasPayloads: boolean } | { problem: string };

/** `reading`: as JSON. Cloning the facts costs twice as much. */
export type FromReadingThread = { kind: "ready" } | { kind: "answer"; reading: string };

export function packOrder(stored: StoredBody[], forgotten: string[]): ReadingOrder {
  const bodies = stored.map(({ body, contentType, source }) => ({ length: body.length, contentType, source }));
  const bytes = new Uint8Array(bodies.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const { body } of stored) {
    bytes.set(body, at);
    at += body.length;
  }
  return { bytes, bodies, forgotten };
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

/** The thread's side. */
export function serveReading(
  translator: Pick<Translator, "translate"> & Partial<Pick<Translator, "forgetShapes">>,
): void {
  const port = parentPort;
  if (port === null) throw new Error("this file is the entry of a thread");
  const say = (message: FromReadingThread) => port.postMessage(message);

  function read(body: StoredBody): string {
    try {
      return JSON.stringify(toWire(translator.translate(body)));
    } catch (error) {
      return JSON.stringify({ problem: String(error).slice(0, 200) } satisfies WireReading);
    }
  }

  port.on("message", ({ bytes, bodies, forgotten }: ReadingOrder) => {
    if (forgotten.length > 0) translator.forgetShapes?.(forgotten);
    let at = 0;
    for (const { length, ...about } of bodies) {
      say({ kind: "answer", reading: read({ ...about, body: bytes.subarray(at, at + length) }) });
      at += length;
    }
  });
  say({ kind: "ready" });
}
