import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { constants, gzip, gzipSync } from "node:zlib";
import type { MiddlewareHandler } from "hono";
import type { WebEnv } from "./web-env.ts";

const gzipText = promisify(gzip);

/** Below, the head of an answer weighs as much. */
const leastLength = 600;
/** A page of the log takes about a millisecond, in a thread of its own. */
const level = 3;

/** Whether a request takes gzip, by its `Accept-Encoding`. */
export function takesGzip(accepted: string | undefined): boolean {
  return (accepted ?? "").split(",").some((coding) => {
    const [name = "", ...parameters] = coding.split(";").map((part) => part.trim().toLowerCase());
    return name === "gzip" && !parameters.some((one) => one.startsWith("q=") && Number(one.slice(2)) === 0);
  });
}

/**
 * Pages as gzip for whoever takes it: on a slow line the first look waits for a sixth of them. A page that holds the
 * session's form token and repeats what its address says could be guessed letter by letter from its length by somebody
 * who sees the line (BREACH); so each has a random length (as Django does it: a name of up to 100 random letters in the
 * head of the file, which nobody reads).
 */
export const compressPages: MiddlewareHandler<WebEnv> = async (c, next) => {
  await next();
  const { headers } = c.res;
  if (!headers.get("content-type")?.startsWith("text/html") || headers.has("content-encoding")) return;
  headers.append("vary", "accept-encoding");
  if (c.req.method === "HEAD" || !takesGzip(c.req.header("accept-encoding"))) return;
  const { status } = c.res;
  const text = await c.res.text();
  const isWorthIt = text.length >= leastLength;
  if (isWorthIt) headers.set("content-encoding", "gzip");
  const body = isWorthIt ? withRandomName(await gzipText(text, { level })) : text;
  c.res = undefined;
  c.res = new Response(body, { status, headers });
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
