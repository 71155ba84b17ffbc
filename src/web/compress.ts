import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { constants, gzip, gzipSync } from "node:zlib";
import type { MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { WebEnv } from "./web-env.ts";

const gzipText = promisify(gzip);

/** Below, the head of an answer weighs as much. */
const leastLength = 600;
/** A page of the log takes less than a millisecond. */
const level = 3;
/** A longer page is packed in a thread of its own, so that no alert waits for it; to hand it over costs a short one more than that. */
const mostAtOnce = 256 * 1024;

/** Whether a request takes gzip, by its `Accept-Encoding`. */
export function takesGzip(accepted: string | undefined): boolean {
  return (accepted ?? "").split(",").some((coding) => {
    const [name = "", ...parameters] = coding.split(";").map((part) => part.trim().toLowerCase());
    return name === "gzip" && !parameters.some((one) => one.startsWith("q=") && Number(one.slice(2)) === 0);
  });
}

/** A page's HTML, answered as `c.render(<Page />, status)`. */
type AnswerPage = (page: string | Promise<string>, status?: ContentfulStatusCode) => Promise<Response>;

declare module "hono" {
  interface ContextRenderer extends AnswerPage {}
}

/**
 * Pages as gzip for browsers that take it: on a slow line the first look waits for a sixth of them. A page that holds the
 * session's form token and repeats what its address says could be guessed letter by letter from its length by somebody
 * who sees the line (BREACH); so each has a random length (as Django does it: a name of up to 100 random letters in the
 * head of the file, which nobody reads). The answer is made once and whole: to read a `Response` again takes as long as to
 * pack it.
 */
export const compressPages: MiddlewareHandler<WebEnv> = (c, next) => {
  c.setRenderer(async (page, status = 200) => {
    // A page that waits for something is a promise until here.
    const text = String(await (await page).toString());
    const headers = { "content-type": "text/html; charset=UTF-8", vary: "accept-encoding" };
    const isWorthIt = text.length >= leastLength && c.req.method !== "HEAD";
    if (!isWorthIt || !takesGzip(c.req.header("accept-encoding"))) return c.body(text, status, headers);
    const packed = text.length > mostAtOnce ? await gzipText(text, { level }) : gzipSync(text, { level });
    return c.body(withRandomName(packed), status, { ...headers, "content-encoding": "gzip" });
  });
  return next();
};

/** Files that do not change, packed once and as small as they can be. */
export function packFile(content: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
}

const mostLetters = 100;
/** RFC 1952: the flags' place, the one that a name follows, and where it stands. */
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
