import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { constants, gzip, gzipSync } from "node:zlib";
import type { MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { WebEnv } from "./web-env.ts";

const gzipText = promisify(gzip);

/** Bytes. Compression saves nothing on a shorter answer. */
const leastLength = 600;
/** Packs a page of the log in less than a millisecond. */
const level = 3;
/** Bytes. Longer pages are packed in another thread, so no alert waits. To hand a shorter one over takes longer. */
const mostAtOnce = 256 * 1024;

export function takesGzip(accepted: string | undefined): boolean {
  return (accepted ?? "").split(",").some((coding) => {
    const [name = "", ...parameters] = coding.split(";").map((part) => part.trim().toLowerCase());
    return name === "gzip" && !parameters.some((one) => one.startsWith("q=") && Number(one.slice(2)) === 0);
  });
}

/** Answers with a page's HTML: `c.render(<Page />, status)`. */
type AnswerPage = (page: string | Promise<string>, status?: ContentfulStatusCode) => Promise<Response>;

declare module "hono" {
  interface ContextRenderer extends AnswerPage {}
}

/**
 * Sends pages as gzip. On a slow line the first look then takes a sixth of the time. A page holds the session's form
 * token and repeats its address. From the length of the packed page, an eavesdropper could guess the token letter by
 * letter (BREACH). A random name of up to 100 letters in the gzip head hides the length, as in Django. The answer is
 * made once and whole: to read a `Response` again takes as long as to pack it.
 */
export const compressPages: MiddlewareHandler<WebEnv> = (c, next) => {
  c.setRenderer(async (page, status = 200) => {
    // An asynchronous page is still a promise here.
    const text = String(await (await page).toString());
    const headers = { "content-type": "text/html; charset=UTF-8", vary: "accept-encoding" };
    const isWorthIt = text.length >= leastLength && c.req.method !== "HEAD";
    if (!isWorthIt || !takesGzip(c.req.header("accept-encoding"))) return c.body(text, status, headers);
    const packed = text.length > mostAtOnce ? await gzipText(text, { level }) : gzipSync(text, { level });
    return c.body(withRandomName(packed), status, { ...headers, "content-encoding": "gzip" });
  });
  return next();
};

/** A file is packed once, and so as small as possible. */
export function packFile(content: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
}

const mostLetters = 100;
/** RFC 1952: the place of the flags, the flag for a name, and the place of the name. */
const [flagsAt, nameFlag, nameAt] = [3, 0x08, 10];

function withRandomName(packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const [length = 0, ...bytes] = randomBytes(mostLetters + 1);
  const name = bytes.slice(0, 1 + (length % mostLetters)).map((byte) => 0x61 + (byte % 26));
  const named = new Uint8Array(packed.length + name.length + 1);
  named.set(packed.subarray(0, nameAt));
  named[flagsAt] = (packed[flagsAt] ?? 0) | nameFlag;
  named.set(name, nameAt);
  named.set(packed.subarray(nameAt), nameAt + name.length + 1);
  return named;
}
