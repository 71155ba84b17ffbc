import type { Translation } from "../alert.ts";
import type { Json } from "../json.ts";

/** A body as it was stored. */
export interface StoredBody {
  body: Uint8Array;
  contentType?: string;
  /** The source whose hook it came by: that source's mapping reads its facts. Absent: the account's. */
  source?: string;
}

export type BodyReading =
  /** One translation for each alert of the body, in its order. */
  | { kind: "read"; translations: Translation[] }
  /** Reading it threw, took too long, or needed too much memory. `reason` is for people, at most 300 characters. */
  | { kind: "unreadable"; reason: string }
  /** It was not read: the relay is being stopped, or no thread for reading can be had. Nothing is known of the body. */
  | { kind: "not_read"; reason: string };

/** Reads bodies where that can be stopped: one that never ends, or eats the memory, costs itself and nothing else. */
export interface BodyReader {
  /**
   * One reading for each body, in their order. Never rejects.
   * @param signal ends the wait: what has no reading by then is `not_read`.
   */
  read(bodies: StoredBody[], signal?: AbortSignal): Promise<BodyReading[]>;
}

/**
 * The payloads of a body that was read before, by the place of their alerts in it; undefined where there is none. Reads
 * in this thread.
 *
 * @throws when it cannot be read after all
 */
export type ReadPayloads = (body: Uint8Array, contentType: string | undefined) => (item: number) => Json | undefined;

/**
 * Remembers outside the process which alerts are being read. When the process dies of one, the next start knows which
 * they were and does not begin with them.
 */
export interface ReadingJournal {
  /** Positions of the alerts that were being read when the last process ended. */
  readonly interrupted: readonly number[];
  /** Notes that these are being read from now on, and no others. An empty list: none is. Never throws. */
  write(alertSeqs: readonly number[]): void;
}

/** The same for bodies that are read before they are stored. */
export interface ArrivalJournal {
  /** This body is being read, and no other. Never throws. */
  noteArrival(body: Uint8Array): void;
  /** The last process read this body last: it may have been the end of it. */
  isSuspect(body: Uint8Array): boolean;
}
