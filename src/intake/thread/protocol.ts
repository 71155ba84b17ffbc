import { parentPort, workerData } from "node:worker_threads";
import type { AlertFacts, Translation } from "../../core/alert.ts";
import { type Json, writeJson } from "../../core/json.ts";
import type { StoredBody } from "../../core/ports/body-reader.ts";
import { parseJson } from "../read/parse-json.ts";

/** What the thread is started with. */
interface ReadingThreadData {
  /**
   * One 32-bit integer, shared: the place (from 1) of the body that is being read, 0 before the first, `finished`
   * behind the last.
   */
  progress: SharedArrayBuffer;
}

/** Behind the last body of an order. */
export const finished = -1;

/**
 * Bodies to read, behind each other in one buffer that changes hands: cloning a window would copy the block below it.
 */
interface ReadingOrder {
  bytes: Uint8Array<ArrayBuffer>;
  lengths: number[];
  contentTypes: (string | undefined)[];
}

/**
 * One body as read, as text: cloning the facts costs twice as much as writing and parsing them, and a clone of a
 * payload would lose its digits (`JsonNumber`) and give its objects a prototype.
 */
export type WireReading =
  | { facts: string; payloads: (string | undefined)[]; namesItself: boolean }
  | { problem: string };

export type FromReadingThread = { kind: "ready" } | { kind: "answer"; readings: WireReading[] };

export function packOrder(bodies: StoredBody[]): ReadingOrder {
  const lengths = bodies.map(({ body }) => body.length);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const { body } of bodies) {
    bytes.set(body, at);
    at += body.length;
  }
  return { bytes, lengths, contentTypes: bodies.map(({ contentType }) => contentType) };
}

function toWire(translations: Translation[]): WireReading {
  return {
    facts: JSON.stringify(translations.map(({ facts }) => facts)),
    payloads: translations.map(({ payload }) => (payload === undefined ? undefined : writeJson(payload))),
    // It is of the whole body.
    namesItself: translations[0]?.namesItself ?? false,
  };
}

export function fromWire(reading: Extract<WireReading, { facts: string }>): Translation[] {
  const { payloads, namesItself } = reading;
  return (JSON.parse(reading.facts) as AlertFacts[]).map((facts, index) => {
    const text = payloads[index];
    return text === undefined ? { facts, namesItself } : withPayload(facts, namesItself, text);
  });
}

const noLimits = {
  maxDepth: Number.POSITIVE_INFINITY,
  maxKeys: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
};

/** Most rules look at facts alone, so the payload is parsed when somebody asks for it. */
function withPayload(facts: AlertFacts, namesItself: boolean, text: string): Translation {
  let payload: Json | undefined;
  return {
    facts,
    namesItself,
    get payload() {
      if (payload === undefined) {
        const parsed = parseJson(text, noLimits);
        if (!parsed.ok) throw new Error(`the payload came back broken: ${parsed.message}`);
        payload = parsed.value;
      }
      return payload;
    },
  };
}

/**
 * The thread's side: reads what it is sent, one order after the other, and notes in shared memory which body it is at.
 */
export function serveReading(translate: (body: Uint8Array, contentType: string | undefined) => Translation[]): void {
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
