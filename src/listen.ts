import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { type Connection, createConnections, nextTurn } from "./connections.ts";
import type { Clock } from "./core/clock.ts";
import { endBrokenConnection } from "./end-broken-connection.ts";
import { isLoopback } from "./ground/net/local-host.ts";
import { type Door, hookPrefix } from "./intake/door/door.ts";
import { openLate, type Pages } from "./late-pages.ts";
import { toListenError, toOpenSocketError, toSocketError } from "./listen-error.ts";

export interface ListenOptions {
  door: Door;
  host: string;
  /** 0 takes any free port. */
  port: number;
  /**
   * Descriptor of a listening socket that somebody else holds as well, who opened it before this process and keeps it
   * behind it; `host` and `port` are then not asked. Default: one is opened, and ends with the process.
   */
  fd?: number;
  clock: Clock;
  /** What every answer says that neither the door nor the pages give. */
  headers: Record<string, string>;
}

export interface Listener {
  address(): AddressInfo;
  /** From now on everything but the hook is answered by these; until then with 503. */
  serve(pages: Pages): void;
  /** Each answer from now on ends its connection, so that none is kept when the rest ends. All else goes on. */
  drain(): void;
  /**
   * Each answer from now on ends its connection; what waits for nothing is closed. Alerts are accepted as before.
   * Resolves when the pages' requests are answered and idle connections have ended, after 1.25 s at the latest.
   */
  windDown(): Promise<void>;
  /**
   * Takes no new connection, answers the alerts that are there, and closes the rest after 1.25 s at the latest. It
   * waits longer for one thing: a body that came whole gets the answer that becomes of it. New connections to an
   * inherited socket wait for the next process.
   */
  close(): Promise<void>;
}

interface Env {
  Bindings: HttpBindings & {
    /** As it was sent, see `pathOf`. */
    path: string;
  };
}

/**
 * What the app is given for an answer that is written already. No `Response`: Node would load its fetch for the first
 * one, which takes longer than all else that stands between a start and the first alert.
 */
const alreadySent = {} as Response;

/**
 * Everything over HTTP as one app. Its handlers answer on Node's own response, so none of the framework's requests and
 * responses is made for an alert (docs/adr/0002-hook-on-node-http.md); those of the pages are made by `pages`.
 */
function createApp(door: Door, pages: (request: IncomingMessage, response: ServerResponse) => unknown): Hono<Env> {
  const app = new Hono<Env>({ getPath: (_request, options) => options?.env?.path ?? "" });
  const hand = ({ incoming, outgoing, path }: Env["Bindings"]) => {
    door.handle(incoming, outgoing, path.slice(hookPrefix.length));
    return alreadySent;
  };
  app.post("/hooks/:secret", ({ env }) => hand(env));
  // Not a route for every path and method: a second match would have Hono compose the two, which costs an alert three
  // promises.
  app.notFound(({ env }) => {
    if (env.path.startsWith(hookPrefix)) return hand(env);
    pages(env.incoming, env.outgoing);
    return alreadySent;
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}

/**
 * Connections that wait in the kernel to be taken, at most (Linux: no more than `net.core.somaxconn` says, 4096 by
 * default). A restart takes about a second, so this is also what may come within one.
 */
const backlog = 4096;

/**
 * The HTTP server, which takes requests as long as their connection may bring more.
 * @throws AppError `config_invalid` when the address, or the descriptor, cannot be listened on.
 */
export async function listen({ door, host, port, fd, clock, headers }: ListenOptions): Promise<Listener> {
  let pages: (request: IncomingMessage, response: ServerResponse) => unknown = (_request, response) =>
    response
      .writeHead(503, { ...headers, "content-type": "text/plain", "cache-control": "no-store", "retry-after": "1" })
      .end("Starting.\n");
  const connections = createConnections(clock);
  let isDraining = false;
  const app = createApp(door, (request, response) => pages(request, response));

  function take(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.of(request.socket);
    // After an answer that ends the connection nothing else that came over it is processed (RFC 9112, 9.6): an alert
    // would be stored without an answer, and then be sent again.
    if (connection.isEnding) {
      request.resume();
      return;
    }
    connection.latest = response;
    if (isDraining || connections.isWindingDown()) response.setHeader("connection", "close");
    if (request.httpVersionMajor !== 1) refuseVersion(request, response);
    else {
      const path = pathOf(request.url ?? "");
      connection.isHook = path.startsWith(hookPrefix);
      // Of the request itself the app asks for its method alone.
      void app.fetch(request as unknown as Request, { incoming: request, outgoing: response, path });
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
  await (fd === undefined ? bind(server, host, port) : inherit(server, fd, host));
  return {
    address: () => server.address() as AddressInfo,
    serve(late) {
      pages = openLate(late, headers);
    },
    drain() {
      isDraining = true;
    },
    windDown: connections.windDown,
    async close() {
      // Right after connections have been accepted: those that still queue when the last holder closes the socket are
      // reset.
      await nextTurn();
      // Without what HTTP's own adds to it: that resets kept connections whose last answer may still be on its way.
      NetServer.prototype.close.call(server);
      await connections.drain(door.refuse);
      await door.settled();
      await nextTurn();
      connections.destroy();
      server.close();
    },
  };
}

/**
 * Without the query, a slash at the end, and the origin that a sender may name as to a proxy (RFC 9112, 3.2.2). Hono
 * would decode it and resolve its dots, so that other spellings of the hook's secret were as good as the secret.
 */
function pathOf(target: string): string {
  const path = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "");
  const query = path.indexOf("?");
  const end = query === -1 ? path.length : query;
  // An origin alone means its root; for no path at all the router throws.
  return path.slice(0, path[end - 1] === "/" && end > hookPrefix.length ? end - 1 : end) || "/";
}

/** Its last request was still coming when it was decided that its answer ends it: what breaks is this request. */
function isUnanswered({ latest }: Connection): boolean {
  return latest !== undefined && !latest.req.complete && !latest.headersSent;
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(toListenError(host, port, error)));
    server.listen({ port, host, backlog }, resolve);
  });
}

/** Nothing is taken from the socket before this has resolved, or behind its error. */
async function inherit(server: Server, fd: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(toSocketError(fd, error)));
    server.listen({ fd }, backlog, resolve);
  });
  const address = server.address();
  // A socket of the file system has a path, or none.
  const isTcp = typeof address === "object" && address !== null;
  if (isTcp && (isLoopback(address.address) || !isLoopback(host))) return;
  server.close();
  throw isTcp ? toOpenSocketError(host, address) : toSocketError(fd);
}

/** Node also hands on requests of HTTP/2.0, and such that name no version, which is HTTP/0.9. */
function refuseVersion({ httpVersionMajor }: IncomingMessage, response: ServerResponse): void {
  response.setHeader("connection", "close");
  response.writeHead(httpVersionMajor > 1 ? 505 : 400, { "content-type": "text/plain" });
  response.end("This server speaks HTTP/1.1.\n");
}
