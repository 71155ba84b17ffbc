import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, request } from "node:http";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { listenOnLoopback } from "./loopback.ts";

/** What a proxy makes of a body that is posted: another one, or an answer of its own. */
export type Spoil = (body: Buffer, headers: Record<string, unknown>) => Buffer | number;

export const drop: Spoil = () => Buffer.alloc(0);
export const halve: Spoil = (body) => body.subarray(0, body.length / 2);
export const compress: Spoil = (body, headers) => {
  headers["content-encoding"] = "gzip";
  return gzipSync(body);
};
export const writeInLatin: Spoil = (body) => Buffer.from(body.toString("utf8"), "latin1");
export const limit: Spoil = (body) => (body.length > 100 ? 413 : body);

/** Hands requests on to a relay, spoiling what is posted. `hold` is awaited before a request is handed on, and before its answer is. */
export const forwardTo =
  (
    target: string,
    spoil: Spoil = (body) => body,
    hold: (what: string, moment: "before" | "after") => Promise<void> = async () => {},
  ): RequestListener =>
  async (incoming, response) => {
    const { method, headers, url = "" } = incoming;
    const what = `${method} ${url}`;
    const body = await buffer(incoming);
    const handed = method === "POST" ? spoil(body, headers) : body;
    if (typeof handed === "number") return void response.writeHead(handed).end();
    if (method === "POST") headers["content-length"] = String(handed.length);
    await hold(what, "before");
    const outgoing = request(new URL(url, target), { method, headers }).end(handed);
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    const content = await buffer(answer);
    await hold(what, "after");
    response.writeHead(answer.statusCode ?? 500, answer.headers).end(content);
  };

/** A proxy in front of a relay that spoils what is posted, and passes on all else. @returns its address */
export const startSpoilingProxy = async (target: string, spoil: Spoil): Promise<string> =>
  (await listenOnLoopback(createServer(forwardTo(target, spoil)))).url;
