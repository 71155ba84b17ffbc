import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
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

/** A proxy in front of a relay that spoils what is posted, and passes on all else. @returns its address */
export async function startSpoilingProxy(target: string, spoil: Spoil): Promise<string> {
  const server = createServer(async (incoming, response) => {
    const { method, headers } = incoming;
    const body = await buffer(incoming);
    const handed = method === "POST" ? spoil(body, headers) : body;
    if (typeof handed === "number") {
      response.writeHead(handed).end();
      return;
    }
    if (method === "POST") headers["content-length"] = String(handed.length);
    const outgoing = request(new URL(incoming.url ?? "", target), { method, headers });
    outgoing.end(handed);
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    response.writeHead(answer.statusCode ?? 500, answer.headers).end(await buffer(answer));
  });
  return (await listenOnLoopback(server)).url;
}
