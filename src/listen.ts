import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Connection, createConnections, nextTurn } from "./connections.ts";
import type { Clock } from "./core/clock.ts";
import { AppError } from "./core/errors.ts";
import { endBrokenConnection } from "./end-broken-connection.ts";
import type { Door } from "./intake/door/door.ts";

export interface ListenOptions {
  door: Door;
  host: string;
  /** 0 takes any free port. */
  port: number;
  clock: Clock;
}

export interface Listener {
  address(): AddressInfo;
  /** From now on everything but the hook is answered by this; until then with 503. */
  serve(fetch: (request: Request, env: unknown) => Response | Promise<Response>): void;
  /**
   * Each answer from now on ends its connection; what waits for nothing is closed. Alerts are accepted as before. Resolves when
   * the pages' requests are answered, after 0.75 s at the latest.
   */
  windDown(): Promise<void>;
  /**
   * Takes no new connection, answers the alerts that are there, and closes the rest after 0.75 s at the latest. It waits longer
   * for one thing: a body that came whole gets the answer that becomes of it.
   */
  close(): Promise<void>;
}

/**
 * The HTTP server: the hook's requests go straight to the door, all others to the pages.
 * @throws AppError `config_invalid` when the address cannot be listened on.
 */
export async function listen({ door, host, port, clock }: ListenOptions): Promise<Listener> {
  let pages = answerStarting;
  const connections = createConnections(clock);

  function take(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.of(request.socket);
    // After an answer that ends the connection nothing else that came over it is processed (RFC 9112, 9.6): an alert would
    // be stored without an answer, and then be sent again.
    if (connection.isEnding) {
      request.resume();
      return;
    }
    connection.latest = response;
    if (connections.isWindingDown()) response.setHeader("connection", "close");
    if (request.httpVersionMajor !== 1) refuseVersion(request, response);
    else {
      connection.isHook = door.handle(request, response);
      if (!connection.isHook) pages(request, response);
    }
    if (response.getHeader("connection") === "close") connection.isEnding = true;
  }

  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 20_000,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16 * 1024,
    },
    take,
  );
  // Node keeps 2,000 fields and drops the rest unsaid; their size is bounded anyway.
  server.maxHeadersCount = 0;
  server.on("connection", connections.add);
  // Node would refuse an alert for an expectation that it does not know; none has to be met (RFC 9110, 10.1.1).
  server.on("checkExpectation", take);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const connection = connections.of(socket);
    if (!connection.isEnding || isUnanswered(connection)) endBrokenConnection(error, connection);
    else if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") socket.destroy();
    connection.isEnding = true;
  });
  await bind(server, host, port);
  return {
    address: () => server.address() as AddressInfo,
    serve(fetch) {
      pages = getRequestListener(fetch);
    },
    windDown: connections.windDown,
    async close() {
      // Right after connections have been accepted: those that still queue when the socket is closed are reset.
      await nextTurn();
      server.close();
      await connections.drain(door.refuse);
      await door.settled();
      await nextTurn();
      connections.destroy();
    },
  };
}

/** Its last request was still coming when it was decided that its answer ends it: what breaks is this request. */
function isUnanswered({ latest }: Connection): boolean {
  return latest !== undefined && !latest.req.complete && !latest.headersSent;
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

/** Node also hands on requests of HTTP/2.0, and such that name no version, which is HTTP/0.9. */
function refuseVersion({ httpVersionMajor }: IncomingMessage, response: ServerResponse): void {
  response.setHeader("connection", "close");
  response.writeHead(httpVersionMajor > 1 ? 505 : 400, { "content-type": "text/plain" });
  response.end("This server speaks HTTP/1.1.\n");
}
