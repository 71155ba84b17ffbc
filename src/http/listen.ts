import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { isLoopback } from "../ground/net/local-host.ts";
import { type Door, hookPrefix } from "../intake/door/door.ts";
import { mostFields } from "../intake/door/refusals.ts";
import { Admission } from "./admission.ts";
import { type Connection, Connections, isBusy, nextTurn } from "./connections.ts";
import { endBrokenConnection, endLingering } from "./end-broken-connection.ts";
import { openLate, type Pages } from "./late-pages.ts";
import { toListenError, toOpenSocketError, toSocketError } from "./listen-error.ts";
import { type AnswerPlainly, createPlainAnswer } from "./plain-answer.ts";
import { createProbes, isProbe, type Probes } from "./probes.ts";

export interface ListenOptions {
  door: Door;
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** A listening socket that another process keeps open. `host` and `port` are then unused. Default: none. */
  fd?: number;
  clock: Clock;
  /** Milliseconds. A connection whose answer is not read for this long is ended. Default 30,000. */
  unreadAfterMs?: number;
  /** Headers of every answer, besides those of the door and the pages. */
  headers: Record<string, string>;
}

type TakePage = (request: IncomingMessage, response: ServerResponse, path: string) => unknown;

/** The probes before the relay is complete: the hook already has everything it needs. */
const starting: Pages & Probes = {
  readiness: async (of) => ({ ready: of === "alerts" }),
  open: () => Promise.reject(new AppError("store_unavailable", "Tocsin is starting.", { retryAfterMs: 1_000 })),
  onFault() {},
};

/** Connections that wait in the kernel (Linux: at most `net.core.somaxconn`), as many as come within a restart. */
const backlog = 4096;

/** @throws AppError `config_invalid` when it cannot listen on the address or the descriptor */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, fd } = options;
  const listener = new Listener(options);
  await (fd === undefined ? bind(listener.server, host, port) : inherit(listener.server, fd, host));
  return listener;
}

export class Listener {
  readonly server: Server;
  readonly #plainly: AnswerPlainly;
  readonly #connections: Connections;
  readonly #admission: Admission;
  #door: Door;
  #pages: TakePage;
  #isDraining = false;
  /** Requests since `hold`. */
  #held: (() => void)[] | undefined;

  constructor({ door, clock, headers, unreadAfterMs = 30_000 }: ListenOptions) {
    this.#door = door;
    this.#plainly = createPlainAnswer(headers);
    this.#connections = new Connections(clock);
    this.#admission = new Admission({ now: clock.now, onTurnedAway: () => this.#door.noteTurnedAway() });
    this.#pages = this.#takePagesBy(starting);
    const take = (request: IncomingMessage, response: ServerResponse) => this.#take(request, response);
    this.server = createServer(
      {
        headersTimeout: 10_000,
        requestTimeout: 20_000,
        connectionsCheckingInterval: 1_000,
        keepAliveTimeout: 65_000,
        maxHeaderSize: 16 * 1024,
        // `#take` requires the header, except for probes.
        requireHostHeader: false,
      },
      take,
    );
    // Node drops further fields silently. One more than allowed shows that there were more.
    this.server.maxHeadersCount = mostFields + 1;
    admitThrough(this.#admission, this.server, (socket) => this.#connections.add(socket));
    // Node would refuse an alert for an unknown expectation, but none has to be met (RFC 9110, 10.1.1).
    this.server.on("checkExpectation", take);
    endWhatBreaks(this.server, this.#connections, unreadAfterMs);
  }

  address(): AddressInfo {
    return this.server.address() as AddressInfo;
  }

  /** Before this the relay is starting: it accepts alerts, answers probes, and refuses all else. */
  serve(pages: Pages & Probes): void {
    this.#pages = this.#takePagesBy(pages);
  }

  /**
   * Before another relay of this process takes over: answers running requests within 1.25 s, and keeps connections
   * open. New requests wait unread until `take`.
   */
  async hold(): Promise<void> {
    this.#held ??= [];
    await this.#connections.settle((response) => this.#door.refuse(response));
    await this.#door.settled();
  }

  /** This door takes alerts from now on, first those that were held. The relay behind it is starting. */
  take(door: Door): void {
    this.#door = door;
    this.#pages = this.#takePagesBy(starting);
    const waiting = this.#held ?? [];
    this.#held = undefined;
    for (const one of waiting) one();
  }

  /** Each answer from now on ends its connection, so none is left when the server closes. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Each answer from now on ends its connection. Resolves when pages' requests and idle connections have ended. */
  windDown(): Promise<void> {
    this.#admission.open();
    return this.#connections.windDown();
  }

  /**
   * Takes no new connection, and closes the others after 1.25 s at the latest, unless a whole body waits for its
   * answer. New connections to an inherited socket wait for the next process.
   */
  async close(): Promise<void> {
    this.#admission.open();
    // The kernel resets connections that still queue when the last holder closes the socket, so those are accepted
    // first.
    await nextTurn();
    // HTTP's own close would reset kept connections whose last answer may still be on its way.
    NetServer.prototype.close.call(this.server);
    await this.#connections.drain((response) => this.#door.refuse(response));
    await this.#door.settled();
    await nextTurn();
    this.#connections.destroy();
    this.server.close();
  }

  #takePagesBy(late: Pages & Probes): TakePage {
    const answerProbe = createProbes(late, this.#plainly);
    const answerPage = openLate(late, this.#plainly);
    return (request, response, path) =>
      answerProbe(request, response, path) ||
      inOrder(this.#connections.of(request.socket), response, () => answerPage(request, response));
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#held !== undefined) {
      this.#held.push(() => this.#take(request, response));
      return;
    }
    const connection = this.#connections.of(request.socket);
    // After an answer that ends the connection nothing more on it is processed (RFC 9112, 9.6): an alert would be
    // stored without an answer, and then be sent again.
    if (connection.isEnding) {
      request.resume();
      return;
    }
    connection.latest = response;
    const path = pathOf(request.url ?? "");
    const isHook = path.startsWith(hookPrefix);
    connection.isHook = isHook;
    response.once("finish", () => {
      // If the answer came before the whole body, Node keeps the request's head until the body has come.
      if (!request.complete) endLingering(request.socket);
      if (isHook && response.statusCode === 202) this.#admission.know(request.socket);
      this.#admission.leave(request.socket);
    });
    if (this.#isDraining || this.#connections.isWindingDown) response.setHeader("connection", "close");
    const { method = "", headers, rawHeaders, httpVersionMajor, httpVersionMinor } = request;
    // Node also accepts requests of HTTP/2.0, and of HTTP/0.9, which name no version.
    if (httpVersionMajor !== 1) refuse(response, httpVersionMajor > 1 ? 505 : 400, "This server speaks HTTP/1.1.");
    else if (rawHeaders.length > 2 * mostFields && !isHook)
      refuse(response, 431, `The request has more than ${mostFields} header fields.`);
    // RFC 9112, 3.2. A probe without it is answered.
    else if (headers.host === undefined && httpVersionMinor > 0 && !isProbe(method, path))
      refuse(response, 400, "The request names no Host.");
    // Node's own request and response: docs/adr/0002-hook-on-node-http.md.
    else if (isHook) this.#door.handle(request, response, path.slice(hookPrefix.length));
    else this.#pages(request, response, path);
    if (response.getHeader("connection") === "close") connection.isEnding = true;
  }
}

/** Ends a connection with an answer when its request breaks, and without one when its answer is not read. */
function endWhatBreaks(server: Server, connections: Connections, unreadAfterMs: number): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const connection = connections.of(socket);
    if (!connection.isEnding || isUnanswered(connection)) endBrokenConnection(error, connection);
    else if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") socket.destroy();
    connection.isEnding = true;
  });
  server.setTimeout(unreadAfterMs, (socket: Socket) => {
    // The answer takes its time, so there is nothing to read yet.
    if (isBusy(connections.of(socket)) && socket.writableLength === 0) socket.setTimeout(unreadAfterMs);
    else socket.destroy();
  });
}

/** Reads a connection only when its turn has come. Node's HTTP server gets it then. */
function admitThrough(admission: Admission, server: Server, add: (socket: Socket) => void): void {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  // The option of `net.createServer`, which `http.createServer` does not pass on.
  Object.assign(server, { pauseOnConnect: true });
  server.on("connection", (socket: Socket) => {
    admission.enter(socket, () => {
      add(socket);
      for (const listener of listeners) listener.call(server, socket);
      socket.once("close", () => admission.leave(socket));
      socket.resume();
    });
  });
}

/**
 * Removes the query, a final slash, and an origin, as for a proxy (RFC 9112, 3.2.2). Decodes nothing: other spellings
 * of the hook's secret must not work.
 */
function pathOf(target: string): string {
  const path = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "");
  const query = path.indexOf("?");
  const end = query === -1 ? path.length : query;
  // An origin alone means its root.
  return path.slice(0, path[end - 1] === "/" && end > hookPrefix.length ? end - 1 : end) || "/";
}

/** More requests for pages than any browser or program sends ahead over one connection. */
const mostPipelined = 16;

/** Answers a page when the answer before it has been read, so memory holds one unread answer at most. */
function inOrder(connection: Connection, response: ServerResponse, answer: () => unknown): void {
  const before = connection.page;
  connection.page = response;
  if (before === undefined || before.writableFinished) answer();
  else if (connection.pagesWaiting >= mostPipelined) {
    connection.isEnding = true;
    connection.socket.destroy();
  } else {
    connection.pagesWaiting += 1;
    before.once("close", () => {
      connection.pagesWaiting -= 1;
      if (!connection.socket.destroyed) answer();
    });
  }
}

/** Whether the latest request is still coming and has no answer: the fault is then in this request. */
function isUnanswered({ latest }: Connection): boolean {
  return latest !== undefined && !latest.req.complete && !latest.headersSent;
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(toListenError(host, port, error)));
    server.listen({ port, host, backlog }, resolve);
  });
}

/** No connection is taken from the socket before this has resolved, or after it has failed. */
async function inherit(server: Server, fd: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(toSocketError(fd, error)));
    server.listen({ fd }, backlog, resolve);
  });
  const address = server.address();
  // A Unix domain socket has a path, or no address.
  const isTcp = typeof address === "object" && address !== null;
  if (isTcp && (isLoopback(address.address) || !isLoopback(host))) return;
  server.close();
  throw isTcp ? toOpenSocketError(host, address) : toSocketError(fd);
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.setHeader("connection", "close");
  response.writeHead(status, { "content-type": "text/plain" }).end(`${why}\n`);
}
