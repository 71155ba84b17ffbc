import type { MiddlewareHandler } from "hono";
import { AppError } from "../core/errors.ts";
import { BodyRoom, bodyRoomFull } from "../ground/net/body-room.ts";
import { GatheredBody } from "../ground/net/gathered-body.ts";
import type { ClientNetworkOf, WebContext, WebEnv } from "./web-env.ts";

export interface RequestBodyOptions {
  networkOf: ClientNetworkOf;
  /** The most that somebody who has logged in may send to a path. Bytes. */
  mostFor(path: string): number;
  /** Room for all bodies that are being read or answered, and a quarter more for small ones, see `BodyRoom`. Bytes. */
  roomBytes: number;
}

/** What somebody who has not logged in may send: a token or a code, and a path. Bytes. */
export const mostOfStrangers = 8 * 1024;

/**
 * Reads the body of a request that the guard has let through, so that nothing of any other is read. It stays in the room
 * for bodies until the request is answered.
 *
 * 413 for one that is too large, 503 for one that has to go for others.
 */
export function createBodyReader({ networkOf, mostFor, roomBytes }: RequestBodyOptions): MiddlewareHandler<WebEnv> {
  const room = new BodyRoom({ all: roomBytes * 1.25, large: roomBytes });

  return async (c, next) => {
    // Their body is never read, and to look for one takes a third of a millisecond.
    if (c.req.method === "GET" || c.req.method === "HEAD" || c.req.raw.body === null) return next();
    const isKnown = c.get("identity") !== undefined;
    const sender = { to: isKnown ? "known" : "strangers", network: () => networkOf(c) };
    const place = room.enter(sender, c.env?.incoming);
    try {
      const reader = c.req.raw.body.getReader();
      let isEnded = false;
      place.onEnded = () => {
        isEnded = true;
        void reader.cancel();
      };
      const mayGrow = (bytes: number) => room.grow(place, bytes);
      const body = await readWithin(c, reader, isKnown ? mostFor(c.req.path) : mostOfStrangers, mayGrow);
      if (body === undefined || isEnded) throw new AppError("store_unavailable", bodyRoomFull, { retryAfterMs: 1_000 });
      room.finish(place);
      c.req.raw = new Request(c.req.raw, { body });
      await next();
    } finally {
      room.leave(place);
    }
  };
}

/** Undefined when there is no room for it. */
async function readWithin(
  c: WebContext,
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  most: number,
  mayGrow: (bytes: number) => boolean,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const declared = Number(c.req.header("content-length") ?? 0);
  if (declared > most) throw tooLarge(most);
  const body = new GatheredBody(declared || most);
  if (!mayGrow(0)) return undefined;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return body.bytes();
    if (body.length + value.length > most) throw tooLarge(most);
    if (!mayGrow(body.sizeWith(value))) return undefined;
    body.add(Buffer.from(value.buffer, value.byteOffset, value.length));
  }
}

function tooLarge(most: number): AppError {
  return new AppError("too_large", `The body is larger than ${most} bytes.`);
}
