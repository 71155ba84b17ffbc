import type { Translation } from "../alert.ts";
import type { Json } from "../json.ts";

/** A body as it was stored. */
export interface StoredBody {
  body: Uint8Array;
  contentType?: string;
  /** The source whose hook the body came by. Its mapping reads the facts. Absent: the account's hook. */
  source?: string;
}

export type BodyReading =
  /** One translation for each alert of the body, in its order. */
  | { kind: "read"; translations: Translation[] }
  /** Reading threw, took too long, or needed too much memory. `reason` is for people, at most 300 characters. */
  | { kind: "unreadable"; reason: string }
  /** The body was not read, so nothing is known of it: the relay is being stopped, or no thread can be started. */
  | { kind: "not_read"; reason: string };

/** Reads bodies where reading can be stopped. A body that never ends, or needs too much memory, harms no other. */
export interface BodyReader {
  /**
   * Returns one reading for each body, in their order. Never rejects.
   * @param signal ends the wait: bodies without a reading are then `not_read`
   */
  read(bodies: StoredBody[], signal?: AbortSignal): Promise<BodyReading[]>;
}

/**
 * Finds the payloads of a body that was read before, by the alerts' places in it. Undefined for a place without a payload.
 * Reads in this thread.
 *
 * @throws when the body cannot be read this time
 */
export type ReadPayloads = (body: Uint8Array, contentType: string | undefined) => (item: number) => Json | undefined;

/**
 * Remembers outside the process which alerts are being read. If reading kills the process, the next start knows these alerts
 * and begins with others.
 */
export interface ReadingJournal {
  /** Positions of the alerts that were being read when the last process ended. */
  readonly interrupted: readonly number[];
  /** Notes that exactly these alerts are being read from now on. An empty list: none. Never throws. */
  write(alertSeqs: readonly number[]): void;
}

/** A journal for bodies that are read before they are stored. */
export interface ArrivalJournal {
  /** Notes that this body alone is being read. Never throws. */
  noteArrival(body: Uint8Array): void;
  /** Whether the last process read this body last, which may have killed it. */
  isSuspect(body: Uint8Array): boolean;
}
