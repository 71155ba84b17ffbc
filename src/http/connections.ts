import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../core/clock.ts";

/** A connection of a sender, a browser or a command, while it is open. */
export interface Connection {
  readonly socket: Socket;
  /** The response to the last request that came over it. */
  latest?: ServerResponse;
  /** The response to the last request for a page, and how many such requests wait for those before them. */
  page?: ServerResponse;
  pagesWaiting: number;
  /** The request was for the hook. */
  isHook: boolean;
  /** An answer that ends it has been given, so nothing that comes behind it is processed. */
  isEnding: boolean;
}

/** Milliseconds that a request for a page that is under way has to end. */
const requestMs = 750;
/**
 * Milliseconds that a connection has to bring a request. A busy sender, or a proxy, uses it within that time and reads
 * in the answer that it ends. If it were closed sooner, that would cross an alert which is on its way, and leave its
 * sender without an answer: so those that brought alerts before, or nothing yet, are given longer than a browser's.
 */
const idleMs = { alerts: 1_000, pages: 250 };
/** Milliseconds that the other side has to end a connection that was ended here: as long as a packet may be on its way. */
const crossingMs = 250;
const drainMs = idleMs.alerts + crossingMs;

const key: unique symbol = Symbol("connection");
/** Kept on the socket: a weak map with an entry for each connection cost a third of all time in garbage collection. */
type Known = Duplex & { [key]?: Connection };

/** The connections that are open, and how they end when the relay is stopped. */
export class Connections {
  readonly #open = new Set<Connection>();
  /** To be called with the socket as its `this`: a function for each connection would cost memory. */
  readonly #forget: (this: Known) => void;
  #isWindingDown = false;

  constructor(private readonly clock: Clock) {
    const open = this.#open;
    this.#forget = function () {
      if (this[key]) open.delete(this[key]);
    };
  }

  /** To be called once for each that the server accepts. */
  add(socket: Socket): void {
    const connection: Connection = { socket, latest: undefined, pagesWaiting: 0, isHook: false, isEnding: false };
    (socket as Known)[key] = connection;
    if (this.#isWindingDown) this.#lingerAtEnd(connection);
    this.#open.add(connection);
    socket.on("close", this.#forget);
  }

  of(socket: Duplex): Connection {
    return (socket as Known)[key] as Connection;
  }

  /** From `windDown` on: each answer is the last of its connection. */
  get isWindingDown(): boolean {
    return this.#isWindingDown;
  }

  /**
   * First part of a stop, while new connections are still accepted. What is idle is ended, see `idleMs`; what is
   * under way is the last of its connection. Resolves when the pages' requests have ended, after `requestMs` at the
   * latest.
   */
  async windDown(): Promise<void> {
    this.#isWindingDown = true;
    const connections = [...this.#open];
    for (const connection of connections) this.#lingerAtEnd(connection);
    const busy = connections.filter(isBusy);
    for (const connection of busy) endAfterAnswer(connection);
    const pages = busy.filter(({ isHook }) => !isHook);
    await Promise.all([this.#untilClosed(pages, requestMs), this.#closeIdle(connections)]);
    for (const { socket } of pages) socket.destroy();
  }

  /**
   * Second part, when no new connection is accepted any more. Resolves when all are closed, after `drainMs` at the
   * latest; then `refuse` is given each alert that has not come whole.
   */
  async drain(refuse: (response: ServerResponse) => void): Promise<void> {
    const connections = [...this.#open];
    await Promise.all([this.#untilClosed(connections, drainMs), this.#closeIdle(connections)]);
    refuseUnread(this.#open, refuse);
    await nextTurn();
  }

  /**
   * Resolves when what is under way is answered: pages after `requestMs`, alerts after `drainMs` at the latest; then `refuse`
   * is given each alert that has not come whole. Connections stay open.
   */
  async settle(refuse: (response: ServerResponse) => void): Promise<void> {
    const busy = [...this.#open].filter(isBusy);
    const pages = busy.filter(({ isHook }) => !isHook);
    const alerts = busy.filter(({ isHook }) => isHook);
    await Promise.all([this.#untilAnswered(pages, requestMs), this.#untilAnswered(alerts, drainMs)]);
    for (const { socket } of pages.filter(isBusy)) socket.destroy();
    refuseUnread(alerts, refuse);
  }

  /** Closes what is left, whatever it waits for. */
  destroy(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  async #within(limitMs: number, ends: Promise<void>[]): Promise<void> {
    const all = new AbortController();
    void Promise.all(ends).then(() => all.abort());
    await this.clock.sleep(limitMs, all.signal);
  }

  #untilClosed(connections: Connection[], limitMs: number): Promise<void> {
    const ends = connections.map(({ socket }) => closed(socket));
    return this.#within(limitMs, ends);
  }

  #untilAnswered(connections: Connection[], limitMs: number): Promise<void> {
    const ends = connections.flatMap(({ latest }) => (latest === undefined ? [] : answered(latest)));
    return this.#within(limitMs, ends);
  }

  /**
   * Node closes a connection right behind its last answer. What the sender has on its way, another alert of a
   * pipeline, is then met with a reset, which may overtake the answer to an alert that is stored (RFC 9112, 9.6): so
   * it ends here with the sender's own end, or `crossingMs` later.
   */
  #lingerAtEnd(connection: Connection): void {
    const { socket } = connection;
    socket.destroySoon = () => {
      if (socket.writableEnded) return;
      socket.end();
      void this.#untilClosed([connection], crossingMs).then(() => socket.destroy());
    };
  }

  /**
   * A request may be on its way and cross the end of its connection. Nobody can answer it any more, but its sender
   * perhaps never repeats it: what comes before the sender's own end is processed like any other.
   */
  async #closeIdle(connections: Connection[]): Promise<void> {
    const idle = connections.filter((connection) => !isBusy(connection));
    const ofPages = idle.filter(({ latest, isHook }) => latest !== undefined && !isHook);
    const ofAlerts = idle.filter((connection) => !ofPages.includes(connection));
    await Promise.all([this.#closeUnused(ofPages, idleMs.pages), this.#closeUnused(ofAlerts, idleMs.alerts)]);
  }

  async #closeUnused(connections: Connection[], afterMs: number): Promise<void> {
    let idle = connections;
    await this.#untilClosed(idle, afterMs);
    // What has already come is read before it is decided that nothing has.
    await nextTurn();
    idle = idle.filter((connection) => !isBusy(connection));
    for (const { socket } of idle) socket.end();
    await this.#untilClosed(idle, crossingMs);
    await nextTurn();
    for (const connection of idle) if (!isBusy(connection)) connection.socket.destroy();
  }
}

/** An answer is under way. */
export function isBusy({ latest }: Connection): boolean {
  return latest !== undefined && !latest.writableFinished;
}

/** The last answer of those that the connection waits for, since it takes the connection with it. */
function endAfterAnswer(connection: Connection): void {
  const { latest, socket } = connection;
  connection.isEnding = true;
  if (latest?.headersSent === false) latest.setHeader("connection", "close");
  else latest?.once("finish", () => socket.destroySoon());
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

function answered(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.writableFinished || response.closed) resolve();
    else response.once("close", () => resolve());
  });
}

function refuseUnread(connections: Iterable<Connection>, refuse: (response: ServerResponse) => void): void {
  for (const { latest, isHook } of connections)
    if (isHook && latest && !latest.req.complete && !latest.headersSent) refuse(latest);
}

/** After what has already arrived, connections among it, has been read. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
