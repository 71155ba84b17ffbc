import type { MiddlewareHandler } from "hono";
import { AppError } from "../core/errors.ts";
import { BodyRoom, bodyRoomFull } from "../ground/net/body-room.ts";
import { GatheredBody } from "../ground/net/gathered-body.ts";
import type { ClientNetworkOf, WebContext, WebEnv } from "./web-env.ts";

export interface RequestBodyOptions {
  networkOf: ClientNetworkOf;
  /** The most bytes that a logged-in caller may send to a path. */
  mostFor(path: string): number;
  /** Bytes for all bodies that are read or answered, and a quarter more for small ones, see `BodyRoom`. */
  roomBytes: number;
}

/** The most bytes of a caller without a login: a token or a code, and a path. */
export const mostOfStrangers = 8 * 1024;

/** Reads the body of a request that the guard let through. 413: it is too large. 503: there is no room for it. */
export function createBodyReader({ networkOf, mostFor, roomBytes }: RequestBodyOptions): MiddlewareHandler<WebEnv> {
  const room = new BodyRoom({ all: roomBytes * 1.25, large: roomBytes });

  return async (c, next) => {
    // Such requests have no body to read, and to look for one takes a third of a millisecond.
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
