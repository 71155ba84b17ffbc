import type { Translation } from "../alert.ts";
import type { Json } from "../json.ts";

export interface StoredBody {
  body: Uint8Array;
  contentType?: string;
  /** The source whose hook got the body. Its mapping reads the facts. Absent: the account's hook. */
  source?: string;
}

export type BodyReading =
  /** One for each alert of the body, in order. */
  | { kind: "read"; translations: Translation[] }
  /** Reading threw, took too long, or needed too much memory. `reason` is for people, at most 300 characters. */
  | { kind: "unreadable"; reason: string }
  /** Nothing is known of the body: the relay is being stopped, or no thread can be started. */
  | { kind: "not_read"; reason: string };

/** Reads bodies in a place that can be stopped. A body that takes for ever or too much memory harms no other. */
export interface BodyReader {
  /** One reading for each body, in order. Never rejects. `signal` ends the wait: the rest is then `not_read`. */
  read(bodies: StoredBody[], signal?: AbortSignal): Promise<BodyReading[]>;
}

/** Reads a stored body in this thread, and gives the payload at an alert's place. Throws when the body cannot be read now. */
export type ReadPayloads = (body: Uint8Array, contentType: string | undefined) => (item: number) => Json | undefined;

/** A note, outside the process, of the alerts that are being read. If reading kills the process, the next one knows them. */
export interface ReadingJournal {
  /** The alerts that were being read when the last process ended. */
  readonly interrupted: readonly number[];
  /** Replaces the list of alerts that are being read. Never throws. */
  write(alertSeqs: readonly number[]): void;
}

/** The note of a body that is read before it is stored. */
export interface ArrivalJournal {
  /** Notes that only this body is being read. Never throws. */
  noteArrival(body: Uint8Array): void;
  /** Whether the last process was reading this body when it ended. */
  isSuspect(body: Uint8Array): boolean;
}
