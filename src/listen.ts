import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { AppError } from "./core/errors.ts";
import type { Door } from "./intake/door.ts";

export interface ListenOptions {
  door: Door;
  host: string;
  /** 0 takes any free port. */
  port: number;
}

export interface Listener {
  address(): AddressInfo;
  /** From now on everything but the hook is answered by this; until then with 503. */
  serve(fetch: (request: Request, env: unknown) => Response | Promise<Response>): void;
  /** Takes no new connection, and ends when the requests in flight are answered. */
  close(): Promise<void>;
}

/**
 * The HTTP server: the hook's requests go straight to the door, all others to the pages.
 * @throws AppError `config_invalid` when the address cannot be listened on.
 */
export async function listen({ door, host, port }: ListenOptions): Promise<Listener> {
  let pages = answerStarting;
  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 20_000,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16 * 1024,
    },
    (request, response) => {
      if (!door.handle(request, response)) pages(request, response);
    },
  );
  await bind(server, host, port);
  return {
    address: () => server.address() as AddressInfo,
    serve(fetch) {
      pages = getRequestListener(fetch);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why =
        error.code === "EADDRINUSE" ? "another process listens there" : (error.code ?? error.message);
      reject(
        new AppError("config_invalid", `Cannot listen on ${host}:${port}: ${why}.`, {
          hint: "Set PORT (and HOST) to a free address of this machine.",
          cause: error,
        }),
      );
    });
    server.listen(port, host, () => resolve());
  });
}

function answerStarting(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(503, { "content-type": "text/plain", "retry-after": "1" });
  response.end("Starting.\n");
}
