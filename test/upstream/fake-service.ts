import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  method: string;
  /** Path and query as they were sent. */
  target: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingMessage["headers"];
  body: string;
}

export type FakeAnswer =
  | { status?: number; json: unknown; headers?: Record<string, string> }
  | { status?: number; text: string; headers?: Record<string, string> }
  /** Reads the request, then closes the connection without a word. */
  | "reset"
  /** Never answers. */
  | "hang";

export interface FakeService {
  url: string;
  seen: SeenRequest[];
  close(): Promise<void>;
}

/** A server on a free loopback port that answers as `answer` says and remembers what it was asked. */
export async function startFakeService(
  answer: (request: SeenRequest, count: number) => FakeAnswer,
): Promise<FakeService> {
  const seen: SeenRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming);
    seen.push(request);
    respond(answer(request, seen.length), response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

/** An address of this machine at which nobody listens. */
export async function refusingUrl(): Promise<string> {
  const service = await startFakeService(() => "hang");
  await service.close();
  return service.url;
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const target = incoming.url ?? "";
  const url = new URL(target, "http://fake");
  return {
    method: incoming.method ?? "",
    target,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString("utf8"),
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
