import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listenOnLoopback } from "../support/loopback.ts";

export type SeenRequest = Awaited<ReturnType<typeof readRequest>>;

export type FakeAnswer =
  | { status?: number; json: unknown; headers?: Record<string, string> }
  | { status?: number; text: string; headers?: Record<string, string> }
  /** Reads the request, then closes the connection without a word. */
  | "reset"
  /** Never answers. */
  | "hang";

/** A server, until the test ends, that answers as `answer` says and remembers what it was asked. */
export async function startFakeService(
  answer: (request: SeenRequest, count: number) => FakeAnswer | Promise<FakeAnswer>,
) {
  const seen: SeenRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming);
    seen.push(request);
    respond(await answer(request, seen.length), response);
  });
  return { url: (await listenOnLoopback(server)).url, seen };
}

export type FakeService = Awaited<ReturnType<typeof startFakeService>>;

async function readRequest(incoming: IncomingMessage) {
  const target = incoming.url ?? "";
  const url = new URL(target, "http://fake");
  return {
    ...{ method: incoming.method ?? "", headers: incoming.headers },
    /** Path and query as they were sent. */
    target,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    body: await text(incoming),
  };
}

function respond(answer: FakeAnswer, response: ServerResponse): void {
  if (answer === "hang") return;
  if (answer === "reset") {
    response.destroy();
    return;
  }
  const isJson = "json" in answer;
  response.writeHead(answer.status ?? 200, {
    "content-type": isJson ? "application/json" : "text/plain",
    ...answer.headers,
  });
  response.end(isJson ? JSON.stringify(answer.json) : answer.text);
}
