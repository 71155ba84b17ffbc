import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createUnzip } from "node:zlib";
import { createFairTurns } from "../../ground/fair-turns.ts";
import { GatheredBody } from "../../ground/net/gathered-body.ts";

/** A compressed body never comes to more, however large a body may be that is not compressed. */
export const maxDecodedBytes = 16 * 1024 * 1024;

/** Brotli and zstd are not among them: their decoders take up to 16 MiB of memory for each body. */
const decoded: readonly string[] = ["gzip", "x-gzip", "deflate"];

/** What a header of codings names, in lower case, but for `identity`, which changes nothing. */
function codingsIn(header = ""): string[] {
  const names = header.split(",").map((coding) => coding.trim().slice(0, 40).toLowerCase());
  return names.filter((name) => name !== "" && name !== "identity");
}

/** Whether the door undoes what this `Content-Encoding` says. */
export function isDecoded(contentEncoding: string | undefined): boolean {
  const [coding = "", another] = codingsIn(contentEncoding);
  return another === undefined && decoded.includes(coding);
}

/** What a body is compressed with, by its own codings and by those of the transfer; Node undoes `chunked` alone. */
export function codingsOf({ headers }: IncomingMessage): readonly string[] {
  if (headers["content-encoding"] === undefined && headers["transfer-encoding"] === undefined) return none;
  const ofTransfer = codingsIn(headers["transfer-encoding"]).filter((name) => name !== "chunked");
  return [...codingsIn(headers["content-encoding"]), ...ofTransfer];
}

const none: readonly string[] = [];

export interface DecodeLimits {
  /** The most bytes that may come out. */
  maxBytes: number;
  /** Says stop when it has taken too long. */
  signal: AbortSignal;
  /** Whether what comes out may take this much memory. Bytes. */
  mayHold(bytes: number): boolean;
}

export type Decoding =
  | { kind: "read"; body: Buffer }
  /** It is not what its header says, is cut off, or took too long. */
  | { kind: "undecodable" | "too_large" | "no_room" };

/** The decoder gets this much at once. A piece that is made to take long takes some 20 ms. */
const pieceBytes = 64 * 1024;

/** Undoes gzip or deflate, in Node's pool of threads and no further than `maxBytes`. Never throws. */
export async function decodeBody(sent: Buffer, { maxBytes, signal, mayHold }: DecodeLimits): Promise<Decoding> {
  const body = new GatheredBody(maxBytes);
  let ended: "too_large" | "no_room" | undefined;
  function* pieces() {
    for (let start = 0; start < sent.length; start += pieceBytes) yield sent.subarray(start, start + pieceBytes);
  }
  try {
    await pipeline(
      Readable.from(pieces(), { highWaterMark: 1 }),
      createUnzip(),
      async (decoded: AsyncIterable<Buffer<ArrayBuffer>>) => {
        for await (const piece of decoded) {
          if (body.length + piece.length > maxBytes) ended = "too_large";
          else if (!mayHold(body.sizeWith(piece))) ended = "no_room";
          if (ended !== undefined) return;
          body.add(piece);
        }
      },
      { signal },
    );
  } catch {
    return { kind: ended ?? "undecodable" };
  }
  return ended === undefined ? { kind: "read", body: body.bytes() } : { kind: ended };
}

/**
 * Two of the four threads of the pool, which the disk needs as well. 8 MiB that were made to take long take 3 seconds, and are
 * thousands of ordinary bodies.
 */
const turnLimits = { atOnce: 2, mostOfOne: 8 * 1024 * 1024 };

/** A body that takes longer is kept as it came. A body of 16 MiB takes 50 ms where nothing else runs. */
const longestMs = 5_000;

/**
 * Decompresses one body of a source at a time: the sender is known only afterwards, and no source waits behind the bodies of
 * another.
 */
export class Decoder {
  readonly #takeTurn = createFairTurns(turnLimits);
  readonly #decode: typeof decodeBody;

  constructor(decode: typeof decodeBody = decodeBody) {
    this.#decode = decode;
  }

  async decode(
    sent: Buffer,
    source: string,
    limits: Omit<DecodeLimits, "signal">,
  ): Promise<Decoding | { kind: "too_many_compressed" }> {
    const turn = this.#takeTurn(source, sent.length, () => {
      // A signal that only a timer holds may be collected before it ends anything.
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), longestMs);
      return this.#decode(sent, { ...limits, signal: late.signal }).finally(() => clearTimeout(timer));
    });
    return (await turn) ?? { kind: "too_many_compressed" };
  }
}
