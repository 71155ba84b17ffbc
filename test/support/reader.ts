import type { Translation } from "../../src/core/alert.ts";
import type { BodyReader, BodyReading, ReadingJournal } from "../../src/core/ports/body-reader.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { compiledThread } from "./compiled-thread.ts";

export const readingThreadEntry = compiledThread("intake/thread/thread.js");

/** A thread that does to a body what the body says: hang, eat, crash, throw; anything else is read as it is. */
export const roughThreadEntry = new URL("./rough-reading-thread.mjs", import.meta.url);

type Translate = (body: Uint8Array, contentType: string | undefined) => Translation[];

/** Reads in this thread. What throws is unreadable. */
export function createLocalReader(translate: Translate = translateRequest): BodyReader {
  const read = (body: Uint8Array, contentType: string | undefined): BodyReading => {
    try {
      return { kind: "read", translations: translate(body, contentType) };
    } catch (error) {
      return { kind: "unreadable", reason: (error as Error).message };
    }
  };
  return { read: async (bodies) => bodies.map(({ body, contentType }) => read(body, contentType)) };
}

/** A journal in memory, with all that was written to it. */
export function createMemoryJournal(interrupted: number[] = []): ReadingJournal & { notes: number[][] } {
  const notes: number[][] = [];
  return { interrupted, notes, write: (alertSeqs) => void notes.push([...alertSeqs]) };
}
