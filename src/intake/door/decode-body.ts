import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createUnzip } from "node:zlib";
import { createFairTurns } from "../../ground/fair-turns.ts";
import { GatheredBody } from "../../ground/net/gathered-body.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";

/** The limit of a decompressed body. It holds also where larger bodies are allowed without compression. */
export const maxDecodedBytes = 16 * 1024 * 1024;

/** Brotli and zstd are missing: their decoders take up to 16 MiB of memory for each body. */
const decoded: readonly string[] = ["gzip", "x-gzip", "deflate"];

/** In lower case, without `identity`, which changes nothing. */
function codingsIn(header = ""): string[] {
  const names = header.split(",").map((coding) => coding.trim().slice(0, 40).toLowerCase());
  return names.filter((name) => name !== "" && name !== "identity");
}

export function isDecoded(contentEncoding: string | undefined): boolean {
  const [coding = "", another] = codingsIn(contentEncoding);
  return another === undefined && decoded.includes(coding);
}

/** The codings of body and transfer. Node undoes only `chunked`. */
export function codingsOf({ headers }: IncomingMessage): readonly string[] {
  if (headers["content-encoding"] === undefined && headers["transfer-encoding"] === undefined) return none;
  const ofTransfer = codingsIn(headers["transfer-encoding"]).filter((name) => name !== "chunked");
  return [...codingsIn(headers["content-encoding"]), ...ofTransfer];
}

const none: readonly string[] = [];

export interface DecodeLimits {
  maxBytes: number;
  signal: AbortSignal;
  /** Whether the result may take so much memory. Bytes. */
  mayHold(bytes: number): boolean;
}

export type Decoding =
  | { kind: "read"; body: Buffer }
  /** `undecodable`: the body is not what its header says, is cut off, or took too long. */
  | { kind: "undecodable" | "too_large" | "no_room" };

/** How much the decoder gets at a time. A hostile piece takes some 20 ms. */
const pieceBytes = 64 * 1024;

/** Decompresses gzip or deflate in Node's thread pool. Never throws. */
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

/** Two of the pool's four threads, as the disk needs them too. 8 MiB of hostile bodies take 3 seconds. */
const turnLimits = { atOnce: 2, mostOfOne: 8 * 1024 * 1024 };

/** A body that takes longer stays compressed. 16 MiB take 50 ms on an idle machine. */
const longestMs = 5_000;

/** Decompresses one body of a source at a time, so no source waits for another's bodies. */
export class Decoder {
  readonly #takeTurn = createFairTurns(turnLimits);

  constructor(private readonly decodeOne = decodeBody) {}

  async decode(
    sent: Buffer,
    source: string,
    limits: Omit<DecodeLimits, "signal">,
  ): Promise<Decoding | { kind: "too_many_compressed" }> {
    const turn = this.#takeTurn(source, sent.length, () =>
      withTimeLimit(longestMs, undefined, ({ signal }) => this.decodeOne(sent, { ...limits, signal })),
    );
    return (await turn) ?? { kind: "too_many_compressed" };
  }
}
